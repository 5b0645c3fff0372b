import type { AnsweredCall, FinishRunInput } from '../contract/activities.js';
import { renderOutcome } from '../policy/render-outcome.js';
import type { RecordedOutcome } from '../store/store.js';
import type { Services } from './services.js';
import { requireStore } from './store-identity.js';

/** Writes the run's end, and the outcomes that the workflow refused in its last step. Idempotent. */
export async function finishRun(services: Services, input: FinishRunInput): Promise<void> {
  requireStore(services.store, input.storeId);
  await services.store.recordOutcomes(refusedOutcomes(input.runKey, input.answered));
  await services.store.finishRun(input.runKey, input.result);
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
