import { setCurrentDetails, upsertSearchAttributes } from '@temporalio/workflow';
import { defineSearchAttributeKey } from '@temporalio/common';
import type { FailureClass } from '../contract/failure.js';
import type { CarriedRun, RunStatus } from '../contract/run.js';
import { utf8Bytes } from './utf8-bytes.js';

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
    // Only the run's own tools: a model may make up any number of names, of any length.
    const known = tools.filter((name) => state.manifest.tools.some((tool) => tool.name === name));
    const newTools = addNew(state.seenTools, known);
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

/**
 * A search attribute's value may have 2,048 bytes (`limit.searchAttributesSizeOfValueLimit` of the server); a larger one
 * fails the workflow task for ever. The rest is room for the encoding.
 */
const maxValueBytes = 1_800;

/** Adds the names that are new while there is room for them; those beyond are not listed. */
function addNew(seen: string[], names: string[]): boolean {
  const before = seen.length;
  for (const name of new Set(names)) {
    if (!seen.includes(name) && utf8Bytes(JSON.stringify([...seen, name])) <= maxValueBytes) seen.push(name);
  }
  return seen.length > before;
}

function ofLimit(limit: number | null): string {
  return limit === null ? '' : ` of ${limit}`;
}
