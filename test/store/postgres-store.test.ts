import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { openPostgresStore } from '../../src/store/postgres-store.js';
import type { Store } from '../../src/store/store.js';
import { describePostgres } from '../support/describe-postgres.js';
import { startPostgres, type PostgresServer } from '../support/postgres.js';
import { describeSharedStateContract } from './shared-state-contract.js';
import { describeStoreContract } from './store-contract.js';
import { assistant, eventsFor, failed, recordedOf, runOf } from './store-samples.js';

const opener = new URL('./postgres-opener.ts', import.meta.url).href;
const child = fileURLToPath(new URL('./store-child.ts', import.meta.url));

describePostgres('on a real server', () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres({ tls: true });
  }, 60_000);
  afterAll(() => server.stop());

  let schemas = 0;
  /** A schema for each test: a database for each would take most of the time. */
  function postgresPlace() {
    const schema = `place_${String((schemas += 1))}`;
    const options = { connectionString: server.url('postgres'), schema };
    return Promise.resolve({
      open: () => openPostgresStore(options),
      opener,
      location: JSON.stringify(options),
      remove: () => server.run('postgres', `DROP SCHEMA ${schema} CASCADE`).then(() => undefined),
    });
  }

  describeStoreContract('PostgreSQL', postgresPlace);
  describeSharedStateContract('PostgreSQL', postgresPlace);

  describe('PostgreSQL', () => {
    let database: string;
    let opened: Store[];

    beforeEach(async () => {
      database = await server.createDatabase();
      opened = [];
    });
    afterEach(() => Promise.all(opened.map((store) => store.close())));

    type Options = Partial<Parameters<typeof openPostgresStore>[0]>;
    async function open(options: Options = {}): Promise<Store> {
      const store = await openPostgresStore({ connectionString: server.url(database), ...options });
      opened.push(store);
      return store;
    }
    const location = () => JSON.stringify({ connectionString: server.url(database) });
    const run = (text: string) => server.run(database, text);

    /** A transaction of the test's own, which holds its locks until `end`. */
    async function holding(text: string): Promise<{ run(text: string): Promise<unknown>; end(): Promise<void> }> {
      const client = new pg.Client({ connectionString: server.url(database) });
      await client.connect();
      await client.query('BEGIN; SET search_path = perdure');
      await client.query(text);
      return {
        run: (more) => client.query(more),
        async end() {
          await client.query('COMMIT');
          await client.end();
        },
      };
    }

    /** Until so many of the store's connections wait for a lock. */
    async function waiting(connections: number): Promise<void> {
      await vi.waitFor(
        async () => {
          const found = await run(
            `SELECT 1 FROM pg_stat_activity
             WHERE datname = current_database() AND application_name = 'perdure' AND wait_event_type = 'Lock'`,
          );
          expect(found).toHaveLength(connections);
        },
        { timeout: 5_000 },
      );
    }

    describe('opening', () => {
      test('gives ten processes that open an empty database at once the same store', { timeout: 60_000 }, async () => {
        const args = [...process.execArgv, child, opener, location(), 'opening'];
        const runs = await Promise.all(
          Array.from({ length: 10 }, () => promisify(execFile)(process.execPath, args).then(({ stdout }) => stdout)),
        );
        expect(new Set(runs).size).toBe(1);
        expect(runs[0]).toContain((await open()).storeId);
      });

      test('keeps its tables in a schema of their own, several stores in one database if need be', async () => {
        await run('CREATE TABLE notes (text text)');
        const [one, two] = [await open(), await open({ schema: 'Team "B"' })];
        expect(one.storeId).not.toBe(two.storeId);
        await one.createRun(runOf('r1'));
        expect(await two.getRun('r1')).toBeUndefined();
        expect((await open({ schema: 'Team "B"' })).storeId).toBe(two.storeId);
      });

      test('refuses a newer schema, says which, and changes nothing', async () => {
        await open();
        await run("UPDATE perdure.meta SET value = '99' WHERE name = 'schema_version'");
        await expect(open()).rejects.toMatchObject({
          code: 'newer_schema',
          message: expect.stringMatching(/version 99.*up to \d.*Update perdure/s) as string,
        });
      });

      test('stops at once when a newer perdure has migrated the database', async () => {
        const store = await open();
        await run("UPDATE perdure.meta SET value = '99' WHERE name = 'schema_version'");
        await expect(store.createRun(runOf('r1'))).rejects.toMatchObject({ code: 'newer_schema' });
        await expect(store.getRun('r1')).rejects.toThrow(/Update perdure.*version 99/s);
        expect(await run('SELECT run_key FROM perdure.runs')).toEqual([]);
      });

      test('stops what waited for a newer perdure to migrate, on a used connection and on a new one', async () => {
        const store = await open({ poolSize: 2 });
        const migration = await holding('LOCK TABLE meta IN ACCESS EXCLUSIVE MODE');
        const pending = store.createRun(runOf('r1'));
        const refused = expect(pending).rejects.toMatchObject({ code: 'newer_schema' });
        await waiting(1);
        await migration.run("UPDATE meta SET value = '99' WHERE name = 'schema_version'");
        await migration.end();
        await refused;
        expect(await run('SELECT run_key FROM perdure.runs')).toEqual([]);
      });

      test.each(['CREATE TABLE perdure.notes (text text)', 'CREATE TABLE perdure.meta (name text, value text)'])(
        'refuses a schema of another program and leaves it as it was (%s)',
        async (table) => {
          await run(`CREATE SCHEMA perdure; ${table}`);
          await expect(open()).rejects.toMatchObject({
            code: 'not_a_store',
            message: expect.stringMatching(/belongs to something else; set store\.schema/) as string,
          });
          const tables = await run("SELECT 1 FROM pg_tables WHERE schemaname = 'perdure'");
          expect(tables).toHaveLength(1);
        },
      );

      test('says that a store without its version is damaged', async () => {
        await open();
        await run("DELETE FROM perdure.meta WHERE name = 'schema_version'");
        await expect(open()).rejects.toMatchObject({ code: 'corrupt' });
      });

      test('refuses a server that would answer before a write is durable', async () => {
        await server.run('postgres', `ALTER DATABASE ${database} SET synchronous_commit = off`);
        await expect(open()).rejects.toThrow(/synchronous_commit is off.*ALTER ROLE/);
      });

      test.each<[string, (url: string) => string, RegExp]>([
        [
          'a wrong password',
          (url) => url.replace(/:[^:@]*@/, ':wrong-secret@'),
          /user or the password is not accepted/,
        ],
        ['no password', (url) => url.replace(/:[^:@]*@/, '@'), /asks for a password; add one/],
        ['an unknown database', (url) => url.replace(/[^/]*$/, 'nowhere'), /no such database; create it/],
        ['an unknown host', (url) => url.replace('127.0.0.1', 'nohost.invalid'), /host.*check store\.url/],
        [
          'a port that nobody listens at',
          (url) => url.replace(/:\d+\//, ':1/'),
          /nothing listens there; start PostgreSQL/,
        ],
        ['no URL at all', () => 'p@ss/w#rd wrong-secret', /expected postgres:\/\/user:password@host/],
      ])('says what to do about %s, and never tells the password', async (_, change, words) => {
        const refusal = open({ connectionString: change(server.url(database)) });
        await expect(refusal).rejects.toMatchObject({ name: 'StoreError' });
        await expect(refusal).rejects.toThrow(words);
        const error = (await refusal.catch((reason: unknown) => reason)) as Error;
        expect(`${String(error.stack)} ${JSON.stringify(error)}`).not.toMatch(/p@ss|p%40ss|wrong-secret/);
      });

      test('says so where the user has no rights', async () => {
        const reader = `reader_${database}`;
        await run(`CREATE ROLE ${reader} LOGIN PASSWORD 'pw'`);
        const connectionString = server.url(database, { name: reader, password: 'pw' });
        await expect(open({ connectionString })).rejects.toThrow(/has not the rights.*CREATE on the database/);
        await open();
        await expect(open({ connectionString })).rejects.toThrow(/has not the rights/);
      });

      test('encrypts, and checks whose certificate it is', async () => {
        const host = server.url(database).replace('127.0.0.1', 'localhost');
        await expect(open({ tls: true })).rejects.toThrow(/not trusted; set store\.tls\.ca/);
        await expect(open({ tls: { ca: '/no/such/file' } })).rejects.toThrow(/store\.tls\.ca: cannot read \/no\/such/);
        await expect(open({ tls: { ca: server.certificate } })).rejects.toThrow(
          /another name; set store\.tls\.serverName/,
        );
        await open({ tls: { ca: server.certificate, serverName: 'localhost' } });
        await open({ connectionString: `${host}?sslmode=verify-full&sslrootcert=${server.certificate}` });
        await open({ connectionString: `${server.url(database)}?sslmode=no-verify` });
        const sessions = await run(
          `SELECT 1 FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
           WHERE ssl AND datname = current_database() AND application_name = 'perdure'`,
        );
        expect(sessions).toHaveLength(3);
      });
    });

    describe('beside other processes', () => {
      const { claim, begin } = eventsFor('r1', 'c1.0');

      test('waits for a lock that is held for a while, and reads the time after it', async () => {
        const store = await open();
        await store.applyLedger('k1', claim('a', 100));
        const lock = await holding("SELECT 1 FROM calls WHERE key = 'k1' FOR UPDATE");
        const begun = store.applyLedger('k1', begin('a'));
        await new Promise((resolve) => setTimeout(resolve, 300));
        await lock.end();
        // The lease lapsed while it waited for the row.
        expect(await begun).toMatchObject({ type: 'superseded' });
      });

      test('grants a claim once, however many ask for a row that is not there', async () => {
        const stores = await Promise.all(Array.from({ length: 4 }, () => open()));
        for (let round = 0; round < 20; round += 1) {
          const verdicts = await Promise.all(
            [...stores, ...stores, ...stores].map((store, n) =>
              store.applyLedger(`k-${String(round)}`, claim(`token-${String(n)}`)),
            ),
          );
          expect(verdicts.filter(({ type }) => type === 'granted')).toHaveLength(1);
        }
      });

      describe('with a run that changes hands', () => {
        const by = (n: number) => ({ runId: `execution-${String(n)}`, runKey: 'r1' });
        const sealing = eventsFor('r1', 'c1.0').seal(failed('k1', 'c1.0'), failed('k1', 'c1.0'));

        test('refuses a call that is new to the ledger where the run was taken over meanwhile', async () => {
          const store = await open();
          await store.createRun({ ...runOf('r1'), by: by(1) });
          const takeover = await holding("UPDATE runs SET execution = 'execution-2' WHERE run_key = 'r1'");
          const refused = expect(store.applyLedger('k1', sealing, undefined, by(1))).rejects.toMatchObject({
            code: 'overtaken',
          });
          await waiting(1);
          await takeover.end();
          await refused;
          expect(await store.getCall('k1')).toBeUndefined();
        });

        test('lets nobody take the run over before a call is written that found it its own', async () => {
          const [one, two] = [await open(), await open()];
          await one.createRun({ ...runOf('r1'), by: by(1) });
          // Rows can be read and locked, but not written.
          const stall = await holding('LOCK TABLE calls IN SHARE MODE');
          const sealed = one.applyLedger('k1', sealing, undefined, by(1));
          await waiting(1);
          const taken = two.takeOver('r1', { ...by(2), after: by(1).runId }).then(async (isTaken) => {
            return [isTaken, await two.getCall('k1')];
          });
          await waiting(2);
          await stall.end();
          expect(await taken).toMatchObject([true, { row: { state: 'sealed' } }]);
          expect(await sealed).toMatchObject({ type: 'settled' });
        });

        test('claims, records, intervenes and takes over side by side without a deadlock', async () => {
          const stores = await Promise.all(Array.from({ length: 3 }, () => open()));
          const [one] = stores as [Store];
          const nothing = { reopened: [], resumed: { carried: {} as never } };
          await one.createRun({ ...runOf('r1'), by: by(0) });
          await Promise.allSettled(
            Array.from({ length: 60 }, async (_, n) => {
              const store = stores[n % 3] ?? one;
              const asking = by(Math.floor(n / 20));
              const ids = [n, n + 1, n + 2].map((id) => `c1.${String(id % 20)}`);
              for (const id of ids)
                await store.applyLedger(`k-${id}`, eventsFor('r1', id).claim('t', 1), undefined, asking);
              await store.recordOutcomes(
                ids.reverse().map((id) => recordedOf(`k-${id}`, 'r1', id)),
                asking,
              );
              await store.intervene({
                runKey: 'r1',
                intervention: {
                  kind: 'retry',
                  id: `i${String(n)}`,
                  by: 'ada',
                  former: { status: 'failed' },
                  ...nothing,
                },
                ledger: ids.map((id) => ({ key: `k-${id}`, event: eventsFor('r1', id).reopen() })),
              });
              await store.takeOver('r1', { ...by(asking.runId === by(0).runId ? 1 : 2), after: asking.runId });
            }),
          ).then((ends) => {
            const refusals = ends.flatMap((end) =>
              end.status === 'rejected' ? [(end.reason as { code: string }).code] : [],
            );
            expect(refusals.filter((code) => code !== 'overtaken')).toEqual([]);
          });
          const [found] = await run('SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()');
          expect(found).toMatchObject({ deadlocks: '0' });
        });
      });

      test('gets over deadlocks', async () => {
        const store = await open();
        const ids = Array.from({ length: 20 }, (_, index) => `c1.${String(index)}`);
        const batch = (order: string[]) => store.recordOutcomes(order.map((id) => recordedOf(`k-${id}`, 'r1', id)));
        const lock = await holding("INSERT INTO bodies (id, bytes) VALUES ('x', 'x')");
        await Promise.all([batch(ids), batch([...ids].reverse()), batch(ids), batch([...ids].reverse())]);
        await lock.end();
        expect(await store.listCalls('r1')).toHaveLength(20);
      });

      test('takes names that PostgreSQL cannot hold, and keeps every JSON as it is', async () => {
        const store = await open();
        const task = 'NUL \0 and \ud800';
        const created = await store.createRun({ ...runOf('r1', [assistant(task)]), task });
        expect(created.task).toBe('NUL \ufffd and \ufffd');
        expect((await store.getNode(created.head))?.message).toEqual(assistant(task));
        await store.recordOutcomes([{ ...recordedOf('k1', 'r1', 'c1.0', task), tool: 'no\0tool' }]);
        expect(await store.getCall('k1')).toMatchObject({ row: { tool: 'no\ufffdtool' }, rendered: { content: task } });
      });

      test('shares what has equal content, and brings back what was erased', async () => {
        const store = await open();
        const id = await store.putBody(new Uint8Array([1, 2, 3]));
        await run(`UPDATE perdure.bodies SET bytes = '', erased_at_ms = 1 WHERE id = '${id}'`);
        expect(await store.getBody(id)).toBeUndefined();
        expect(await store.putBody(new Uint8Array([1, 2, 3]))).toBe(id);
        expect(await store.getBody(id)).toEqual(new Uint8Array([1, 2, 3]));
      });

      test('writes a conversation of thousands of messages at once', async () => {
        const store = await open();
        const messages = Array.from({ length: 20_000 }, (_, index) => assistant(String(index)));
        const { head } = await store.createRun(runOf('r1', messages));
        const chain = await store.getChain(head);
        expect(chain).toHaveLength(20_000);
        expect(chain.at(-1)?.message).toEqual(messages.at(-1));
      });
    });

    describe('connections', () => {
      test('that are cut reject as unavailable, and the next request opens another', async () => {
        const store = await open({ poolSize: 2 });
        const lock = await holding('LOCK TABLE bodies IN ACCESS EXCLUSIVE MODE');
        const pending = store.putBody(new Uint8Array([1]));
        const refused = expect(pending).rejects.toMatchObject({
          code: 'unavailable',
          message: expect.stringMatching(/being stopped|connection was lost/) as string,
        });
        await new Promise((resolve) => setTimeout(resolve, 100));
        await server.run(
          'postgres',
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
           WHERE datname = '${database}' AND application_name = 'perdure'`,
        );
        await refused;
        await lock.end();
        expect(await store.putBody(new Uint8Array([1]))).toMatch(/^[0-9a-f]{64}$/);
      });

      test('are never more than the pool holds', async () => {
        const store = await open({ poolSize: 3 });
        const answers = Promise.all(Array.from({ length: 200 }, (_, n) => store.putBody(new Uint8Array([n]))));
        let most = 0;
        for (let looks = 0; looks < 10; looks += 1) {
          const sessions = await run(
            "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'perdure'",
          );
          most = Math.max(most, sessions.length);
        }
        expect(new Set(await answers).size).toBe(200);
        expect(most).toBeLessThanOrEqual(3);
      });

      test('keep no process alive that has forgotten to close', async () => {
        const script = `const { open } = await import(${JSON.stringify(opener)});
            const store = await open(${JSON.stringify(location())});
            process.stdout.write(await store.putBody(new Uint8Array([7])));`;
        const args = [...process.execArgv, '--input-type=module', '--eval', script];
        const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 20_000 });
        expect(await (await open()).getBody(stdout)).toEqual(new Uint8Array([7]));
      });
    });
  });
});
