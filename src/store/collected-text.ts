import type { Tombstone } from './records.js';

/** What became of a run that was collected, in words that stand after "the" or "The". */
export function collectedText({
  workflowId,
  runKey,
  collectedAtMs,
}: Pick<Tombstone, 'workflowId' | 'runKey' | 'collectedAtMs'>): string {
  const day = new Date(collectedAtMs).toISOString().slice(0, 10);
  return `run ${workflowId} (${runKey}) had ended and was collected on ${day}, with the record of its calls`;
}
