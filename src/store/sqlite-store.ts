import { resolve, extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { AgentRunResult, RunStatus } from '../contract/run.js';
import type { LedgerEvent } from '../policy/ledger.js';
import type { SharedEvent, SharedVerdict } from '../policy/shared-state.js';
import type {
  RequestMethod,
  SqliteStore,
  StoreAnswer,
  StoreRequest,
  ThreadMessage,
  ThreadOptions,
} from './sqlite-requests.js';
import {
  StoreError,
  type AttemptRecord,
  type LedgerRendering,
  type RecordedOutcome,
  type Store,
  type TurnCommit,
  type TurnKey,
} from './store.js';

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
export async function openSqliteStore(options: { path: string; busyTimeoutMs?: number }): Promise<SqliteStore> {
  const path = resolve(options.path);
  const threadOptions: ThreadOptions = { path, busyTimeoutMs: options.busyTimeoutMs ?? DEFAULT_BUSY_TIMEOUT_MS };
  // Beside this file and of its kind: compiled, or TypeScript where the source itself is run.
  const entry = new URL(`./sqlite-thread${extname(import.meta.url)}`, import.meta.url);
  const thread = new Worker(entry, { workerData: threadOptions, name: 'perdure-store' });
  return new SqliteStoreClient(thread, path, await opened(thread, path));
}

function opened(thread: Worker, path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const died = (cause: unknown) => {
      reject(threadDied(path, cause));
    };
    thread.once('error', died);
    thread.once('exit', died);
    thread.once('message', (message: ThreadMessage) => {
      thread.off('error', died);
      thread.off('exit', died);
      if (message.type === 'open') resolve(message.storeId);
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
class SqliteStoreClient implements SqliteStore {
  readonly storeId: string;
  readonly #thread: Worker;
  readonly #path: string;
  readonly #pending = new Map<number, Pending>();
  #lastId = 0;
  /** Why nothing can be asked any more. */
  #ended: StoreError | undefined;
  #closing: Promise<void> | undefined;

  constructor(thread: Worker, path: string, storeId: string) {
    this.storeId = storeId;
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

  now = () => this.#ask<'now'>('now');
  createRun = (run: Parameters<Store['createRun']>[0]) => this.#ask('createRun', run);
  getRun = (runKey: string) => this.#ask('getRun', runKey);
  listRuns = (filter: { workflowIdPrefix?: string; status?: RunStatus; limit: number }) =>
    this.#ask('listRuns', filter);
  finishRun = (runKey: string, result: AgentRunResult) => this.#ask('finishRun', runKey, result);
  getManifest = (hash: string) => this.#ask('getManifest', hash);
  getNode = (id: string) => this.#ask('getNode', id);
  getChain = (head: string) => this.#ask('getChain', head);
  getTurn = (turn: TurnKey) => this.#ask('getTurn', turn);
  countTurnStart = (turn: TurnKey) => this.#ask('countTurnStart', turn);
  commitTurn = (commit: TurnCommit) => this.#ask('commitTurn', commit);
  listTurns = (runKey: string) => this.#ask('listTurns', runKey);
  applyLedger = (key: string, event: LedgerEvent, rendered?: LedgerRendering) =>
    this.#ask('applyLedger', key, event, rendered);
  recordOutcomes = (outcomes: RecordedOutcome[]) => this.#ask('recordOutcomes', outcomes);
  getCall = (key: string) => this.#ask('getCall', key);
  listCalls = (runKey: string) => this.#ask('listCalls', runKey);
  recordAttempt = (attempt: AttemptRecord) => this.#ask('recordAttempt', attempt);
  applyShared = <E extends SharedEvent>(name: string, event: E) =>
    // The transition answers each kind of event with its own kind of verdict.
    this.#ask('applyShared', name, event) as Promise<SharedVerdict<E>>;
  putBody = (bytes: Uint8Array) => this.#ask('putBody', bytes);
  getBody = (id: string) => this.#ask('getBody', id);

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

  #ask<M extends RequestMethod>(method: M, ...args: Parameters<SqliteStore[M]>): ReturnType<SqliteStore[M]> {
    if (this.#ended) return Promise.reject(this.#ended) as ReturnType<SqliteStore[M]>;
    return this.#send((id) => ({ id, method, args })) as ReturnType<SqliteStore[M]>;
  }

  async #send(request: (id: number) => StoreRequest): Promise<unknown> {
    const id = ++this.#lastId;
    try {
      this.#thread.postMessage(request(id));
    } catch (error) {
      // Only a value that is no JSON (a function, say) cannot be posted.
      throw new StoreError('invalid', `store ${this.#path}: ${(error as Error).message}`, { cause: error });
    }
    this.#thread.ref();
    return new Promise((resolve, reject) => this.#pending.set(id, { resolve, reject }));
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
    this.#ended ??= reason;
    for (const pending of this.#pending.values()) pending.reject(reason);
    this.#pending.clear();
  }
}
