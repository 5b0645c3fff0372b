import { isDeepStrictEqual } from 'node:util';
import { existsSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { resolve } from 'node:path';
import type pg from 'pg';
import type { StoreIdentity } from './content-ids.js';
import type { PostgresChoice, SqliteChoice, StoreChoice } from './store-choice.js';
import { connectPool, raiseSchema, storedVersion, whileMigrating } from './postgres-database.js';
import { toStoreError } from './postgres-error.js';
import { insertRows, storable } from './postgres-rows.js';
import { MOVED_TO, openDatabase, whileBusy, writeMeta, type SqliteDatabase } from './sqlite-database.js';
import { toStoreError as toSqliteError } from './sqlite-error.js';
import { StoreError } from './store-error.js';

/** What is copied, in an order in which rows come after those they refer to. What workers share is not: it is a day old at most. */
const TABLES = {
  manifests: ['hash', 'manifest'],
  bodies: ['id', 'bytes', 'erased_at_ms', 'touched_at_ms'],
  nodes: ['id', 'parent', 'body', 'touched_at_ms'],
  runs: [
    ...['ordinal', 'run_key', 'workflow_id', 'task', 'manifest_hash', 'head', 'status', 'result'],
    ...['started_at_ms', 'updated_at_ms', 'pinned', 'ended_by', 'execution'],
  ],
  turns: [
    ...['run_key', 'step', 'head', 'settings', 'take', 'starts', 'started_order', 'committed_order'],
    ...['committed_at_ms', 'result'],
  ],
  calls: [
    ...['ordinal', 'key', 'run_key', 'call_id', 'tool', 'digest', 'effect', 'state', 'token', 'lease_until_ms'],
    ...[
      'begun',
      'starts',
      'starts_before',
      'spent_ms',
      'may_have_happened',
      'first_start_at_ms',
      'begun_at_ms',
      'outcome',
      'rendered',
    ],
    'updated_at_ms',
  ],
  interventions: ['run_key', 'id', 'ordinal', 'at_ms', 'intervention'],
  attempts: ['key', 'start', 'worker', 'started_at_ms', 'ended_at_ms', 'failure', 'requests'],
  tombstones: ['run_key', 'workflow_id', 'status', 'started_at_ms', 'ended_at_ms', 'collected_at_ms'],
} as const;

type Table = keyof typeof TABLES;
const TABLE_NAMES = Object.keys(TABLES) as Table[];

/** Rows and bytes of one message to the server: few round trips, and little memory. */
const BATCH_ROWS = 500;
const BATCH_BYTES = 4_000_000;

export interface CopyReport {
  storeId: string;
  /** Rows of each table, counted in both stores. */
  rows: Record<Table, number>;
}

export interface CopyProgress {
  table: string;
  /** Rows. */
  done: number;
  total: number;
}

/**
 * Moves a store from SQLite to PostgreSQL, with its identity, its ids and all it holds, so that its runs go on there. All or
 * nothing: the target commits once every table's count agrees, and then the file is marked as moved, so that no worker uses
 * both. Stop the workers first: while it runs, their writes to the file are refused as `unavailable`, and afterwards as
 * `moved`. Asked again after it was interrupted, it starts anew, or only marks the file where the target is complete.
 *
 * Blobs stay where they are; both choices name the same folder or bucket.
 *
 * Rejects with a `StoreError`: `invalid` where the target is not empty or the kinds are others, and whatever opening either
 * store rejects with. Blocks the thread while it reads the file: for a command, not for a worker.
 */
export async function copyStore(
  from: StoreChoice,
  to: StoreChoice,
  onProgress: (progress: CopyProgress) => void = () => undefined,
): Promise<CopyReport> {
  if (!('path' in from) || !('url' in to)) {
    throw new StoreError('invalid', 'a store can be copied from SQLite (path) to PostgreSQL (url) only');
  }
  const path = resolve(from.path);
  if (!existsSync(path)) throw new StoreError('not_a_store', `store ${path}: there is no such file`);
  if (!isDeepStrictEqual(from.blobs, to.blobs)) {
    throw new StoreError(
      'invalid',
      `store ${path}: its blobs stay where they are; name the same place (store.blobs) for both stores`,
    );
  }
  const source = openSource(path);
  try {
    return await copyFrom(source, { from, to, onProgress });
  } finally {
    source.db.close();
  }
}

function openSource(path: string): SqliteDatabase {
  try {
    const database = openDatabase({ path, busyTimeoutMs: 10_000 });
    // Nothing may be promised by the file from here on.
    whileBusy(database.busyTimeoutMs, () => {
      database.db.exec('BEGIN IMMEDIATE');
    });
    return database;
  } catch (error) {
    throw toSqliteError(error, path, 'copying');
  }
}

async function copyFrom(
  source: SqliteDatabase,
  { from, to, onProgress }: { from: SqliteChoice; to: PostgresChoice; onProgress: (progress: CopyProgress) => void },
): Promise<CopyReport> {
  const { url, ...options } = to;
  // A single statement may take long here: checking all references of a large store does.
  const { pool, name, schema } = connectPool({ ...options, connectionString: url, poolSize: 1 }, 0);
  const identity: StoreIdentity = source;
  const rows = countRows(source.db);
  try {
    writeMeta(source.db, MOVED_TO, name);
    await whileMigrating(pool, schema, async (client) => {
      if ((await storedVersion(client, schema, name)) > 0) {
        await requireSameStore(client, { schema, name, identity, rows });
        return;
      }
      await raiseSchema(client, { schema, from: 0, identity });
      await client.query('SET CONSTRAINTS ALL DEFERRED');
      for (const table of TABLE_NAMES) {
        await copyTable(source.db, client, table, (done) => onProgress({ table, done, total: rows[table] }));
      }
      for (const table of ['runs', 'calls']) {
        await client.query(
          `SELECT setval(pg_get_serial_sequence('${table}', 'ordinal'), (SELECT max(ordinal) FROM ${table}))`,
        );
      }
      requireEqualCounts(rows, await countCopies(client), name);
    });
    source.db.exec('COMMIT');
    return { storeId: identity.storeId, rows };
  } catch (error) {
    if (source.db.isTransaction) source.db.exec('ROLLBACK');
    throw toStoreError(error, name, `copying ${from.path}`);
  } finally {
    await pool.end();
  }
}

/** A copy that was complete, but interrupted before the file was marked, is accepted; any other store is not. */
async function requireSameStore(
  client: pg.ClientBase,
  target: { schema: string; name: string; identity: StoreIdentity; rows: Record<Table, number> },
): Promise<void> {
  const { schema, name, identity, rows } = target;
  await client.query("SELECT set_config('search_path', quote_ident($1), true)", [schema]);
  const found = await client.query<{ value: string }>("SELECT value FROM meta WHERE name = 'store_id'");
  if (found.rows[0]?.value !== identity.storeId) {
    throw new StoreError(
      'invalid',
      `store ${name}: it holds another store already; copy into an empty schema (store.schema), or drop this one`,
    );
  }
  requireEqualCounts(rows, await countCopies(client), name);
}

async function copyTable(
  source: DatabaseSync,
  client: pg.ClientBase,
  table: Table,
  onProgress: (done: number) => void,
): Promise<void> {
  const columns: readonly string[] = TABLES[table];
  const insert = async (rows: unknown[][]) => {
    const query = async <R>(text: string, values?: unknown[]) => (await client.query(text, values)).rows as R[];
    await Promise.all(insertRows({ query }, { into: `${table} (${columns.join(', ')})`, rows }));
  };
  let batch: unknown[][] = [];
  let bytes = 0;
  let done = 0;
  for (const row of source.prepare(`SELECT ${columns.join(', ')} FROM ${table}`).iterate()) {
    const values = columns.map((column) => toPostgres(row[column]));
    batch.push(values);
    for (const value of values) bytes += typeof value === 'string' || value instanceof Buffer ? value.length : 8;
    if (batch.length < BATCH_ROWS && bytes < BATCH_BYTES) continue;
    await insert(batch);
    onProgress((done += batch.length));
    batch = [];
    bytes = 0;
  }
  if (batch.length > 0) await insert(batch);
  onProgress(done + batch.length);
}

function toPostgres(value: unknown): unknown {
  return value instanceof Uint8Array ? Buffer.from(value.buffer, value.byteOffset, value.byteLength) : storable(value);
}

function countRows(db: DatabaseSync): Record<Table, number> {
  const counts = TABLE_NAMES.map((table) => [
    table,
    Number(db.prepare(`SELECT count(*) AS number FROM ${table}`).get()?.['number']),
  ]);
  return Object.fromEntries(counts) as Record<Table, number>;
}

async function countCopies(client: pg.ClientBase): Promise<Record<Table, number>> {
  const counts = await Promise.all(
    TABLE_NAMES.map(async (table) => {
      const { rows } = await client.query<{ number: number }>(`SELECT count(*) AS number FROM ${table}`);
      return [table, rows[0]?.number ?? NaN];
    }),
  );
  return Object.fromEntries(counts) as Record<Table, number>;
}

function requireEqualCounts(expected: Record<Table, number>, found: Record<Table, number>, name: string): void {
  const differing = TABLE_NAMES.filter((table) => expected[table] !== found[table]);
  if (differing.length === 0) return;
  const words = differing.map((table) => `${table} ${String(found[table])} instead of ${String(expected[table])}`);
  throw new StoreError('invalid', `store ${name}: it does not hold the same rows (${words.join(', ')})`);
}
