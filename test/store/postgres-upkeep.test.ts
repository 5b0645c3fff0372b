import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { collectGarbage } from '../../src/store/collect-garbage.js';
import { openStore } from '../../src/store/open-store.js';
import { openUpkeep } from '../../src/store/upkeep-database.js';
import { describePostgres } from '../support/describe-postgres.js';
import { startPostgres, type PostgresServer } from '../support/postgres.js';
import { assistant, endOf, eventsFor, retryOf, runOf } from './store-samples.js';
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

  /** What `write` is in the middle of writing, behind a lock that another has, is seen by a collection beside it. */
  async function collectBeside(
    schema: string,
    { lock, write }: { lock: string; write: (store: Awaited<ReturnType<typeof openStore>>) => Promise<unknown> },
  ): Promise<{ written: unknown; runs: string[]; tombstone: unknown }> {
    const choice = { url: server.url('postgres'), schema };
    const store = await openStore(choice);
    const upkeep = await openUpkeep(choice);
    const other = new pg.Client({ connectionString: choice.url });
    try {
      await other.connect();
      await store.createRun(runOf('r1'));
      await store.finishRun('r1', endOf('failed'));
      await other.query(`SET search_path = ${schema}; BEGIN; ${lock}`);
      const writing = write(store);
      await sleep(200);
      const collecting = collectGarbage(upkeep, { closedRunsMs: 0, graceMs: 0 });
      await sleep(200);
      await other.query('ROLLBACK');
      const [written, { runs }] = await Promise.all([writing, collecting]);
      return { written, runs: runs.map(({ runKey }) => runKey), tombstone: await store.getTombstone('r1') };
    } finally {
      await other.end();
      await upkeep.close();
      await store.close();
      await server.run('postgres', `DROP SCHEMA ${schema} CASCADE`);
    }
  }
  const kept = { runs: [], tombstone: undefined };

  test('a collection waits for a retry that has not committed, and keeps its run', async () => {
    const beside = collectBeside('beside_retry', {
      // The retry has the run, and waits to write what the person decided.
      lock: 'LOCK TABLE interventions IN SHARE MODE',
      write: (store) => store.intervene(retryOf('r1')),
    });
    expect(await beside).toMatchObject({ ...kept, written: { status: 'recorded' } });
  });

  test('a collection waits for the claim of a new call that has not committed, and keeps its run', async () => {
    const beside = collectBeside('beside_claim', {
      lock: 'LOCK TABLE calls IN SHARE MODE',
      write: (store) => store.applyLedger('k1', eventsFor('r1', 'c1.0').claim('a')),
    });
    expect(await beside).toMatchObject({ ...kept, written: { type: 'granted' } });
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
