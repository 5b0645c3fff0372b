import type { SharedState } from './shared-state.js';
import type { Store, StoreErrorCode } from './store.js';

/** Everything that the SQLite file keeps: the durable record, and what runs and workers share. */
export type SqliteStore = Store & SharedState;

/** The methods that are asked of the store's thread. */
export type RequestMethod = Exclude<keyof SqliteStore, 'storeId' | 'close'>;

/** One request to the thread; `close` comes last and ends it. */
export type StoreRequest = { id: number; method: RequestMethod; args: unknown[] } | { id: number; method: 'close' };

export interface ErrorMessage {
  code: StoreErrorCode;
  message: string;
}

export type StoreAnswer = { id: number; value: unknown } | { id: number; error: ErrorMessage };

/** What the thread tells: first how opening went, then the answers of each batch. */
export type ThreadMessage =
  | { type: 'open'; storeId: string }
  | { type: 'failed'; error: ErrorMessage }
  | { type: 'answers'; answers: StoreAnswer[] };

/** What the thread is started with. */
export interface ThreadOptions {
  path: string;
  busyTimeoutMs: number;
}
