import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { openBlobUpkeep, type BlobUpkeep } from './blob-upkeep.js';
import { contentIds, type ContentIds } from './content-ids.js';
import type { PostgresChoice, SqliteChoice, StoreChoice } from './store-choice.js';
import { openPostgresDatabase } from './postgres-database.js';
import { toStoreError as fromPostgres } from './postgres-error.js';
import { storable } from './postgres-rows.js';
import type { Transaction } from './postgres-transaction.js';
import { openDatabase, versionCheck, whileBusy } from './sqlite-database.js';
import { toStoreError as fromSqlite } from './sqlite-error.js';
import { StoreError } from './store-error.js';

/**
 * A statement with parameters `?1`, `?2`, …, in words that both databases know, and one of its own:
 * `LIST(?1)`, the items of a list given as JSON, for `IN`.
 */
export type Query = <R>(sql: string, ...values: (string | number | null)[]) => Promise<R[]>;

/**
 * A store as those who look after it see it: the whole database by statements, for checking, collecting and counting.
 * Beside running workers. For commands: on SQLite it blocks the thread.
 */
export interface UpkeepDatabase {
  readonly kind: 'sqlite' | 'postgres';
  /** For messages, without passwords. */
  readonly name: string;
  readonly storeId: string;
  readonly ids: ContentIds;
  /** Where large bodies are kept, if not in the database. */
  readonly blobs: BlobUpkeep | undefined;
  /** One statement on its own snapshot. Rejects with a `StoreError`. */
  readonly query: Query;
  /** Writes all or nothing. `work` may be run again. */
  write<T>(work: (query: Query) => Promise<T>): Promise<T>;
  /** The store's clock, epoch milliseconds. */
  now(): Promise<number>;
  close(): Promise<void>;
}

/** Opens a store that is there; rejects with a `StoreError`, `not_a_store` where there is none. */
export async function openUpkeep(choice: StoreChoice): Promise<UpkeepDatabase> {
  return 'path' in choice ? await openSqlite(choice) : await openPostgres(choice);
}

async function openSqlite({ path: given, blobs }: SqliteChoice): Promise<UpkeepDatabase> {
  const path = resolve(given);
  if (!existsSync(path)) {
    throw new StoreError('not_a_store', `store ${path}: there is no such file; the first run or worker makes it`);
  }
  const told = <T>(doing: string, run: () => T): T => {
    try {
      return run();
    } catch (error) {
      throw fromSqlite(error, path, doing);
    }
  };
  const { db, busyTimeoutMs, storeId, tenantKey } = told('opening', () =>
    openDatabase({ path, busyTimeoutMs: 10_000 }),
  );
  // To find what a reference points to, each deletion would read a whole table: the statements themselves look first.
  db.exec('PRAGMA foreign_keys = OFF');
  const query: Query = async <R>(sql: string, ...values: (string | number | null)[]) =>
    told('reading', () => whileBusy(busyTimeoutMs, () => db.prepare(inSqlite(sql)).all(...values)) as R[]);
  const checkVersion = told('opening', () => versionCheck(db, path));
  const place = blobs && (await openBlobUpkeep(blobs));
  return {
    kind: 'sqlite',
    name: path,
    storeId,
    ids: contentIds(tenantKey),
    blobs: place,
    query,
    async write(work) {
      told('writing', () => whileBusy(busyTimeoutMs, () => db.exec('BEGIN IMMEDIATE')));
      try {
        told('writing', checkVersion);
        const result = await work(query);
        told('writing', () => whileBusy(busyTimeoutMs, () => db.exec('COMMIT')));
        return result;
      } finally {
        if (db.isTransaction) db.exec('ROLLBACK');
      }
    },
    now: () => Promise.resolve(Date.now()),
    close: async () => {
      place?.close();
      db.close();
    },
  };
}

async function openPostgres({ url, blobs, ...options }: PostgresChoice): Promise<UpkeepDatabase> {
  // A statement that reads a whole store may take long.
  const database = await openPostgresDatabase({ ...options, connectionString: url, poolSize: 2 }, 0);
  const told = async <T>(doing: string, run: () => Promise<T>): Promise<T> => {
    try {
      return await run();
    } catch (error) {
      throw fromPostgres(error, database.name, doing);
    }
  };
  const on =
    (tx: Transaction): Query =>
    async <R>(sql: string, ...values: (string | number | null)[]) =>
      (await tx.query(inPostgres(sql), values.map(storable))) as R[];
  const place = blobs && (await openBlobUpkeep(blobs));
  return {
    kind: 'postgres',
    name: database.name,
    storeId: database.storeId,
    ids: contentIds(database.tenantKey),
    blobs: place,
    query: <R>(sql: string, ...values: (string | number | null)[]) =>
      told('reading', () => database.transaction((tx) => on(tx)<R>(sql, ...values))),
    write: (work) =>
      told('writing', () =>
        database.transaction(async (tx) => {
          const result = await work(on(tx));
          await tx.commit([]);
          return result;
        }),
      ),
    now: () => told('reading', () => database.transaction((tx) => tx.now())),
    close: async () => {
      place?.close();
      await database.close();
    },
  };
}

function inSqlite(sql: string): string {
  return sql.replace(/LIST\((\?\d+)\)/g, '(SELECT value FROM json_each($1))');
}

function inPostgres(sql: string): string {
  return sql.replace(/LIST\((\?\d+)\)/g, '(SELECT json_array_elements_text($1::json))').replace(/\?(\d+)/g, '$$$1');
}
