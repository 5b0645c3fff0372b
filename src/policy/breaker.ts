/**
 * The circuit breaker of one backend, shared by all runs and workers: a reducer over what their calls met. The store runs
 * it atomically on its own clock; nothing here remembers anything.
 *
 * Closed → open after failures in a row → half-open once the cool-down is over: one call, the probe, is let through. Any
 * answer closes it, a failed probe opens it again. What was under way when it opened changes nothing by failing, so that
 * a burst of simultaneous failures does not put off half-open.
 */
import { assertNever } from '../contract/json.js';
import type { BreakerLimits } from '../contract/shared-limits.js';

export interface BreakerState {
  /** Calls in a row that failed after their attempts. */
  calls: number;
  /** Attempts in a row that failed. */
  attempts: number;
  lastFailureAtMs: number;
  open?: { sinceMs: number; coolDownMs: number };
  probe?: { token: string; sinceMs: number; leaseMs: number };
}

export type BreakerEvent =
  /** A call asks to be let through; the holder of the probe asks again to renew its lease. */
  | { kind: 'breaker'; type: 'admit'; token: string; leaseMs: number }
  /** The backend failed: an attempt, a call after its last attempt, or both. */
  | { kind: 'breaker'; type: 'failed'; token: string; attempts: number; calls: number; limits: BreakerLimits }
  /** The backend answered, whatever it said. */
  | { kind: 'breaker'; type: 'answered' }
  /** The call ended without a word on the backend: a probe is given back. */
  | { kind: 'breaker'; type: 'released'; token: string };

export type BreakerVerdict =
  | { type: 'closed' }
  /** Half-open, and this call is the probe. */
  | { type: 'probe' }
  /** Not to be called; ask again after `retryAfterMs`. */
  | { type: 'open'; retryAfterMs: number };

export interface BreakerTransition {
  /** The state to write; `undefined` is as good as new. */
  state: BreakerState | undefined;
  verdict: BreakerVerdict;
}

/** How soon a call that found the probe under way asks again: its answer may come at any moment. */
const probePollMs = 1_000;

/** The transition. Pure: `nowMs` is the store's clock, which may jump. */
export function breakerTransition(
  state: BreakerState | undefined,
  event: BreakerEvent,
  nowMs: number,
): BreakerTransition {
  const known = state && sinceNow(state, nowMs);
  switch (event.type) {
    case 'admit':
      return admit(known, event, nowMs);
    case 'failed':
      return failed(known, event, nowMs);
    case 'answered':
      return { state: undefined, verdict: { type: 'closed' } };
    case 'released':
      return seen(known?.probe?.token === event.token ? withoutProbe(known) : known, nowMs);
    default:
      return assertNever(event);
  }
}

function admit(
  state: BreakerState | undefined,
  { token, leaseMs }: BreakerEvent & { type: 'admit' },
  nowMs: number,
): BreakerTransition {
  const { verdict } = seen(state, nowMs, token);
  if (!state || verdict.type !== 'probe') return { state, verdict };
  return { state: { ...state, probe: { token, sinceMs: nowMs, leaseMs } }, verdict };
}

function failed(
  state: BreakerState | undefined,
  event: BreakerEvent & { type: 'failed' },
  nowMs: number,
): BreakerTransition {
  const { limits } = event;
  if (state?.open) {
    if (state.probe?.token !== event.token) return seen(state, nowMs);
    const open = { sinceMs: nowMs, coolDownMs: limits.coolDownMs };
    return seen({ ...withoutProbe(state), lastFailureAtMs: nowMs, open }, nowMs);
  }
  const earlier = state && nowMs - state.lastFailureAtMs <= limits.windowMs ? state : undefined;
  const counted: BreakerState = {
    calls: (earlier?.calls ?? 0) + event.calls,
    attempts: (earlier?.attempts ?? 0) + event.attempts,
    lastFailureAtMs: nowMs,
  };
  const opens = counted.calls >= limits.failures || counted.attempts >= 2 * limits.failures;
  return seen(opens ? { ...counted, open: { sinceMs: nowMs, coolDownMs: limits.coolDownMs } } : counted, nowMs);
}

/** The state with what a call (`token`, if it may be the probe) would be told of it now. */
function seen(state: BreakerState | undefined, nowMs: number, token?: string): BreakerTransition {
  if (!state?.open) return { state, verdict: { type: 'closed' } };
  const { open, probe } = state;
  const restMs = open.sinceMs + open.coolDownMs - nowMs;
  if (restMs > 0) return { state, verdict: { type: 'open', retryAfterMs: restMs } };
  const probeRestMs = probe && probe.token !== token ? probe.sinceMs + probe.leaseMs - nowMs : 0;
  if (token !== undefined && probeRestMs <= 0) return { state, verdict: { type: 'probe' } };
  return { state, verdict: { type: 'open', retryAfterMs: Math.min(probePollMs, Math.max(1, probeRestMs)) } };
}

function withoutProbe(state: BreakerState): BreakerState {
  const { probe: _probe, ...rest } = state;
  return rest;
}

/**
 * The state after the clock was set back behind it: nothing may lie in the future, or a breaker would stay open (and a
 * lost probe would hold it) for as long as the clock was set back.
 */
function sinceNow(state: BreakerState, nowMs: number): BreakerState {
  const { open, probe } = state;
  return {
    ...state,
    lastFailureAtMs: Math.min(state.lastFailureAtMs, nowMs),
    ...(open ? { open: { ...open, sinceMs: Math.min(open.sinceMs, nowMs) } } : {}),
    ...(probe ? { probe: { ...probe, sinceMs: Math.min(probe.sinceMs, nowMs) } } : {}),
  };
}
