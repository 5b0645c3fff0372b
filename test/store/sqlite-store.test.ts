import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { APPLICATION_ID, MIGRATIONS } from '../../src/store/sqlite-schema.js';
import { SCHEMA_VERSION } from '../../src/store/sqlite-schema.js';
import { openSqliteStore } from '../../src/store/sqlite-store.js';
import type { WorkerStore } from '../../src/store/shared-state.js';
import type { Store } from '../../src/store/store.js';
import { describeSharedStateContract } from './shared-state-contract.js';
import { describeStoreContract } from './store-contract.js';
import { assistant, commitOf, endOf, runOf, turnOf } from './store-samples.js';

const opener = new URL('./sqlite-opener.ts', import.meta.url).href;

function sqlitePlace() {
  const folder = mkdtempSync(join(tmpdir(), 'perdure-store-'));
  const location = join(folder, 'store.db');
  return {
    open: () => openSqliteStore({ path: location }),
    opener,
    location,
    remove: () => {
      rmSync(folder, { recursive: true });
      return Promise.resolve();
    },
  };
}

describeStoreContract('SQLite', () => Promise.resolve(sqlitePlace()));
describeSharedStateContract('SQLite', sqlitePlace);

describe('SQLite', () => {
  let folder: string;
  let path: string;
  let opened: WorkerStore[];

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'perdure-store-'));
    path = join(folder, 'store.db');
    opened = [];
  });

  afterEach(async () => {
    await Promise.all(opened.map((store) => store.close()));
    rmSync(folder, { recursive: true });
  });

  async function open(options: { path?: string; busyTimeoutMs?: number } = {}): Promise<WorkerStore> {
    const store = await openSqliteStore({ path, ...options });
    opened.push(store);
    return store;
  }

  /** A connection of the test's own, past the store. */
  function raw<T>(use: (db: DatabaseSync) => T, options = {}): T {
    const db = new DatabaseSync(path, options);
    try {
      return use(db);
    } finally {
      db.close();
    }
  }

  /** Opens with the newest thread known, to be able to end it. */
  async function openWithThread(): Promise<{ store: Store; thread: Worker }> {
    let thread: Worker | undefined;
    process.once('worker', (worker) => (thread = worker));
    const store = await open();
    if (!thread) throw new Error('no thread was started');
    return { store, thread };
  }

  describe('opening', () => {
    test('makes the folder, and a file that only its owner reads', async () => {
      path = join(folder, 'a', 'b', 'store.db');
      await open();
      expect(statSync(path).mode & 0o777).toBe(0o600);
      expect(statSync(`${path}-wal`).mode & 0o777).toBe(0o600);
      const pragmas = raw((db) => [db.prepare('PRAGMA journal_mode').get()?.['journal_mode']]);
      expect(pragmas).toEqual(['wal']);
    });

    test('gives several processes that open a new file at once the same store', { timeout: 30_000 }, async () => {
      const child = fileURLToPath(new URL('./store-child.ts', import.meta.url));
      const args = [...process.execArgv, child, opener, path, 'opening'];
      const runs = await Promise.all(
        Array.from({ length: 6 }, () => promisify(execFile)(process.execPath, args).then(({ stdout }) => stdout)),
      );
      expect(new Set(runs).size).toBe(1);
      expect(runs[0]).toContain((await open()).storeId);
    });

    test('migrates a file of the first schema, and keeps what is in it', async () => {
      raw((db) => {
        db.exec(MIGRATIONS[0] ?? '');
        db.exec(`PRAGMA application_id = ${String(APPLICATION_ID)}`);
        db.exec("INSERT INTO meta VALUES ('store_id', 'feedbeef01'), ('tenant_key', x'00'), ('schema_version', 1)");
        db.exec('INSERT INTO manifests VALUES (\'manifest-1\', \'{"hash":"manifest-1","tools":[]}\')');
      });
      const store = await open();
      expect(store.storeId).toBe('feedbeef01');
      expect(await store.getManifest('manifest-1')).toEqual({ hash: 'manifest-1', tools: [] });
      const verdict = await store.applyShared('x', { kind: 'wait', waitMs: 5, budgetMs: 10 });
      expect(verdict).toEqual({ granted: true, spentMs: 5 });
      expect(raw((db) => db.prepare("SELECT value FROM meta WHERE name = 'schema_version'").get())).toEqual({
        value: SCHEMA_VERSION,
      });
    });

    test('refuses a newer schema, says which, and leaves it as it was', async () => {
      await (await open()).close();
      raw((db) => {
        db.exec("UPDATE meta SET value = 99 WHERE name = 'schema_version'");
      });
      const before = readFileSync(path);
      const refusal = open();
      await expect(refusal).rejects.toMatchObject({ name: 'StoreError', code: 'newer_schema' });
      await expect(refusal).rejects.toThrow(new RegExp(`version 99.*up to ${SCHEMA_VERSION}.*Update perdure`, 's'));
      expect(readFileSync(path).equals(before)).toBe(true);
    });

    test('refuses a database of another program and leaves it as it was', async () => {
      raw((db) => {
        db.exec('CREATE TABLE notes (text TEXT)');
      });
      const before = readFileSync(path);
      await expect(open()).rejects.toMatchObject({
        code: 'not_a_store',
        message: expect.stringContaining(path) as string,
      });
      expect(readFileSync(path).equals(before)).toBe(true);
    });

    test('refuses a file that is no database', async () => {
      writeFileSync(path, 'just some text, long enough to have a header of one hundred bytes or more'.repeat(20));
      await expect(open()).rejects.toMatchObject({ code: 'not_a_store' });
    });

    test('says that a damaged store is damaged', async () => {
      await (await open()).close();
      const bytes = readFileSync(path);
      bytes.fill(0x5a, 100, 4096);
      writeFileSync(path, bytes);
      await expect(open()).rejects.toMatchObject({
        code: 'corrupt',
        message: expect.stringContaining('backup') as string,
      });
    });

    test('says that a store without its version is damaged', async () => {
      await (await open()).close();
      raw((db) => {
        db.exec("DELETE FROM meta WHERE name = 'schema_version'");
      });
      await expect(open()).rejects.toMatchObject({ code: 'corrupt' });
    });

    test('says so where the path cannot be a file', async () => {
      mkdirSync(path);
      await expect(open()).rejects.toMatchObject({
        code: 'unavailable',
        message: expect.stringContaining(path) as string,
      });
      await expect(open({ path: join('/dev/null', 'x', 'store.db') })).rejects.toMatchObject({ code: 'unavailable' });
    });
  });

  describe('beside other processes', () => {
    test('waits for a lock that is held for a while', async () => {
      const store = await open();
      const db = new DatabaseSync(path);
      db.exec('BEGIN IMMEDIATE');
      const written = store.putBody(new Uint8Array([1]));
      await new Promise((resolve) => setTimeout(resolve, 200));
      db.exec('COMMIT');
      db.close();
      expect(await written).toMatch(/^[0-9a-f]{64}$/);
    });

    test('says who is in the way where a lock is held for too long, and goes on after it', async () => {
      const store = await open({ busyTimeoutMs: 100 });
      const db = new DatabaseSync(path);
      db.exec('BEGIN IMMEDIATE');
      const refusal = store.putBody(new Uint8Array([1]));
      await expect(refusal).rejects.toMatchObject({ name: 'StoreError', code: 'unavailable' });
      await expect(refusal).rejects.toThrow(/another process kept the file locked/);
      db.exec('COMMIT');
      db.close();
      await store.putBody(new Uint8Array([1]));
    });

    test('stops writing as soon as a newer perdure has migrated the file', async () => {
      const store = await open();
      raw((db) => {
        db.exec(`UPDATE meta SET value = ${SCHEMA_VERSION + 1} WHERE name = 'schema_version'`);
      });
      await expect(store.createRun(runOf('r1'))).rejects.toMatchObject({ code: 'newer_schema' });
      await expect(store.getRun('r1')).rejects.toMatchObject({ code: 'newer_schema' });
      expect(raw((db) => db.prepare('SELECT count(*) AS number FROM runs').get()?.['number'])).toBe(0);
    });
  });

  describe('shared state', () => {
    test('is written with the next durable write at the latest, and that write is synced as ever', async () => {
      const store = await open();
      const asked = [
        store.applyShared('x', { kind: 'wait', waitMs: 5, budgetMs: 10 }),
        store.putBody(new Uint8Array([1])),
        store.applyShared('x', { kind: 'wait', waitMs: 5, budgetMs: 10 }),
      ];
      expect(await Promise.all(asked)).toEqual([
        { granted: true, spentMs: 5 },
        expect.stringMatching(/^[0-9a-f]{64}$/),
        { granted: true, spentMs: 10 },
      ]);
      expect(raw((db) => db.prepare('SELECT name, state FROM shared').all())).toEqual([
        { name: 'wait/x', state: '{"spentMs":10}' },
      ]);
    });

    test('forgets what nobody touched for a day', async () => {
      const store = await open();
      await store.applyShared('old', { kind: 'wait', waitMs: 5, budgetMs: 10 });
      await store.close();
      raw((db) => {
        db.exec('UPDATE shared SET updated_at_ms = updated_at_ms - 90000000');
      });
      await (await open()).applyShared('new', { kind: 'wait', waitMs: 5, budgetMs: 10 });
      expect(raw((db) => db.prepare('SELECT name FROM shared').all())).toEqual([{ name: 'wait/new' }]);
    });
  });

  describe('the transcript', () => {
    test('names the node that is gone from the middle of a chain', async () => {
      const store = await open();
      const { head } = await store.createRun(runOf('r1', ['one', 'two', 'three'].map(assistant)));
      const [, middle, last] = await store.getChain(head);
      raw(
        (db) => {
          db.prepare('DELETE FROM nodes WHERE id = ?').run(middle?.id ?? '');
        },
        { enableForeignKeyConstraints: false },
      );
      const refusal = store.getChain(head);
      await expect(refusal).rejects.toMatchObject({ code: 'missing_node' });
      await expect(refusal).rejects.toThrow(
        new RegExp(`node ${middle?.id ?? ''} is missing: ${last?.id ?? ''} follows`),
      );
    });

    test('survives the erasure of a body: the chain stays whole', async () => {
      const store = await open();
      const { head } = await store.createRun(runOf('r1', ['secret', 'ordinary'].map(assistant)));
      const blob = await store.putBody(new Uint8Array([1, 2, 3]));
      raw((db) => {
        const erased = Buffer.from(JSON.stringify(assistant('')));
        db.prepare("UPDATE bodies SET bytes = ?, erased_at_ms = 1 WHERE bytes LIKE '%secret%'").run(erased);
        db.prepare("UPDATE bodies SET bytes = x'', erased_at_ms = 1 WHERE id = ?").run(blob);
      });
      expect((await store.getChain(head)).map(({ message }) => message)).toEqual([
        assistant(''),
        assistant('ordinary'),
      ]);
      expect(await store.getBody(blob)).toBeUndefined();
      expect(await store.putBody(new Uint8Array([1, 2, 3]))).toBe(blob);
      expect(await store.getBody(blob)).toEqual(new Uint8Array([1, 2, 3]));
    });

    test('has ids that depend on the store, not on the content alone', async () => {
      const one = await open();
      const two = await open({ path: join(folder, 'other.db') });
      const heads = [(await one.createRun(runOf('r1'))).head, (await two.createRun(runOf('r1'))).head];
      expect(heads[0]).not.toBe(heads[1]);
      await expect(two.commitTurn(commitOf(turnOf('r1', 1, heads[0] ?? ''), 'x'))).rejects.toMatchObject({
        code: 'missing_node',
      });
    });
  });

  describe('the thread', () => {
    test('dies with everything that was asked of it, then and later', async () => {
      const { store, thread } = await openWithThread();
      const pending = Array.from({ length: 20 }, (_, index) => store.putBody(new Uint8Array([index])));
      void thread.terminate();
      for (const result of await Promise.allSettled(pending)) {
        if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 'unavailable' });
      }
      const later = store.finishRun('r1', endOf('failed'));
      await expect(later).rejects.toMatchObject({ name: 'StoreError', code: 'unavailable' });
      await expect(later).rejects.toThrow(/thread ended unexpectedly.*open it again/);
      await store.close();
      expect(await (await open()).getRun('r1')).toBeUndefined();
    });

    test('finishes closing although it dies in the middle', async () => {
      const { store, thread } = await openWithThread();
      const pending = store.putBody(new Uint8Array([1])).catch((error: unknown) => error);
      const closed = store.close();
      await thread.terminate();
      await closed;
      const result = await pending;
      if (typeof result !== 'string') expect(result).toMatchObject({ code: 'unavailable' });
    });

    test('keeps no process alive that has forgotten to close', async () => {
      const script = join(folder, 'forgetful.mjs');
      writeFileSync(
        script,
        `import { open } from ${JSON.stringify(opener)};
         const store = await open(${JSON.stringify(path)});
         process.stdout.write(await store.putBody(new Uint8Array([7])));`,
      );
      const args = [...process.execArgv, script];
      const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 10_000 });
      expect(await (await open()).getBody(stdout)).toEqual(new Uint8Array([7]));
    });
  });
});
