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
 * Which outcomes somebody is told of at once. Counts in memory what it is shown, so each worker alerts on its own calls. A
 * rate alerts once, and again after it has been at the threshold or below; a run alerts once.
 */
export class AlertRules {
  readonly #tools = new Map<string, { failed: boolean[]; alerted: boolean }>();
  readonly #runs = new Map<string, number>();

  add(outcome: Outcome, runKey: string): Alert[] {
    // A cancelled run aborts its calls on purpose, and what was skipped never ran.
    if (outcome.status === 'pending') return [];
    if ('failure' in outcome && ['cancelled', 'skipped'].includes(outcome.failure.class)) return [];
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
    if (failed && this.#addToRun(runKey) === alertDefaults.failuresInRun + 1) {
      alerts.push({ rule: 'run_failures', text: `more than ${alertDefaults.failuresInRun} calls of the run failed` });
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

  #addToRun(runKey: string): number {
    const failures = (this.#runs.get(runKey) ?? 0) + 1;
    this.#runs.set(runKey, failures);
    const oldest = this.#runs.keys().next().value;
    if (this.#runs.size > MOST_RUNS && oldest !== undefined) this.#runs.delete(oldest);
    return failures;
  }
}
