import type { SettleCallInput } from '../contract/activities.js';
import type { Outcome } from '../contract/call.js';
import type { ClassifiedFailure } from '../contract/failure.js';
import { CallRecorder } from './call-recorder.js';
import type { ManifestCache, Services } from './services.js';
import { requireStore } from './store-identity.js';

/**
 * Ends a call whose activity ended without an outcome (cancelled, or out of days): returns what the ledger holds, or
 * seals the row, so that what the workflow records and what the ledger says agree and a late result changes nothing.
 */
export async function settleCall(
  services: Services,
  manifests: ManifestCache,
  input: SettleCallInput,
): Promise<Outcome> {
  const { call } = input;
  requireStore(services.store, input.storeId);
  const tool = await manifests.tool(input.manifestHash, call.tool);
  const recorder = new CallRecorder({ services, input, tool, live: services.tools.get(call.tool) });
  const ifNone = recorder.failed(failureFor(input, 'none'), undefined);
  const ifUnknown = recorder.failed(failureFor(input, 'unknown'), undefined);
  const verdict = await services.store.applyLedger(
    call.key,
    {
      type: 'seal',
      call: {
        runKey: call.runKey,
        callId: call.callId,
        tool: call.tool,
        digest: call.digest,
        effect: tool?.policy.effect ?? { kind: 'once' },
      },
      ifNone,
      ifUnknown,
    },
    { ifNone: recorder.render(ifNone), ifUnknown: recorder.render(ifUnknown) },
  );
  if (verdict.type !== 'settled') throw new TypeError(`sealing ${call.key} gave ${verdict.type}`);
  return verdict.outcome;
}

function failureFor(input: SettleCallInput, effectState: 'none' | 'unknown'): ClassifiedFailure {
  if (input.reason === 'cancelled') return { class: 'cancelled', effectState };
  if (effectState === 'unknown') return { class: 'outcome_unknown', effectState, reason: 'no worker answered in time' };
  return { class: 'timeout', effectState, reason: 'no worker took the call in time' };
}
