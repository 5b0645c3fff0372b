/**
 * A tool's retry budget, shared by all runs and workers: a retry needs a token, successes refill. When most calls fail,
 * retries dry up instead of multiplying the load on a backend that is going under.
 */
import { assertNever } from '../contract/json.js';
import type { RetryBudgetLimits } from '../contract/shared-limits.js';
import { levelAt, rounding, type BucketLevel } from './token-bucket.js';

export type RetryBudgetEvent =
  | { kind: 'retries'; type: 'take'; limits: RetryBudgetLimits }
  | { kind: 'retries'; type: 'succeeded'; limits: RetryBudgetLimits };

export interface RetryBudgetVerdict {
  /** For `take`: the retry may be made. */
  granted: boolean;
}

/** The transition. Pure; a full budget is `undefined`, so that successes of a healthy tool write nothing. */
export function retryBudgetTransition(
  state: BucketLevel | undefined,
  event: RetryBudgetEvent,
  nowMs: number,
): { state: BucketLevel | undefined; verdict: RetryBudgetVerdict } {
  const { tokens: capacity, perSuccess, perMinute } = event.limits;
  const now = levelAt(state, { capacity, perMs: perMinute / 60_000 }, nowMs);
  switch (event.type) {
    case 'take': {
      if (now.level < 1 - rounding) return { state: now, verdict: { granted: false } };
      return { state: { ...now, level: now.level - 1 }, verdict: { granted: true } };
    }
    case 'succeeded': {
      const level = now.level + perSuccess;
      return { state: level >= capacity ? undefined : { ...now, level }, verdict: { granted: true } };
    }
    default:
      return assertNever(event);
  }
}
