import { openBlobs } from './open-blobs.js';
import { StoreWithBlobs } from './store-with-blobs.js';
import type { BlobChoice } from './store-choice.js';
import { contentIds } from './content-ids.js';
import { callOperations } from './postgres-calls.js';
import { contentOperations } from './postgres-content.js';
import { openPostgresDatabase, type PostgresDatabase, type PostgresOptions } from './postgres-database.js';
import { toStoreError } from './postgres-error.js';
import { runOperations } from './postgres-runs.js';
import { turnOperations } from './postgres-turns.js';
import { sharedOperations } from './postgres-shared.js';
import { RequestStore, type RequestMethod } from './request-store.js';
import type { WorkerStore } from './shared-state.js';
import { StoreError } from './store-error.js';

/** Every method of the store, as it is performed on the database. */
type Operations = {
  [M in RequestMethod]: (...args: Parameters<WorkerStore[M]>) => Promise<Awaited<ReturnType<WorkerStore[M]>>>;
};

/**
 * Opens the PostgreSQL store (15 or newer), creating its schema and tables where there are none. Any number of processes on
 * any number of machines may have the same one open; its clock is the server's.
 *
 * A request whose connection is lost rejects as `unavailable`, and may have been carried out: the same request asked again
 * ends in the same state. The next request opens a new connection, so the store goes on by itself when the server is back.
 * An idle store does not keep the process alive. Transactions rely on no session state, so a pooler such as PgBouncer may
 * stand between.
 *
 * Rejects with a `StoreError`: `unavailable` (address, user, password, rights, server), `newer_schema`, `not_a_store`,
 * `corrupt`, or `invalid` (a connection string that is none). No message holds the password.
 */
export async function openPostgresStore(
  options: PostgresOptions & {
    /** Where large bodies are kept. Default: in the database itself. */
    blobs?: BlobChoice;
  },
): Promise<WorkerStore> {
  const blobs = options.blobs && (await openBlobs(options.blobs));
  const database = await openPostgresDatabase(options);
  const store = new PostgresStore(database);
  return blobs ? new StoreWithBlobs(store, { blobs, ids: contentIds(database.tenantKey) }) : store;
}

class PostgresStore extends RequestStore {
  readonly storeId: string;
  readonly #database: PostgresDatabase;
  readonly #operations: Operations;
  readonly #pending = new Set<Promise<unknown>>();
  #closing: Promise<void> | undefined;

  constructor(database: PostgresDatabase) {
    super();
    this.storeId = database.storeId;
    this.#database = database;
    const content = contentOperations(database);
    this.#operations = {
      now: () => database.transaction((tx) => tx.now()),
      ...content,
      ...callOperations(database),
      ...runOperations(database, content),
      ...turnOperations(database, content),
      ...sharedOperations(database),
    };
  }

  protected ask<M extends RequestMethod>(method: M, ...args: Parameters<WorkerStore[M]>): ReturnType<WorkerStore[M]> {
    const answer = this.#perform(method, args);
    this.#pending.add(answer);
    const settled = () => this.#pending.delete(answer);
    answer.then(settled, settled);
    return answer as ReturnType<WorkerStore[M]>;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await Promise.allSettled(this.#pending);
    await this.#database.close();
  }

  async #perform(method: RequestMethod, args: unknown[]): Promise<unknown> {
    const { name } = this.#database;
    if (this.#closing) throw new StoreError('closed', `store ${name}: it is closed`);
    try {
      // As they are now: what the caller changes later must not reach a transaction that is run again. Refuses what is no
      // JSON (a function, say). The typed methods of the base class made the request, so the arguments are the method's own.
      const operation = this.#operations[method] as (...values: unknown[]) => Promise<unknown>;
      return await operation(...structuredClone(args));
    } catch (error) {
      throw toStoreError(error, name, method);
    }
  }
}
