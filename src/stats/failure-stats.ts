import type { Outcome } from '../contract/call.js';
import type { Failure, FailureClass, FailureFamily } from '../contract/failure.js';
import { attemptsSeen } from '../contract/seen-requests.js';
import { failureClasses } from '../policy/failure-classes.js';
import type { LedgerRow } from '../contract/ledger.js';
import type { AttemptRecord } from '../store/records.js';
import { Corrections, isCorrectable, stepOf } from './corrections.js';
import { mean, percentile } from './distribution.js';
import { RetryOwners, type HiddenRetryFigures } from './retry-owners.js';

const HOUR_MS = 3_600_000;

/** What some calls add up to. Rates are between 0 and 1, and absent where there is nothing to divide by. */
export interface CallFigures {
  /**
   * Calls that ended and say something about the tool: all but `pending` and those that nobody let run. Counts what
   * happened: a call whose outcome was taken back (by a retry, or a person's word) counts once more with each that followed.
   */
  calls: number;
  succeeded: number;
  /** Half failed; counted as no failure. */
  partial: number;
  failed: number;
  /** Failures that no changed arguments help. */
  aborted: number;
  /** Cancelled, skipped, over the budget, refused as a repeat, or of a tool that was switched off; in no other figure. */
  notRun: number;
  /** `(succeeded + partial) / calls`. */
  successRate?: number;
  /** From the first start of the body to the outcome, waits included, of calls that had one; nearest rank. */
  p50Ms?: number;
  p99Ms?: number;
  /** Starts of the body in all. */
  attempts: number;
  /** Attempts that backends saw in those starts of which anything was seen (requests, or a backend's own count). */
  attemptsSeen: number;
  /** Starts of which something was seen: were each attempt one request, `attemptsSeen` would be this. */
  startsSeen: number;
  /** Of the calls whose body was started. */
  attemptsPerCall?: number;
  /** Failures that other arguments may cure, and how many of them the model did correct. */
  correctable: number;
  corrected: number;
  selfCorrectionRate?: number;
}

/** How often calls of one tool ended in one class. */
export interface FailureCount {
  class: FailureClass;
  family: FailureFamily;
  code: string;
  count: number;
}

export interface ToolFigures extends CallFigures {
  tool: string;
  /** The most frequent first. */
  failures: FailureCount[];
  /** Arguments that were refused, as JSON Pointers with `*` for a place in a list; the most frequent first. */
  failingPaths: { path: string; count: number }[];
}

/** How the tools did, over the calls that were asked for. */
export interface FailureFigures {
  runs: number;
  /** As `perdure show` counts them: `countSteps`. */
  stepsPerRun?: { mean: number; p50: number; max: number };
  all: CallFigures;
  /** The one with the most failures first. */
  tools: ToolFigures[];
  families: { family: FailureFamily; count: number }[];
  classes: { class: FailureClass; count: number }[];
  codes: { code: string; count: number }[];
  /** The oldest first; hours without a call are left out. `startMs` in epoch milliseconds, hours as in UTC. */
  hours: { startMs: number; calls: number; failed: number }[];
  /** Clients that retry by themselves, of tools and models, the worst first. Empty where the executor alone retries. */
  hiddenRetries: HiddenRetryFigures[];
}

/** Failures by which a tool is not to be judged, because nobody let it run. */
const notRun = new Set<FailureClass>([
  'cancelled',
  'skipped',
  'budget_exhausted',
  'repeated_call_blocked',
  'tool_temporarily_disabled',
]);

/** Whether a tool is judged by this outcome, and as what. Of a call that is not done yet nothing is said. */
export function verdictOn(outcome: Outcome): 'succeeded' | 'partial' | 'failed' | 'aborted' | 'notRun' | undefined {
  if (outcome.status === 'pending') return undefined;
  if ('failure' in outcome && notRun.has(outcome.failure.class)) return 'notRun';
  return outcome.status;
}

/**
 * Reduces calls to figures, one at a time, in the order of their runs' steps. Keeps counts and durations, no call. With
 * `tool` only that tool's calls are counted; the steps are then those of the runs that called it.
 */
