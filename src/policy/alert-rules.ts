import type { Outcome } from '../contract/call.js';

/** Issue 5: a tool that fails in more than one call of ten is broken; fewer than 20 calls say little. */
export const alertDefaults = { failureRate: 0.1, minimumCalls: 20, failuresInRun: 5 } as const;

/** The last calls of a tool that its rate is taken of, so that yesterday's successes hide no failure of today. */
const WINDOW_CALLS = 100;
/** Runs that are counted at once; the one counted first is forgotten first. */
const MOST_RUNS = 10_000;

export type AlertRule = 'tool_failure_rate' | 'run_failures' | 'aborted' | 'security_violation';

export interface Alert {
  rule: AlertRule;
  text: string;
}

/**
 * Which outcomes somebody is told of at once, and whether a tool fails too often. A rate is that of the calls that it was
 * shown, which are one worker's; it alerts once, and again after it has been at the threshold or below. How many calls of
 * a run failed is `RunFailures`' matter, because a run's calls are spread over workers.
 */
export class AlertRules {
  readonly #tools = new Map<string, { failed: boolean[]; alerted: boolean }>();

  add(outcome: Outcome): Alert[] {
    if (saysNothing(outcome)) return [];
    const failed = 'failure' in outcome;
    const alerts: Alert[] = [];
    if (failed && outcome.status === 'aborted') {
      const rule = outcome.failure.class === 'security_violation' ? 'security_violation' : 'aborted';
      alerts.push({ rule, text: `${outcome.tool} ended as ${outcome.failure.class}` });
    }
    const rate = this.#addToTool(outcome.tool, failed);
    if (rate !== undefined) {
      alerts.push({
        rule: 'tool_failure_rate',
        text: `${(rate * 100).toFixed(0)} % of the last calls of ${outcome.tool} failed`,
      });
    }
    return alerts;
  }

  #addToTool(name: string, failed: boolean): number | undefined {
    const tool = this.#tools.get(name) ?? { failed: [], alerted: false };
    this.#tools.set(name, tool);
    tool.failed.push(failed);
    if (tool.failed.length > WINDOW_CALLS) tool.failed.shift();
    const rate = tool.failed.filter(Boolean).length / tool.failed.length;
    const above = tool.failed.length >= alertDefaults.minimumCalls && rate > alertDefaults.failureRate;
    const alerts = above && !tool.alerted;
    tool.alerted = above;
    return alerts ? rate : undefined;
  }
}

/** A cancelled run aborts its calls on purpose, and what was skipped never ran. */
function saysNothing(outcome: Outcome): boolean {
  return (
    outcome.status === 'pending' || ('failure' in outcome && ['cancelled', 'skipped'].includes(outcome.failure.class))
  );
}

/** What a run's failures amount to once somebody has asked the store for those of other workers. */
export type RunVerdict = { type: 'few' } | { type: 'told' } | { type: 'many'; alert: Alert };

/**
 * Failed calls of runs: those shown here, which the store may not hold yet, together with those that the store knows, of
 * whichever worker. A run alerts once.
 */
export class RunFailures {
  readonly #runs = new Map<string, { seen: Set<string>; told: boolean }>();

  /** Whether the store has to be asked about the call's run. */
  add(outcome: Outcome, runKey: string): boolean {
    if (saysNothing(outcome) || !('failure' in outcome)) return false;
    const run = this.#runs.get(runKey) ?? { seen: new Set<string>(), told: false };
    this.#runs.set(runKey, run);
    if (run.seen.size <= alertDefaults.failuresInRun) run.seen.add(outcome.key);
    const oldest = this.#runs.keys().next().value;
    if (this.#runs.size > MOST_RUNS && oldest !== undefined) this.#runs.delete(oldest);
    return !run.told;
  }

  /** `stored` are keys of failed calls that the store knows of the run. */
  judge(runKey: string, stored: readonly string[]): RunVerdict {
    const run = this.#runs.get(runKey) ?? { seen: new Set<string>(), told: false };
    if (run.told) return { type: 'told' };
    const failures = new Set([...run.seen, ...stored]);
    if (failures.size <= alertDefaults.failuresInRun) return { type: 'few' };
    run.told = true;
    const text = `more than ${alertDefaults.failuresInRun} calls of the run failed`;
    return { type: 'many', alert: { rule: 'run_failures', text } };
  }
}
