/**
 * What a tool's body may return besides a plain value: a fallback that is marked as one, a half success, a reasoned
 * nothing. Recognised by a mark and not by their class, so that two copies of this package understand each other.
 */

/** A fallback value: shown to the model with why it is not the real one, and how old it is. */
export interface DegradedResult<Value> {
  readonly perdureResult: 'degraded';
  readonly value: Value;
  readonly reason: string;
  /** Epoch milliseconds. */
  readonly asOfMs?: number;
}

/** What was done and what was not; made by `partial`. */
export interface PartialResult {
  readonly perdureResult: 'partial';
  readonly succeeded: readonly unknown[];
  readonly failed: readonly unknown[];
  readonly confidence?: 'low' | 'high';
}

/** Nothing, and why; made by `empty`. */
export interface EmptyResult {
  readonly perdureResult: 'empty';
  readonly reason: string;
}

/**
 * Marks a fallback value (a cached answer, a coarser source). `reason` is read by the model; `asOf` (a date, or epoch
 * milliseconds) says how old the value is. Never throws: a time that cannot be read is left out.
 */
export function degraded<Value>(value: Value, why: { reason: string; asOf?: Date | number }): DegradedResult<Value> {
  const asOfMs = why.asOf === undefined ? NaN : Number(why.asOf);
  return {
    perdureResult: 'degraded',
    value,
    reason: why.reason,
    ...(Number.isFinite(asOfMs) ? { asOfMs } : {}),
  };
}

/** Says which items were done and which were not. `confidence: 'low'` tells the model not to build on it. */
export function partial(result: {
  succeeded: readonly unknown[];
  failed: readonly unknown[];
  confidence?: 'low' | 'high';
}): PartialResult {
  return { ...result, perdureResult: 'partial' };
}

/** Nothing was found, and why: `empty('no_match')`. */
export function empty(reason: string): EmptyResult {
  return { perdureResult: 'empty', reason };
}
