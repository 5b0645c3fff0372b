/**
 * Repeated failures of a tool, and when the system message points at them: after three in a row, once, until the tool
 * succeeds. The state is part of what a run carries over continue-as-new. Pure, and safe for any tool name.
 */
import type { Outcome } from '../contract/call.js';
import type { FailureClass } from '../contract/failure.js';
import { spokenFailures } from './failure-digest.js';

export const EMPHASIS_AFTER_FAILURES = 3;
/** Tools whose failures are counted at the same time; the one that failed longest ago is forgotten first. */
const MAX_STREAKS = 100;

export interface FailureStreaks {
  /** Failures in a row by tool name; absent is 0. */
  consecutiveFailures: Record<string, number>;
  /** Tools whose emphasis the model has been given since their last success. */
  emphasised: string[];
}

/** Ends of a call that say nothing of the tool: nobody ran it. */
const saysNothingOfTheTool = new Set<FailureClass>([
  'skipped',
  'cancelled',
  'budget_exhausted',
  'approval_denied',
  'approval_expired',
]);

/** The streaks after one more outcome. Call it in the model's order of the calls. */
export function countOutcome(streaks: FailureStreaks, outcome: Outcome): FailureStreaks {
  const { tool } = outcome;
  if (outcome.status === 'pending') return streaks;
  if (outcome.status === 'failed' || outcome.status === 'aborted') {
    if (saysNothingOfTheTool.has(outcome.failure.class)) return streaks;
    const { [tool]: _before, ...others } = streaks.consecutiveFailures;
    // The newest streaks last: a model may make up any number of tool names, and the state travels.
    const kept = Object.entries(others).slice(1 - MAX_STREAKS);
    return {
      consecutiveFailures: Object.fromEntries([...kept, [tool, failuresInARow(streaks, tool) + 1]]),
      emphasised: streaks.emphasised.filter((name) => name === tool || kept.some(([other]) => other === name)),
    };
  }
  const others = Object.entries(streaks.consecutiveFailures).filter(([name]) => name !== tool);
  return {
    consecutiveFailures: Object.fromEntries(others),
    emphasised: streaks.emphasised.filter((name) => name !== tool),
  };
}

export function failuresInARow(streaks: Pick<FailureStreaks, 'consecutiveFailures'>, tool: string): number {
  return Object.hasOwn(streaks.consecutiveFailures, tool) ? (streaks.consecutiveFailures[tool] ?? 0) : 0;
}

/** The tools to point at in the next system message, by name, and the streaks once that has been done. */
export function takeEmphasis(streaks: FailureStreaks): {
  emphasis: { tool: string; failures: number }[];
  streaks: FailureStreaks;
} {
  const emphasis = Object.entries(streaks.consecutiveFailures)
    .filter(([tool, failures]) => failures >= EMPHASIS_AFTER_FAILURES && !streaks.emphasised.includes(tool))
    .map(([tool, failures]) => ({ tool, failures }))
    .sort((a, b) => (a.tool < b.tool ? -1 : 1));
  if (emphasis.length === 0) return { emphasis, streaks };
  return {
    emphasis,
    streaks: { ...streaks, emphasised: [...streaks.emphasised, ...emphasis.map(({ tool }) => tool)] },
  };
}

/** The paragraph for the system message; `''` where there is nothing to point at. */
export function emphasisText(emphasis: readonly { tool: string; failures: number }[]): string {
  if (emphasis.length === 0) return '';
  const lines = emphasis.map(({ tool, failures }) => `- ${tool} has failed ${spokenFailures(failures)} in a row.`);
  return [
    'Important: a tool keeps failing.',
    ...lines,
    'Read its last messages again before you call it once more. Change the approach, use another tool, or tell the user what is not possible; do not send the same thing again.',
  ].join('\n');
}
