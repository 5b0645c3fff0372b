import type { Store } from '../store/store.js';
import { PerdureError } from './perdure-error.js';

/**
 * Rejects with `run_not_found` where garbage collection has taken the run, also where some of its rows can still be read: an
 * older version's collection may have been stopped in its middle. Nothing of such a run can go on.
 */
export async function refuseCollectedRun(store: Store, runKey: string | undefined): Promise<void> {
  const tombstone = runKey === undefined ? undefined : await store.getTombstone(runKey);
  if (!tombstone) return;
  const day = new Date(tombstone.collectedAtMs).toISOString().slice(0, 10);
  throw new PerdureError(
    'run_not_found',
    `The run ${tombstone.workflowId} had ended and was collected on ${day}, with the record of its calls.`,
    { next: 'Nothing of it can run again. Start a new run: perdure run "…"' },
  );
}
