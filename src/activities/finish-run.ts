import type { FinishRunInput } from '../contract/activities.js';
import type { RecordedOutcome } from '../store/records.js';
import { StoreError } from '../store/store-error.js';
import { asLatest } from './asking-execution.js';
import { CallRecorder } from './call-recorder.js';
import type { Services } from './services.js';
import { requireStore } from './store-identity.js';

/**
 * Writes the run's end, and the outcomes that the workflow refused in its last step. Idempotent. An attempt that was stopped
 * in its middle and arrives after a person had the run go on changes nothing. A store that has lost the run keeps nobody from
 * ending it: the workflow itself has the result.
 */
export async function finishRun(services: Services, input: FinishRunInput): Promise<void> {
  requireStore(services.store, input.storeId);
  const { runKey, result, head } = input;
  const refused = refusedOutcomes(services, input);
  try {
    await asLatest(services, runKey, (by) =>
      services.store.finishRun(runKey, result, { ...(by && { by }), ...(head === undefined ? {} : { head }), refused }),
    );
    services.metrics.runEnded(result);
  } catch (error) {
    if (!(error instanceof StoreError) || error.code !== 'missing_run') throw error;
    services.log.error('the end of a run could not be stored', { run_key: input.runKey, error: error.message });
  }
}

/**
 * What the workflow refused without running anything, as it is stored: worded like any other failure, in the tool's own
 * language and with its alternatives, which the workflow does not know.
 */
export function refusedOutcomes(
  services: Services,
  { runKey, answered }: Pick<FinishRunInput, 'runKey' | 'answered'>,
): RecordedOutcome[] {
  return answered.flatMap(({ refused }) => {
    if (!refused || !('failure' in refused)) return [];
    const { refusedByWorkflow: _refusedByWorkflow, refusalReason: reason, ...outcome } = refused;
    const { callId, tool, key, failure } = outcome;
    const recorder = new CallRecorder({
      services,
      input: { call: { callId, tool, key, runKey, digest: '' } },
      tool: services.manifest.tools.find((candidate) => candidate.name === tool),
      live: services.tools.get(tool),
    });
    const worded = recorder.describe(
      {
        class: failure.class,
        effectState: failure.effectState,
        ...(reason === undefined ? {} : { reason, public: true }),
        ...(failure.retryAfterMs === undefined ? {} : { retryAfterMs: failure.retryAfterMs }),
      },
      undefined,
    );
    const recorded = recorder.recorded({ ...outcome, failure: worded });
    recorder.logOutcome(recorded.outcome);
    return [recorded];
  });
}
