import { resolve, extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { openBlobs } from './open-blobs.js';
import { StoreWithBlobs } from './store-with-blobs.js';
import { contentIds, type StoreIdentity } from './content-ids.js';
import { RequestStore, type RequestMethod } from './request-store.js';
import type { BlobChoice } from './store-choice.js';
import type { WorkerStore } from './shared-state.js';
import type { StoreAnswer, StoreRequest, ThreadMessage, ThreadOptions, ThreadRequests } from './sqlite-requests.js';
import { StoreError } from './store-error.js';

/** How long a request waits for the locks of other processes before it rejects as `unavailable`. They hold them for ms. */
const DEFAULT_BUSY_TIMEOUT_MS = 10_000;

/**
 * Opens the SQLite store at `path`, creating it (and its folder) where there is none. Any number of processes of one
 * machine may have the same file open; the file must be on a local disk.
 *
 * Requests are served by a thread of their own, many to a transaction; an idle store does not keep the process alive.
 * Should the thread die, everything pending and later rejects as `unavailable` until the store is opened anew: whatever
 * killed it is for the process to see, not to be papered over.
 *
 * Rejects with a `StoreError`: `newer_schema`, `not_a_store`, `corrupt`, or `unavailable` (path, rights, locks, disk).
 */
export async function openSqliteStore(options: {
  path: string;
  busyTimeoutMs?: number;
  /** Where large bodies are kept. Default: in the file itself. */
  blobs?: BlobChoice;
}): Promise<WorkerStore> {
  const blobs = options.blobs && (await openBlobs(options.blobs));
  const path = resolve(options.path);
  const threadOptions: ThreadOptions = { path, busyTimeoutMs: options.busyTimeoutMs ?? DEFAULT_BUSY_TIMEOUT_MS };
  // Beside this file and of its kind: compiled, or TypeScript where the source itself is run.
  const entry = new URL(`./sqlite-thread${extname(import.meta.url)}`, import.meta.url);
  const thread = new Worker(entry, { workerData: threadOptions, name: 'perdure-store' });
  const { storeId, tenantKey } = await opened(thread, path);
  const store = new SqliteStore(thread, path, storeId);
  return blobs ? new StoreWithBlobs(store, { blobs, ids: contentIds(tenantKey) }) : store;
}

function opened(thread: Worker, path: string): Promise<StoreIdentity> {
  return new Promise((resolve, reject) => {
    const died = (cause: unknown) => {
      reject(threadDied(path, cause));
    };
    thread.once('error', died);
    thread.once('exit', died);
    thread.once('message', (message: ThreadMessage) => {
      thread.off('error', died);
      thread.off('exit', died);
      if (message.type === 'open') resolve(message);
      else if (message.type === 'failed') reject(new StoreError(message.error.code, message.error.message));
    });
  });
}

function threadDied(path: string, cause: unknown): StoreError {
  const reason = cause instanceof Error ? cause.message : `exit code ${String(cause)}`;
  return new StoreError('unavailable', `store ${path}: its thread ended unexpectedly (${reason}); open it again`, {
    cause,
  });
}

interface Pending {
  resolve(value: unknown): void;
  reject(error: StoreError): void;
}

/** The main thread's side: turns calls into requests and answers into settled promises. */
class SqliteStore extends RequestStore {
  readonly storeId: string;
  override readonly lost: Promise<StoreError>;
  readonly #tellLost: (reason: StoreError) => void;
  readonly #thread: Worker;
  readonly #path: string;
  readonly #pending = new Map<number, Pending>();
  /** Asked in this turn of the event loop; posted together, since each message wakes the thread. */
  #asked: StoreRequest[] = [];
  #lastId = 0;
  /** Why nothing can be asked any more. */
  #ended: StoreError | undefined;
  #closing: Promise<void> | undefined;

  constructor(thread: Worker, path: string, storeId: string) {
    super();
    this.storeId = storeId;
    const lost = Promise.withResolvers<StoreError>();
    this.lost = lost.promise;
    this.#tellLost = lost.resolve;
    this.#thread = thread;
    this.#path = path;
    thread.on('message', (message: ThreadMessage) => {
      if (message.type === 'answers') message.answers.forEach((answer) => this.#settle(answer));
    });
    thread.on('messageerror', (error) => this.#end(threadDied(path, error)));
    thread.on('error', (error) => this.#end(threadDied(path, error)));
    thread.on('exit', (exitCode) => this.#end(threadDied(path, exitCode)));
    thread.unref();
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    if (this.#ended) return;
    const exited = new Promise((resolve) => this.#thread.once('exit', resolve));
    const drained = this.#send((id) => ({ id, method: 'close' }));
    this.#ended = new StoreError('closed', `store ${this.#path}: it is closed`);
    // A thread that died has nothing left to close.
    await drained.catch(() => undefined);
    await exited;
  }

  protected ask<M extends RequestMethod>(method: M, ...args: Parameters<WorkerStore[M]>): ReturnType<WorkerStore[M]> {
    if (this.#ended) return Promise.reject(this.#ended) as ReturnType<WorkerStore[M]>;
    return this.#send((id) => ({ id, method, args })) as ReturnType<WorkerStore[M]>;
  }

  #send(request: (id: number) => StoreRequest): Promise<unknown> {
    const id = ++this.#lastId;
    if (this.#asked.length === 0) queueMicrotask(() => this.#post());
    this.#asked.push(request(id));
    this.#thread.ref();
    return new Promise((resolve, reject) => this.#pending.set(id, { resolve, reject }));
  }

  #post(): void {
    const requests = this.#asked.splice(0);
    try {
      this.#thread.postMessage(requests satisfies ThreadRequests);
    } catch {
      // One of them cannot be posted; the others must not fail with it.
      for (const request of requests) this.#postAlone(request);
    }
  }

  #postAlone(request: StoreRequest): void {
    try {
      this.#thread.postMessage([request] satisfies ThreadRequests);
    } catch (error) {
      // Only a value that is no JSON (a function, say) cannot be posted.
      const { message } = error as Error;
      this.#settle({ id: request.id, error: { code: 'invalid', message: `store ${this.#path}: ${message}` } });
    }
  }

  #settle(answer: StoreAnswer): void {
    const pending = this.#pending.get(answer.id);
    this.#pending.delete(answer.id);
    // Not while closing: the process has to live until the thread has let go of the file.
    if (this.#pending.size === 0 && !this.#closing) this.#thread.unref();
    if ('error' in answer) pending?.reject(new StoreError(answer.error.code, answer.error.message));
    else pending?.resolve(answer.value);
  }

  /** The thread is gone: nothing pending will be answered. */
  #end(reason: StoreError): void {
    if (!this.#ended) this.#tellLost(reason);
    this.#ended ??= reason;
    for (const pending of this.#pending.values()) pending.reject(reason);
    this.#pending.clear();
  }
}
