/**
 * The limiter of one tool or model, shared by all workers: token buckets for requests and for (language model) tokens,
 * charged together by an estimate before anything is sent and corrected by what was reported.
 *
 * A bucket holds a tenth of its minute, so that calls which come together need not queue, and fills just so fast that
 * no minute, wherever it begins, sees more than the limit: providers enforce their limits over shorter spans than the
 * minute in their name. One request larger than the bucket passes when the bucket is full, and is paid off afterwards.
 */
import { assertNever } from '../contract/json.js';
import type { RateLimits } from '../contract/shared-limits.js';

/** What is asked of the two buckets. */
export interface Charge {
  requests: number;
  tokens: number;
}

/** A bucket's content, and when it was so. Negative: charged ahead, or more than estimated was used. */
export interface BucketLevel {
  level: number;
  atMs: number;
}

export interface LimiterState {
  requests?: BucketLevel;
  tokens?: BucketLevel;
}

export type LimiterEvent =
  /**
   * Charges one call. Where it has to wait no longer than `maxWaitMs`, it is charged at once and waits on its own, so that
   * waiting calls keep their order; else nothing is charged. `spare` more calls of the same cost are granted where the
   * buckets hold them, for the worker to spend within a second; `returned` gives unspent ones back first.
   */
  | {
      kind: 'limiter';
      type: 'take';
      limits: RateLimits;
      charge: Charge;
      maxWaitMs: number;
      spare: number;
      returned: Charge;
    }
  /** Adds what was used beyond the estimate; negative gives back. */
  | { kind: 'limiter'; type: 'correct'; limits: RateLimits; charge: Charge };

export type LimiterVerdict =
  /** Charged; to be sent after `waitMs`. `spare` calls more were charged ahead. */
  | { type: 'granted'; waitMs: number; spare: number }
  /** Nothing was charged; ask again after `retryAfterMs`. */
  | { type: 'refused'; retryAfterMs: number }
  | { type: 'corrected' };

export interface LimiterTransition {
  state: LimiterState;
  verdict: LimiterVerdict;
}

const minuteMs = 60_000;

/** Sums of fractions end a little below what they should be: who waited as told must not be told to wait again. */
export const rounding = 1e-6;

/** What a full bucket holds, and what it gains in a millisecond. */
export function bucketOf(perMinute: number): { capacity: number; perMs: number } {
  const capacity = Math.max(1, Math.floor(perMinute / 10));
  // A full bucket and the refill of a minute together stay within the limit; the one more is what is taken as the minute ends.
  return { capacity, perMs: (perMinute - capacity + 1) / minuteMs };
}

/** The level now. A clock that was set back adds nothing, and counts from where it is. */
export function levelAt(
  known: BucketLevel | undefined,
  bucket: { capacity: number; perMs: number },
  nowMs: number,
): BucketLevel {
  if (!known) return { level: bucket.capacity, atMs: nowMs };
  const gained = Math.max(0, nowMs - known.atMs) * bucket.perMs;
  return { level: Math.min(bucket.capacity, known.level + gained), atMs: nowMs };
}

/** The transition. Pure: `nowMs` is the store's clock, which may jump. */
export function limiterTransition(
  state: LimiterState | undefined,
  event: LimiterEvent,
  nowMs: number,
): LimiterTransition {
  switch (event.type) {
    case 'take':
      return take(state ?? {}, event, nowMs);
    case 'correct': {
      const buckets = bucketsAt(state ?? {}, event.limits, nowMs);
      return { state: charged(buckets, event.charge, 1), verdict: { type: 'corrected' } };
    }
    default:
      return assertNever(event);
  }
}

interface Bucket {
  name: keyof LimiterState;
  capacity: number;
  perMs: number;
  now: BucketLevel;
}

function bucketsAt(state: LimiterState, limits: RateLimits, nowMs: number): Bucket[] {
  return (['requests', 'tokens'] as const).flatMap((name) => {
    const perMinute = name === 'requests' ? limits.requestsPerMinute : limits.tokensPerMinute;
    if (perMinute === undefined) return [];
    const bucket = bucketOf(perMinute);
    return [{ name, ...bucket, now: levelAt(state[name], bucket, nowMs) }];
  });
}

function take(state: LimiterState, event: LimiterEvent & { type: 'take' }, nowMs: number): LimiterTransition {
  const { charge, returned } = event;
  const back = { requests: -returned.requests, tokens: -returned.tokens };
  const before = charged(bucketsAt(state, event.limits, nowMs), back, 1);
  const buckets = bucketsAt(before, event.limits, nowMs);
  const waits = buckets.map(({ name, now, capacity, perMs }) => {
    const missing = Math.min(charge[name], capacity) - now.level;
    return missing <= rounding ? 0 : Math.ceil(missing / perMs);
  });
  const waitMs = Math.max(0, ...waits);
  if (waitMs > event.maxWaitMs) return { state: before, verdict: { type: 'refused', retryAfterMs: waitMs } };
  const room = buckets.map(({ name, now }) =>
    charge[name] > 0 ? Math.floor(now.level / charge[name]) - 1 : event.spare,
  );
  const spare = waitMs > 0 ? 0 : Math.max(0, Math.min(event.spare, ...room));
  return { state: charged(buckets, charge, 1 + spare), verdict: { type: 'granted', waitMs, spare } };
}

function charged(buckets: Bucket[], charge: Charge, times: number): LimiterState {
  const state: LimiterState = {};
  for (const { name, now, capacity } of buckets) {
    state[name] = { ...now, level: Math.min(capacity, now.level - charge[name] * times) };
  }
  return state;
}
