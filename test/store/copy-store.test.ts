import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { copyStore } from '../../src/store/copy-store.js';
import { openPostgresStore } from '../../src/store/postgres-store.js';
import { openSqliteStore } from '../../src/store/sqlite-store.js';
import type { Store } from '../../src/store/store.js';
import { describePostgres } from '../support/describe-postgres.js';
import { startPostgres, type PostgresServer } from '../support/postgres.js';
import {
  assistant,
  commitOf,
  endOf,
  eventsFor,
  recordedOf,
  rendered,
  runOf,
  succeeded,
  turnOf,
} from './store-samples.js';

describePostgres('copyStore, from SQLite to PostgreSQL', () => {
  let server: PostgresServer;
  let folder: string;
  let from: { path: string };
  let to: { url: string };
  beforeAll(async () => {
    server = await startPostgres();
  }, 60_000);
  afterAll(() => server.stop());
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'perdure-copy-'));
    from = { path: join(folder, 'store.db') };
    to = { url: server.url(await server.createDatabase()) };
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  async function fill(store: Store): Promise<void> {
    for (const runKey of ['r1', 'r2']) {
      let { head } = await store.createRun({ ...runOf(runKey), task: 'NUL \0' });
      for (let step = 1; step <= 20; step += 1) {
        const refused = recordedOf(`${runKey}-${String(step)}`, runKey, `c${String(step)}.0`);
        ({
          answer: { head },
        } = await store.commitTurn(commitOf(turnOf(runKey, step, head), `step ${String(step)} \0 \ud800`, [refused])));
      }
      await store.countTurnStart(turnOf(runKey, 21, head));
    }
    await store.finishRun('r1', endOf('completed'));
    const { claim, begin, settle } = eventsFor('r2', 'c21.0');
    await store.applyLedger('done', claim('a', 1000.25));
    await store.applyLedger('done', begin('a', 1000.25));
    await store.applyLedger('done', settle('a', succeeded('done', 'c21.0', 'x')), rendered('{}'));
    await store.applyLedger('held', eventsFor('r2', 'c21.1').claim('b', 60_000));
    await store.applyLedger('held', eventsFor('r2', 'c21.1').begin('b', 60_000));
    await store.recordAttempt({ key: 'held', start: 1, worker: 'w', startedAtMs: 1, failure: { a: 1 } });
    await store.putBody(new Uint8Array(300_000).fill(7));
  }

  /** All that a store says of its runs. */
  async function contents(store: Store) {
    const runs = await store.listRuns({ limit: 10 });
    return {
      storeId: store.storeId,
      runs: runs.map(({ task: _task, ...run }) => run),
      chains: await Promise.all(runs.map(({ head }) => store.getChain(head))),
      turns: await Promise.all(runs.map(({ runKey }) => store.listTurns(runKey))),
      calls: await Promise.all(runs.map(({ runKey }) => store.listCalls(runKey))),
      manifest: await store.getManifest('manifest-1'),
      bodyId: await store.putBody(new Uint8Array(300_000).fill(7)),
    };
  }

  it('takes over everything: identity, ids, order, claims; and the file refuses from then on', async () => {
    const before = await openSqliteStore(from);
    await fill(before);
    const expected = await contents(before);
    const report = await copyStore(from, to);
    expect(report).toMatchObject({ storeId: before.storeId, rows: { runs: 2, turns: 42, calls: 42, attempts: 1 } });
    await expect(before.getRun('r1')).rejects.toMatchObject({ code: 'moved' });
    await before.close();
    await expect(openSqliteStore(from)).rejects.toThrow(/it was moved to postgres:\/\/perdure@127/);

    const after = await openPostgresStore({ connectionString: to.url });
    expect(await contents(after)).toEqual(expected);
    expect(await after.applyLedger('held', eventsFor('r2', 'c21.1').claim('c'))).toMatchObject({ type: 'busy' });
    // It goes on: the numbers that order runs and calls do too.
    const { head } = expected.runs.find(({ runKey }) => runKey === 'r2') ?? { head: '' };
    expect(await after.countTurnStart(turnOf('r2', 21, head))).toBe(2);
    await after.createRun(runOf('r3'));
    expect((await after.listRuns({ limit: 1 }))[0]?.runKey).toBe('r3');
    await after.recordOutcomes([recordedOf('new', 'r2', 'c22.0')]);
    await after.close();
  });

  it('refuses a target that holds another store, and leaves both as they were', async () => {
    const source = await openSqliteStore(from);
    await fill(source);
    const other = await openPostgresStore({ connectionString: to.url });
    await expect(copyStore(from, to)).rejects.toMatchObject({
      code: 'invalid',
      message: expect.stringMatching(/holds another store already; copy into an empty schema/) as string,
    });
    expect(await source.getRun('r1')).toBeDefined();
    expect(await other.listRuns({ limit: 1 })).toEqual([]);
    await Promise.all([source.close(), other.close()]);
  });

  it('finishes what was interrupted between the copy and the mark', async () => {
    const source = await openSqliteStore(from);
    await fill(source);
    await source.close();
    const first = await copyStore(from, to);
    const file = new DatabaseSync(from.path);
    file.exec("DELETE FROM meta WHERE name = 'moved_to'");
    file.close();
    expect(await copyStore(from, to)).toEqual(first);
    await expect(openSqliteStore(from)).rejects.toMatchObject({ code: 'moved' });
  });

  it('leaves nothing behind where it cannot finish', async () => {
    const source = await openSqliteStore(from);
    await source.createRun(runOf('r1', [assistant('x')]));
    await source.close();
    const file = new DatabaseSync(from.path, { enableForeignKeyConstraints: false });
    file.exec('DELETE FROM bodies');
    file.close();
    await expect(copyStore(from, to)).rejects.toMatchObject({ name: 'StoreError' });
    await (await openSqliteStore(from)).close();
    const empty = await openPostgresStore({ connectionString: to.url });
    expect(await empty.listRuns({ limit: 1 })).toEqual([]);
    await empty.close();
  });

  it.each<[object, object, RegExp]>([
    [{ path: '/no/such/file.db' }, { url: 'postgres://h/d' }, /there is no such file/],
    [{ url: 'postgres://h/d' }, { path: 'x.db' }, /from SQLite \(path\) to PostgreSQL \(url\) only/],
  ])('refuses %j to %j', async (source, target, words) => {
    await expect(copyStore(source as { path: string }, target as { url: string })).rejects.toThrow(words);
  });
});