export class FailureStats {
  readonly #only: string | undefined;
  readonly #corrections = new Corrections();
  readonly #owners = new RetryOwners();
  readonly #tools = new Map<string, ToolSums>();
  readonly #runs = new Map<string, { steps: number; counted: boolean }>();
  readonly #hours = new Map<number, { calls: number; failed: number }>();

  constructor(options: { tool?: string } = {}) {
    this.#only = options.tool;
  }

  add(row: LedgerRow, attempts: readonly AttemptRecord[] = []): void {
    const counted = this.#only === undefined || row.tool === this.#only;
    const run = this.#runs.get(row.runKey);
    this.#runs.set(row.runKey, {
      steps: Math.max(run?.steps ?? 0, stepOf(row.callId) ?? 0),
      counted: counted || (run?.counted ?? false),
    });
    if (counted) this.#owners.addCall(row, attempts);
    const verdict = row.outcome && verdictOn(row.outcome);
    if (!counted || !row.outcome || !verdict) return;
    const tool = this.#toolOf(row);
    tool.addEnd(row, row.outcome, verdict);
    if (verdict !== 'notRun' && isCorrectable(row.outcome)) tool.correctable += 1;
    if (verdict !== 'notRun') tool.addSeen(attempts);
    tool.corrected += this.#corrections.add(row).length;
    if (verdict !== 'notRun') this.#addHour(row.updatedAtMs, verdict === 'failed' || verdict === 'aborted');
  }

  /**
   * An outcome that was taken back: it happened, and is no mistake that the model was to correct. `row` as it was then, with
   * the starts that the outcome tells of.
   */
  addTakenBack(row: LedgerRow): void {
    const verdict = row.outcome && verdictOn(row.outcome);
    if ((this.#only !== undefined && row.tool !== this.#only) || !row.outcome || !verdict) return;
    this.#toolOf(row).addEnd(row, row.outcome, verdict);
    if (verdict !== 'notRun') this.#addHour(row.updatedAtMs, verdict === 'failed' || verdict === 'aborted');
  }

  /** The runs that the figures are about so far. */
  runs(): string[] {
    return [...this.#runs].flatMap(([runKey, { counted }]) => (counted ? [runKey] : []));
  }

  /** How many steps a run had. Until this is said, it is taken to have ended with its last call. */
  setSteps(runKey: string, steps: number): void {
    const run = this.#runs.get(runKey);
    if (run) this.#runs.set(runKey, { ...run, steps });
  }

  /** Starts of model turns whose client retried by itself. */
  addTurnAttempts(attempts: readonly AttemptRecord[]): void {
    this.#owners.addTurns(attempts);
  }

  #toolOf({ tool }: LedgerRow): ToolSums {
    const sums = this.#tools.get(tool) ?? new ToolSums();
    this.#tools.set(tool, sums);
    return sums;
  }

  #addHour(atMs: number, failed: boolean): void {
    const startMs = Math.floor(atMs / HOUR_MS) * HOUR_MS;
    const hour = this.#hours.get(startMs) ?? { calls: 0, failed: 0 };
    this.#hours.set(startMs, { calls: hour.calls + 1, failed: hour.failed + (failed ? 1 : 0) });
  }

  figures(): FailureFigures {
    const steps = [...this.#runs.values()].filter(({ counted }) => counted).map((run) => run.steps);
    const sums = [...this.#tools.values()];
    const failures = sums.flatMap((tool) => tool.failureCounts());
    const tools = [...this.#tools].map(([tool, sum]) => ({
      tool,
      ...figuresOf([sum]),
      failures: byCount(sum.failureCounts()),
      failingPaths: byCount([...sum.paths].map(([path, count]) => ({ path, count }))),
    }));
    return {
      runs: steps.length,
      ...(steps.length > 0 && {
        stepsPerRun: { mean: mean(steps), p50: percentile(steps, 0.5), max: steps.reduce((a, b) => Math.max(a, b)) },
      }),
      all: figuresOf(sums),
      tools: tools.sort((a, b) => failuresOf(b) - failuresOf(a) || b.calls - a.calls || (a.tool < b.tool ? -1 : 1)),
      families: countBy(failures, 'family'),
      classes: countBy(failures, 'class'),
      codes: countBy(failures, 'code'),
      hiddenRetries: this.#owners.figures(),
      hours: [...this.#hours].map(([startMs, hour]) => ({ startMs, ...hour })).sort((a, b) => a.startMs - b.startMs),
    };
  }
}

class ToolSums {
  readonly verdicts = { succeeded: 0, partial: 0, failed: 0, aborted: 0, notRun: 0 };
  readonly durations: number[] = [];
  readonly failures = new Map<string, FailureCount>();
  readonly paths = new Map<string, number>();
  attempts = 0;
  attemptsSeen = 0;
  startsSeen = 0;
  correctable = 0;
  corrected = 0;

  addEnd(row: LedgerRow, outcome: Outcome, verdict: keyof ToolSums['verdicts']): void {
    this.verdicts[verdict] += 1;
    if ('failure' in outcome) this.#addFailure(outcome.failure);
    if (verdict === 'notRun' || row.starts === 0) return;
    this.attempts += row.starts;
    this.durations.push(outcome.elapsedMs);
  }

  addSeen(attempts: readonly AttemptRecord[]): void {
    for (const { requests } of attempts) {
      const seen = attemptsSeen(requests);
      if (seen === undefined) continue;
      this.attemptsSeen += seen;
      this.startsSeen += 1;
    }
  }

  #addFailure({ class: name, code, invalidPaths = [] }: Failure): void {
    const place = JSON.stringify([name, code]);
    const known = this.failures.get(place) ?? { class: name, family: failureClasses[name].family, code, count: 0 };
    this.failures.set(place, { ...known, count: known.count + 1 });
    // One call counts once, however many items of a list are wrong in it.
    for (const path of new Set(invalidPaths.map(withoutIndexes))) this.paths.set(path, (this.paths.get(path) ?? 0) + 1);
  }

  failureCounts(): FailureCount[] {
    return [...this.failures.values()];
  }
}

