/**
 * The fuse: three failures of a tool in a row, with whatever arguments, switch it off for the run. A reducer over one
 * run's outcomes; shared state across runs is the breaker's business.
 */
import type { FailureClass } from '../contract/failure.js';
import type { FuseState } from '../contract/guard-state.js';
import { failureClasses } from './failure-classes.js';

/** Design: three in a row; older failures than the window say nothing about now. */
export const fuseLimits = { failures: 3, windowMs: 600_000 } as const;

/** Failures in a row that keep the tool switched off now; `undefined` while it may be called. */
export function blownFuse(state: FuseState, tool: string, nowMs: number): number | undefined {
  const entry = entryOf(state, tool);
  if (!entry || entry.failures < fuseLimits.failures || isOld(entry, nowMs)) return undefined;
  return entry.failures;
}

/** `failureClass` is absent for a success, which resets the fuse. Classes that do not count leave it as it is. */
export function observeForFuse(
  state: FuseState,
  outcome: { tool: string; failureClass?: FailureClass },
  nowMs: number,
): FuseState {
  const { tool, failureClass } = outcome;
  if (failureClass === undefined) {
    const { [tool]: _reset, ...others } = state;
    return others;
  }
  if (failureClasses[failureClass].breaker === undefined) return state;
  const entry = entryOf(state, tool);
  const failures = entry && !isOld(entry, nowMs) ? entry.failures + 1 : 1;
  return { ...state, [tool]: { failures, lastAtMs: nowMs } };
}

// A tool may be called `constructor`.
function entryOf(state: FuseState, tool: string): FuseState[string] | undefined {
  return Object.hasOwn(state, tool) ? state[tool] : undefined;
}

function isOld(entry: { lastAtMs: number }, nowMs: number): boolean {
  return nowMs - entry.lastAtMs > fuseLimits.windowMs;
}
