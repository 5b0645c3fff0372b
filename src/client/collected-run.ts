import { collectedText } from '../store/collected-text.js';
import type { Store } from '../store/store.js';
import { PerdureError } from './perdure-error.js';

/**
 * Rejects with `run_not_found` where garbage collection has taken the run, also where some of its rows can still be read: an
 * older version's collection may have been stopped in its middle. Nothing of such a run can go on.
 */
export async function refuseCollectedRun(store: Store, runKey: string | undefined): Promise<void> {
  const tombstone = runKey === undefined ? undefined : await store.getTombstone(runKey);
  if (!tombstone) return;
  throw new PerdureError('run_not_found', `The ${collectedText(tombstone)}.`, {
    next: 'Nothing of it can run again. Start a new run: perdure run "…"',
  });
}
