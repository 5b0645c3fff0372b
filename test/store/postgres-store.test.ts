import { afterAll, beforeAll } from 'vitest';
import { openPostgresStore } from '../../src/store/postgres-store.js';
import { describePostgres, startPostgres, type PostgresServer } from '../support/postgres.js';
import { describeStoreContract } from './store-contract.js';

const opener = new URL('./postgres-opener.ts', import.meta.url).href;

describePostgres('on a real server', () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
  }, 60_000);
  afterAll(() => server.stop());

  describeStoreContract('PostgreSQL', async () => {
    const database = await server.createDatabase();
    const location = server.url(database);
    return {
      open: () => openPostgresStore({ connectionString: location }),
      opener,
      location,
      remove: () => server.run('postgres', `DROP DATABASE ${database}`).then(() => undefined),
    };
  });
});
