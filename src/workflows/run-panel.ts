import { setCurrentDetails, upsertSearchAttributes } from '@temporalio/workflow';
import { defineSearchAttributeKey } from '@temporalio/common';
import type { FailureClass } from '../contract/failure.js';
import type { CarriedRun, RunStatus } from '../contract/run.js';

const statusKey = defineSearchAttributeKey('PerdureStatus', 'KEYWORD');
const toolsKey = defineSearchAttributeKey('PerdureTools', 'KEYWORD_LIST');
const failureClassesKey = defineSearchAttributeKey('PerdureFailureClasses', 'KEYWORD_LIST');

/**
 * What the Temporal UI shows of a run: a details panel, and search attributes. Search attributes are written only on a
 * change of status and on a tool or class not seen before, since each write costs an event; and not at all where the
 * server does not know them, since that would fail the workflow task for ever.
 */
export class RunPanel {
  readonly #searchAttributes: boolean;

  constructor(searchAttributes: boolean) {
    this.#searchAttributes = searchAttributes;
  }

  statusChanged(status: RunStatus): void {
    if (this.#searchAttributes) upsertSearchAttributes([{ key: statusKey, value: status }]);
  }

  stepEnded(state: CarriedRun, tools: string[], classes: FailureClass[]): void {
    const newTools = addNew(state.seenTools, tools);
    const newClasses = addNew(state.seenFailureClasses, classes);
    if (!this.#searchAttributes) return;
    const changed = [
      ...(newTools ? [{ key: toolsKey, value: [...state.seenTools] }] : []),
      ...(newClasses ? [{ key: failureClassesKey, value: [...state.seenFailureClasses] }] : []),
    ];
    if (changed.length > 0) upsertSearchAttributes(changed);
  }

  show(state: CarriedRun, now: string): void {
    const { counters, limits } = state;
    const failing = Object.entries(state.consecutiveFailures).map(([tool, count]) => `${tool} (${count} in a row)`);
    setCurrentDetails(
      [
        `**Step ${counters.steps}${ofLimit(limits.steps)}** — ${now}`,
        '',
        `- calls: ${counters.calls}${ofLimit(limits.calls)}, failed: ${counters.failures}${ofLimit(limits.failures)}`,
        `- tokens: ${counters.inputTokens + counters.outputTokens}${ofLimit(limits.tokens)}`,
        ...(counters.costUsd > 0 ? [`- cost: $${counters.costUsd.toFixed(4)}${ofLimit(limits.costUsd)}`] : []),
        ...(failing.length > 0 ? [`- failing now: ${failing.join(', ')}`] : []),
      ].join('\n'),
    );
  }
}

/** At most as many names as a search attribute sensibly holds; names beyond are not listed. */
const maxNames = 50;

function addNew(seen: string[], names: string[]): boolean {
  const fresh = [...new Set(names)].filter((name) => !seen.includes(name)).slice(0, maxNames - seen.length);
  seen.push(...fresh);
  return fresh.length > 0;
}

function ofLimit(limit: number | null): string {
  return limit === null ? '' : ` of ${limit}`;
}
