import type { StoreIdentity } from './content-ids.js';
import type { RequestMethod } from './request-store.js';
import type { StoreErrorCode } from './store-error.js';

/** One request to the thread; `close` comes last and ends it. */
export type StoreRequest = { id: number; method: RequestMethod; args: unknown[] } | { id: number; method: 'close' };

export interface ErrorMessage {
  code: StoreErrorCode;
  message: string;
}

export type StoreAnswer = { id: number; value: unknown } | { id: number; error: ErrorMessage };

/** What the main thread posts: everything that was asked in one turn of its event loop. */
export type ThreadRequests = StoreRequest[];

/** What the thread tells: first how opening went, then the answers of each batch. */
export type ThreadMessage =
  | ({ type: 'open' } & StoreIdentity)
  | { type: 'failed'; error: ErrorMessage }
  | { type: 'answers'; answers: StoreAnswer[] };

/** What the thread is started with. */
export interface ThreadOptions {
  path: string;
  busyTimeoutMs: number;
}
