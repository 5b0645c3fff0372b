/**
 * - `unavailable`: the store cannot be reached, written or locked now; the same request may succeed later.
 * - `missing_run`, `missing_node`: this store does not have what the request is about; often it is another store.
 * - `overtaken`: the run is not known to be the asking execution's (`AskingExecution`).
 * - `collected`: the run was closed for longer than it is kept; only its tombstone is left.
 * - `moved`: this store was copied to another place, which has taken over its identity.
 * - `invalid`: the request itself cannot be stored; a programming error.
 */
export type StoreErrorCode =
  | 'unavailable'
  | 'newer_schema'
  | 'missing_run'
  | 'missing_node'
  | 'overtaken'
  | 'collected'
  | 'corrupt'
  | 'closed'
  | 'not_a_store'
  | 'moved'
  | 'invalid';

/** What is wrong with the store, in words for an operator. */
export class StoreError extends Error {
  override readonly name = 'StoreError';
  readonly code: StoreErrorCode;
  constructor(code: StoreErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}
