import { afterAll, beforeAll } from 'vitest';
import { describePostgres } from '../support/describe-postgres.js';
import { startPostgres, type PostgresServer } from '../support/postgres.js';
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
});
