import type { Blobs } from './blobs.js';
import type { ContentIds } from './content-ids.js';
import { RequestStore, type RequestMethod } from './request-store.js';
import type { WorkerStore } from './shared-state.js';

/**
 * Bodies of this size and more are kept beside the database: from about 100 KB on, files are read and written faster than
 * rows of a database (https://www.sqlite.org/intern-v-extern-blob.html), and they burden neither its log nor its backups.
 */
export const LARGE_BODY_BYTES = 100_000;

/**
 * The store with its large bodies in a place of their own. Every worker of the store must see that place, and it belongs to
 * the store as its database does: back up both.
 */
export class StoreWithBlobs extends RequestStore {
  readonly storeId: string;
  override readonly lost: WorkerStore['lost'];
  readonly #store: WorkerStore;
  readonly #blobs: Blobs;
  readonly #ids: ContentIds;
  readonly #writing = new Set<Promise<unknown>>();
  #closed = false;

  constructor(store: WorkerStore, { blobs, ids }: { blobs: Blobs; ids: ContentIds }) {
    super();
    this.storeId = store.storeId;
    this.lost = store.lost;
    this.#store = store;
    this.#blobs = blobs;
    this.#ids = ids;
  }

  override putBody = (bytes: Uint8Array): Promise<string> => {
    if (bytes.byteLength < LARGE_BODY_BYTES || this.#closed) return this.#store.putBody(bytes);
    const id = this.#ids.bodyId(bytes);
    // As they are now, whatever the caller does with them later.
    const written = this.#blobs.write(id, bytes.slice()).then(() => id);
    this.#writing.add(written);
    const settled = () => this.#writing.delete(written);
    written.then(settled, settled);
    return written;
  };

  override getBody = async (id: string): Promise<Uint8Array | undefined> =>
    (await this.#store.getBody(id)) ?? (await this.#blobs.read(id));

  protected ask<M extends RequestMethod>(method: M, ...args: Parameters<WorkerStore[M]>): ReturnType<WorkerStore[M]> {
    return (this.#store[method] as (...values: unknown[]) => ReturnType<WorkerStore[M]>)(...args);
  }

  async close(): Promise<void> {
    this.#closed = true;
    // The store first, so that it refuses what comes from now on; blobs need nothing of it.
    const closed = this.#store.close();
    await Promise.allSettled(this.#writing);
    this.#blobs.close();
    await closed;
  }
}
