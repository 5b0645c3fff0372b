import { notReady } from '../temporal/failure-mapper.js';
import type { Store } from '../store/store.js';

/** How long a misplaced activity waits before it is offered again, maybe to a worker with the right store. */
const misplacedDelayMs = 5_000;

/**
 * A worker with another store would find an empty ledger and run everything again, so it refuses. Retryable: another
 * worker of the queue may have the right store.
 */
export function requireStore(store: Store, storeId: string): void {
  if (store.storeId === storeId) return;
  throw notReady(
    `this worker's store (${store.storeId}) is not the run's (${storeId}). Nothing was run. ` +
      'Start the worker with the store that the run began with, or give it a task queue of its own.',
    misplacedDelayMs,
  );
}

/** A call runs only where its own step is found: in a store that lost writes, an empty ledger proves nothing. */
export async function requireStep(store: Store, runKey: string, stepNode: string): Promise<void> {
  const found = stepNode === '' ? await store.getRun(runKey) : await store.getNode(stepNode);
  if (found) return;
  const missing = stepNode === '' ? `run ${runKey}` : `node ${stepNode}`;
  throw notReady(
    `the store does not hold ${missing}, which asked for this call, so it has lost writes or was replaced. ` +
      'Nothing was run. Restore the store, or cancel the run.',
    misplacedDelayMs,
  );
}
