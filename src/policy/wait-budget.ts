/**
 * Time that a call has waited outside its attempts (for a breaker, a limiter, a lock), counted over workers: it belongs
 * to the call's time budget, and no ledger row need exist yet.
 */
export interface WaitState {
  spentMs: number;
}

export interface WaitEvent {
  kind: 'wait';
  waitMs: number;
  /** What may be waited in all, milliseconds. */
  budgetMs: number;
}

export interface WaitVerdict {
  /** The wait fits, and is counted. */
  granted: boolean;
  /** Waited in all, milliseconds. */
  spentMs: number;
}

/** The transition. Pure. A wait of 0 only asks, and a call that never waited leaves no state. */
export function waitTransition(
  state: WaitState | undefined,
  event: WaitEvent,
): { state: WaitState | undefined; verdict: WaitVerdict } {
  const spentMs = (state?.spentMs ?? 0) + event.waitMs;
  if (spentMs > event.budgetMs) return { state, verdict: { granted: false, spentMs: state?.spentMs ?? 0 } };
  return { state: spentMs > 0 ? { spentMs } : undefined, verdict: { granted: true, spentMs } };
}
