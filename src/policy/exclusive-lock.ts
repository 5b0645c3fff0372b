/**
 * A lock across runs and workers, or (with more than one permit) a bound on calls at once: each holder has a random token
 * and a lease that it renews while its body runs. A holder that vanishes loses its place when the lease lapses.
 *
 * A lease alone cannot stop a holder that was frozen and wakes up: each new holder gets a higher `fence`, which a backend
 * can compare and refuse (M. Kleppmann, "How to do distributed locking", 2016).
 */
import { assertNever } from '../contract/json.js';

export interface LockState {
  holders: { token: string; sinceMs: number; leaseMs: number; fence: number }[];
  /** The highest given out so far. */
  fence: number;
}

export type LockEvent =
  /** Asks for a place; a holder asks again to renew its lease. */
  | { kind: 'lock'; type: 'take'; token: string; leaseMs: number; permits: number }
  | { kind: 'lock'; type: 'release'; token: string };

export type LockVerdict =
  /** `renewed`: the token held the place without a break. */
  | { type: 'held'; fence: number; renewed: boolean }
  /** Others hold it; the first of their leases lapses after `leaseRestMs` unless renewed. */
  | { type: 'busy'; leaseRestMs: number }
  | { type: 'released' };

/** The transition. Pure: `nowMs` is the store's clock, which may jump. */
export function lockTransition(
  state: LockState | undefined,
  event: LockEvent,
  nowMs: number,
): { state: LockState | undefined; verdict: LockVerdict } {
  // After the clock was set back, a lease lasts from now: longer than it should, never for ever.
  const holders = (state?.holders ?? [])
    .map((holder) => ({ ...holder, sinceMs: Math.min(holder.sinceMs, nowMs) }))
    .filter(({ sinceMs, leaseMs }) => nowMs < sinceMs + leaseMs);
  const fence = state?.fence ?? 0;
  const others = holders.filter(({ token }) => token !== event.token);
  switch (event.type) {
    case 'take': {
      const own = holders.find(({ token }) => token === event.token);
      if (!own && others.length >= event.permits) {
        const leaseRestMs = Math.min(...others.map(({ sinceMs, leaseMs }) => sinceMs + leaseMs - nowMs));
        return { state: { holders, fence }, verdict: { type: 'busy', leaseRestMs } };
      }
      // From the clock, so that the number goes on growing after the state was swept away.
      const next = own?.fence ?? Math.max(fence + 1, Math.floor(nowMs));
      const holder = { token: event.token, sinceMs: nowMs, leaseMs: event.leaseMs, fence: next };
      return {
        state: { holders: [...others, holder], fence: Math.max(fence, next) },
        verdict: { type: 'held', fence: next, renewed: own !== undefined },
      };
    }
    case 'release':
      return { state: state && { holders: others, fence }, verdict: { type: 'released' } };
    default:
      return assertNever(event);
  }
}
