import { randomBytes } from 'node:crypto';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { StoreIdentity } from './content-ids.js';
import { isBusy } from './sqlite-error.js';
import { APPLICATION_ID, MIGRATIONS, SCHEMA_VERSION } from './sqlite-schema.js';
import { StoreError } from './store-error.js';

/** An open store file, its schema current. */
export interface SqliteDatabase extends StoreIdentity {
  readonly db: DatabaseSync;
  readonly path: string;
  readonly busyTimeoutMs: number;
}

/**
 * Pages of log (4 KB each) before they are moved into the file. Ids are hashes, so writes touch pages all over; with SQLite's
 * default of 1000 most of the time went into moving the same pages again (64 writes of 500 bytes in flight: 250 µs a write,
 * and 58 µs with 4000; more gains nothing).
 */
const CHECKPOINT_PAGES = 4_000;

/** SQLite's own wait inside one statement. Short: `whileBusy` does the long waiting. */
const STATEMENT_BUSY_MS = 5;

/**
 * Repeats what another connection's lock refused, until `timeoutMs` have passed. SQLite's own busy handler is not enough:
 * it is not called for a change of journal mode, and its sleeps grow to 100 ms, at which a process starves beside others
 * that write all the time. Blocks the thread, which is what the store's thread is for.
 */
export function whileBusy<T>(timeoutMs: number, run: () => T): T {
  const giveUpAt = performance.now() + timeoutMs;
  for (;;) {
    try {
      return run();
    } catch (error) {
      if (!isBusy(error) || performance.now() >= giveUpAt) throw error;
      // Random, so that waiting processes do not knock in step.
      sleep(0.2 + Math.random() * 2);
    }
  }
}

function sleep(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

/**
 * Opens the file, creating it and its folder where there is none, and migrates an older schema forward. Throws a
 * `StoreError` (`newer_schema`, `not_a_store`) or the driver's error. A file that is no store is left untouched.
 */
export function openDatabase(options: { path: string; busyTimeoutMs: number }): SqliteDatabase {
  mkdirSync(dirname(options.path), { recursive: true });
  // Made here rather than by SQLite, for the mode: it holds conversations and the key of their hashes.
  closeSync(openSync(options.path, 'a', 0o600));
  return whileBusy(options.busyTimeoutMs, () => openOnce(options));
}

function openOnce({ path, busyTimeoutMs }: { path: string; busyTimeoutMs: number }): SqliteDatabase {
  const db = new DatabaseSync(path, { timeout: STATEMENT_BUSY_MS, enableForeignKeyConstraints: true });
  try {
    checkVersion(storedVersion(db, path), path);
    useWal(db, path);
    // Every commit is synced to disk before it is answered; what WAL would leave to the operating system by default.
    db.exec('PRAGMA synchronous = FULL');
    db.exec(`PRAGMA wal_autocheckpoint = ${String(CHECKPOINT_PAGES)}`);
    if (storedVersion(db, path) < SCHEMA_VERSION) migrate(db, path);
    checkMoved(readMeta(db, MOVED_TO), path);
    return {
      db,
      path,
      busyTimeoutMs,
      storeId: readMeta(db, 'store_id') as string,
      tenantKey: readMeta(db, 'tenant_key') as Uint8Array,
    };
  } catch (error) {
    db.close();
    throw error;
  }
}

/** 0 for an empty file, which becomes a store. */
function storedVersion(db: DatabaseSync, path: string): number {
  // In this order, because another process may commit the first migration in between: tables come with the mark.
  const tables = db.prepare('SELECT count(*) AS number FROM sqlite_schema').get()?.['number'];
  const applicationId = db.prepare('PRAGMA application_id').get()?.['application_id'];
  if (applicationId === 0 && tables === 0) return 0;
  if (applicationId !== APPLICATION_ID) {
    throw new StoreError(
      'not_a_store',
      `store ${path}: this SQLite file belongs to something else; set store.path to another file`,
    );
  }
  const version = tables === 0 ? undefined : readMeta(db, 'schema_version');
  if (typeof version === 'number') return version;
  throw new StoreError(
    'corrupt',
    `store ${path}: the file is damaged (its schema has no version); restore it from a backup`,
  );
}

/** Refuses a schema that a newer perdure made. */
function checkVersion(version: number, path: string): void {
  if (version <= SCHEMA_VERSION) return;
  throw new StoreError(
    'newer_schema',
    `store ${path}: its schema has version ${String(version)}, this perdure knows versions up to ` +
      `${String(SCHEMA_VERSION)}. Update perdure, or set store.path to another file; nothing was changed`,
  );
}

/** Where a copy of this store has taken over its identity: two of them side by side would run everything twice. */
export const MOVED_TO = 'moved_to';

/** Refuses a store that was copied to another place. */
function checkMoved(movedTo: unknown, path: string): void {
  if (movedTo === undefined) return;
  throw new StoreError('moved', `store ${path}: it was moved to ${movedTo as string}; set store.url to that`);
}

/** Says within a transaction whether the file is still what was opened: throws where it is newer by now, or was moved away. */
export function versionCheck(db: DatabaseSync, path: string): () => void {
  const schemaVersion = db.prepare("SELECT value FROM meta WHERE name = 'schema_version'");
  const movedTo = db.prepare('SELECT value FROM meta WHERE name = ?');
  return () => {
    checkVersion(Number(schemaVersion.get()?.['value']), path);
    checkMoved(movedTo.get(MOVED_TO)?.['value'], path);
  };
}

function useWal(db: DatabaseSync, path: string): void {
  const mode = db.prepare('PRAGMA journal_mode = WAL').get()?.['journal_mode'];
  if (mode !== 'wal') {
    throw new StoreError('unavailable', `store ${path}: needs a local disk; write-ahead logging is not possible there`);
  }
}

/** Of several processes that open a new or old file at once, the first one migrates and the others find it done. */
function migrate(db: DatabaseSync, path: string): void {
  db.exec('BEGIN EXCLUSIVE');
  try {
    const found = storedVersion(db, path);
    checkVersion(found, path);
    for (const migration of MIGRATIONS.slice(found)) db.exec(migration);
    if (found === 0) {
      db.exec(`PRAGMA application_id = ${String(APPLICATION_ID)}`);
      writeMeta(db, 'store_id', randomBytes(8).toString('hex'));
      writeMeta(db, 'tenant_key', randomBytes(32));
    }
    writeMeta(db, 'schema_version', SCHEMA_VERSION);
    db.exec('COMMIT');
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK');
    throw error;
  }
}

function readMeta(db: DatabaseSync, name: string): unknown {
  return db.prepare('SELECT value FROM meta WHERE name = ?').get(name)?.['value'];
}

export function writeMeta(db: DatabaseSync, name: string, value: string | number | Uint8Array): void {
  db.prepare('INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value').run(
    name,
    value,
  );
}
