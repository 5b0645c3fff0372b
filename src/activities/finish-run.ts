import type { AnsweredCall, FinishRunInput } from '../contract/activities.js';
import { renderOutcome } from '../policy/render-outcome.js';
import type { RecordedOutcome } from '../store/store.js';
import { StoreError } from '../store/store.js';
import type { Services } from './services.js';
import { requireStore } from './store-identity.js';

/**
 * Writes the run's end, and the outcomes that the workflow refused in its last step. Idempotent. A store that has lost the
 * run keeps nobody from ending it: the workflow itself has the result.
 */
export async function finishRun(services: Services, input: FinishRunInput): Promise<void> {
  requireStore(services.store, input.storeId);
  await services.store.recordOutcomes(refusedOutcomes(input.runKey, input.answered));
  try {
    await services.store.finishRun(input.runKey, input.result);
  } catch (error) {
    if (!(error instanceof StoreError) || error.code !== 'missing_run') throw error;
    services.log.error('the end of a run could not be stored', { run_key: input.runKey, error: error.message });
  }
}

/** What the workflow refused without running anything, as it is stored: worded once, like any other outcome. */
export function refusedOutcomes(runKey: string, answered: AnsweredCall[]): RecordedOutcome[] {
  return answered.flatMap(({ key, callId, refused }) => {
    if (!refused) return [];
    const { refusedByWorkflow: _refusedByWorkflow, ...outcome } = refused;
    return [
      {
        key,
        runKey,
        callId,
        tool: outcome.tool,
        digest: '',
        outcome: outcome,
        rendered: { content: renderOutcome(outcome), failed: true },
      },
    ];
  });
}
