/** A run's hard caps: what is admitted before it is scheduled, and which cap ends the run. */
import type { RunCounters, TerminationReason } from '../contract/run.js';
import type { RunLimits } from '../contract/run-limits.js';

/** Each cap in a person's words. The one list of them: what is not in it ends a run otherwise. */
const capWords = {
  steps_cap: (limits) => `the run's limit of ${counted(limits.steps, 'step')} is used up`,
  calls_cap: (limits) => `the run's limit of ${counted(limits.calls, 'tool call')} is used up`,
  tokens_cap: (limits) => `the run's limit of ${counted(limits.tokens, 'token')} is used up`,
  cost_cap: (limits) => `the run's limit of $${limits.costUsd} is used up`,
  wall_time_cap: (limits) => `the run's limit of ${Math.round((limits.wallTimeMs ?? 0) / 1000)} s is used up`,
  failures_cap: (limits) => `the run's limit of ${counted(limits.failures, 'failed call')} is reached`,
  no_progress: () => 'the work went on, but what is left to do did not become less',
  loop_detected: () => 'the same call was asked for again and again without anything new',
} satisfies Partial<Record<TerminationReason, (limits: RunLimits) => string>>;

export type CapReason = keyof typeof capWords;

export function isCap(reason: TerminationReason): reason is CapReason {
  return Object.hasOwn(capWords, reason);
}

export const noCounters = {
  steps: 0,
  calls: 0,
  inputTokens: 0,
  outputTokens: 0,
  costUsd: 0,
  failures: 0,
} as const satisfies RunCounters;

/** The first cap that leaves no room for another turn with tools, in a fixed order; `undefined` while there is room. */
export function reachedCap(counters: RunCounters, limits: RunLimits, elapsedMs: number): CapReason | undefined {
  if (isSpent(counters.steps, limits.steps)) return 'steps_cap';
  if (isSpent(counters.calls, limits.calls)) return 'calls_cap';
  if (isSpent(counters.inputTokens + counters.outputTokens, limits.tokens)) return 'tokens_cap';
  if (isSpent(counters.costUsd, limits.costUsd)) return 'cost_cap';
  if (isSpent(elapsedMs, limits.wallTimeMs)) return 'wall_time_cap';
  // Zero failures used up is not "no failure allowed yet": this cap is reached by a failure, not by a start.
  if (limits.failures !== null && counters.failures > 0 && counters.failures >= limits.failures) return 'failures_cap';
  return undefined;
}

/**
 * How many of `wanted` calls may be scheduled now. Reserve before scheduling: all calls of a step are counted before the
 * first one starts, so that parallel calls cannot all slip under the cap.
 */
export function admitCalls(counters: RunCounters, limits: RunLimits, wanted: number): number {
  if (limits.calls === null) return wanted;
  return Math.max(0, Math.min(wanted, limits.calls - counters.calls));
}

function counted(count: number | null, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** The cap in a person's words, for the model and for the run's summary. */
export function describeCap(reason: CapReason, limits: RunLimits): string {
  return capWords[reason](limits);
}

// A limit of 0 means that nothing is left, never "no limit".
function isSpent(used: number, limit: number | null): boolean {
  return limit !== null && used >= limit;
}
