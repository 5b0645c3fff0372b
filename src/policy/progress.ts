/**
 * Stops a run whose work goes on without getting anywhere, by the tools' own measure: what is left to do, such as the number
 * of failing tests. A reducer over one run's model turns; the measures of one turn are one round, and its lowest counts.
 */
import type { ProgressState, ProgressStreak } from '../contract/guard-state.js';

/** Rounds without a new lowest measure, as a multiple of those that may not fall: up and down again is no progress either. */
const roundsToBest = 3;

/** The state after a round. 0 is done: whatever came before it counts no more. */
export function observeProgress(state: ProgressState, tool: string, measures: readonly number[]): ProgressState {
  if (measures.length === 0) return state;
  const measure = Math.min(...measures);
  const others = Object.entries(state).filter(([name]) => name !== tool);
  const before = Object.hasOwn(state, tool) ? state[tool] : undefined;
  return Object.fromEntries([...others, [tool, next(before, measure)]]);
}

function next(before: ProgressStreak | undefined, measure: number): ProgressStreak {
  if (!before || before.last <= 0 || measure <= 0) return { best: measure, last: measure, rounds: 0, sinceBest: 0 };
  return {
    best: Math.min(before.best, measure),
    last: measure,
    rounds: measure < before.last ? 0 : before.rounds + 1,
    sinceBest: measure < before.best ? 0 : before.sinceBest + 1,
  };
}

/** Whether a tool's measure has not fallen for so many rounds, or reached no new lowest for three times as many. */
export function isStalled(state: ProgressState, stalledRounds: number | null | undefined): boolean {
  if (typeof stalledRounds !== 'number') return false;
  return Object.values(state).some(
    ({ rounds, sinceBest }) => rounds >= stalledRounds || sinceBest >= roundsToBest * stalledRounds,
  );
}
