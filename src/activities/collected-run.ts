import { collectedText } from '../store/collected-text.js';
import type { Store } from '../store/store.js';
import { StoreError } from '../store/store-error.js';
import { isNotReady, misuse } from '../temporal/failure-mapper.js';

/**
 * A run that was collected is gone for good. An attempt that needs it (a retry that waited for a worker, a reset) ends its
 * activity at once and says so, instead of being repeated for days because the store does not hold what it asks for.
 */
export async function unlessCollected<T>(store: Store, runKey: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof StoreError || isNotReady(error))) throw error;
    // Where the store does not say, what was thrown stands.
    const tombstone = await store.getTombstone(runKey).catch(() => undefined);
    if (!tombstone) throw error;
    throw misuse(`the ${collectedText(tombstone)}; nothing of it can run again. Start a new run`);
  }
}
