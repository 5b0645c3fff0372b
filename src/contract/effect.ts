/**
 * What running a tool twice does.
 *
 * - `read`: nothing.
 * - `idempotent` by `key`: the backend honours the idempotency key for `keyTtlMs` milliseconds.
 * - `idempotent` by `nature`: the same value is set again.
 * - `once`: a second effect. A tool that declares nothing is `once`.
 */
export type Effect =
  | { kind: 'read' }
  | { kind: 'idempotent'; by: 'key'; keyTtlMs: number }
  | { kind: 'idempotent'; by: 'nature' }
  | { kind: 'once' };

/** What a failed attempt left behind in the backend. */
export type EffectState = 'none' | 'done' | 'unknown';
