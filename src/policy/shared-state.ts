/** What runs and workers share, as one transition by kind: stores run it atomically and know nothing else about it. */
import { assertNever } from '../contract/json.js';
import { breakerTransition, type BreakerEvent, type BreakerState, type BreakerVerdict } from './breaker.js';
import { lockTransition, type LockEvent, type LockState, type LockVerdict } from './exclusive-lock.js';
import { retryBudgetTransition, type RetryBudgetEvent, type RetryBudgetVerdict } from './retry-budget.js';
import {
  limiterTransition,
  type BucketLevel,
  type LimiterEvent,
  type LimiterState,
  type LimiterVerdict,
} from './token-bucket.js';
import { waitTransition, type WaitEvent, type WaitState, type WaitVerdict } from './wait-budget.js';

export type SharedEvent = BreakerEvent | LimiterEvent | RetryBudgetEvent | LockEvent | WaitEvent;

interface VerdictByKind {
  breaker: BreakerVerdict;
  limiter: LimiterVerdict;
  retries: RetryBudgetVerdict;
  lock: LockVerdict;
  wait: WaitVerdict;
}

export type SharedVerdict<E extends SharedEvent = SharedEvent> = VerdictByKind[E['kind']];

/**
 * Applies one event to what its kind and name hold. `state` is what the same kind wrote before, or `undefined`; so is the
 * returned one, and `undefined` is as good as never written.
 */
export function sharedTransition(
  state: unknown,
  event: SharedEvent,
  nowMs: number,
): { state: object | undefined; verdict: SharedVerdict } {
  switch (event.kind) {
    case 'breaker':
      return breakerTransition(state as BreakerState | undefined, event, nowMs);
    case 'limiter':
      return limiterTransition(state as LimiterState | undefined, event, nowMs);
    case 'retries':
      return retryBudgetTransition(state as BucketLevel | undefined, event, nowMs);
    case 'lock':
      return lockTransition(state as LockState | undefined, event, nowMs);
    case 'wait':
      return waitTransition(state as WaitState | undefined, event);
    default:
      return assertNever(event);
  }
}
