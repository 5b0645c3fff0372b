import pg from 'pg';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { collectGarbage } from '../../src/store/collect-garbage.js';
import { openStore } from '../../src/store/open-store.js';
import { openUpkeep } from '../../src/store/upkeep-database.js';
import { describePostgres } from '../support/describe-postgres.js';
import { startPostgres, type PostgresServer } from '../support/postgres.js';
import { assistant, endOf, runOf } from './store-samples.js';
import { describeUpkeepContract } from './upkeep-contract.js';

describePostgres('on a real server', () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
  }, 60_000);
  afterAll(() => server.stop());

  let schemas = 0;
  describeUpkeepContract('PostgreSQL', () => {
    const schema = `upkeep_${String((schemas += 1))}`;
    return Promise.resolve({
      choice: { url: server.url('postgres'), schema },
      // As a replica: no check of references.
      damage: async (sql: string) => {
        await server.run('postgres', `SET session_replication_role = replica; SET search_path = ${schema}; ${sql}`);
      },
      remove: async () => {
        await server.run('postgres', `DROP SCHEMA ${schema} CASCADE`);
      },
    });
  });

  test.each(['all', 'head'])(
    'keeps nodes of which somebody writes some again (%s) while they are about to be removed',
    async (which) => {
      const choice = { url: server.url('postgres'), schema: 'upkeep_touched' };
      const store = await openStore(choice);
      const upkeep = await openUpkeep(choice);
      const writer = new pg.Client({ connectionString: choice.url });
      await writer.connect();
      try {
        const { head } = await store.createRun(runOf('r1', [assistant('one'), assistant('two')]));
        await store.finishRun('r1', endOf('completed'));
        await collectGarbage(upkeep, { closedRunsMs: 0, graceMs: 60_000 });
        await writer.query('SET search_path = upkeep_touched; UPDATE nodes SET touched_at_ms = 1');
        await writer.query(
          `BEGIN; UPDATE nodes SET touched_at_ms = floor(extract(epoch FROM clock_timestamp()) * 1000)
         WHERE '${which}' = 'all' OR id = '${head}'`,
        );
        const collecting = collectGarbage(upkeep, { closedRunsMs: null, graceMs: 60_000 });
        await vi.waitFor(async () => {
          expect(
            await server.run('postgres', "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'"),
          ).not.toEqual([]);
        });
        await writer.query('COMMIT');
        expect(await collecting).toMatchObject({ nodes: 0 });
        expect(await store.getNode(head)).toBeDefined();
      } finally {
        await writer.end();
        await store.close();
        await upkeep.close();
        await server.run('postgres', 'DROP SCHEMA upkeep_touched CASCADE');
      }
    },
  );
});