function figuresOf(sums: readonly ToolSums[]): CallFigures {
  const sum = (pick: (tool: ToolSums) => number): number => sums.reduce((total, tool) => total + pick(tool), 0);
  const succeeded = sum(({ verdicts }) => verdicts.succeeded);
  const partial = sum(({ verdicts }) => verdicts.partial);
  const failed = sum(({ verdicts }) => verdicts.failed);
  const aborted = sum(({ verdicts }) => verdicts.aborted);
  const calls = succeeded + partial + failed + aborted;
  const durations = sums.flatMap((tool) => tool.durations);
  const attempts = sum((tool) => tool.attempts);
  const correctable = sum((tool) => tool.correctable);
  const corrected = sum((tool) => tool.corrected);
  return {
    calls,
    succeeded,
    partial,
    failed,
    aborted,
    notRun: sum(({ verdicts }) => verdicts.notRun),
    ...(calls > 0 && { successRate: (succeeded + partial) / calls }),
    ...(durations.length > 0 && { p50Ms: percentile(durations, 0.5), p99Ms: percentile(durations, 0.99) }),
    attempts,
    attemptsSeen: sum((tool) => tool.attemptsSeen),
    startsSeen: sum((tool) => tool.startsSeen),
    ...(durations.length > 0 && { attemptsPerCall: attempts / durations.length }),
    correctable,
    corrected,
    ...(correctable > 0 && { selfCorrectionRate: corrected / correctable }),
  };
}

/** `/items/3/sku` and `/items/4/sku` are one mistake. */
function withoutIndexes(path: string): string {
  return path.replace(/\/\d+(?=\/|$)/g, '/*');
}

function failuresOf({ failed, aborted }: CallFigures): number {
  return failed + aborted;
}

function byCount<T extends { count: number }>(counts: T[]): T[] {
  return counts.sort((a, b) => b.count - a.count || (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
}

function countBy<K extends 'family' | 'class' | 'code'>(
  failures: readonly FailureCount[],
  field: K,
): ({ count: number } & Pick<FailureCount, K>)[] {
  const counts = new Map<FailureCount[K], number>();
  for (const failure of failures) counts.set(failure[field], (counts.get(failure[field]) ?? 0) + failure.count);
  return byCount(
    [...counts].map(([name, count]) => ({ [field]: name, count }) as { count: number } & Pick<FailureCount, K>),
  );
}
