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
  const { call, manifestHash } = input;
  requireStore(services.store, input.storeId);
  const tool = await manifests.tool(manifestHash, call.tool);
  const recorder = new CallRecorder({ services, input, tool, live: services.tools.get(call.tool) });
  return await recorder.seal({ ifNone: failureFor(input, 'none'), ifUnknown: failureFor(input, 'unknown') });
}

function failureFor(input: SettleCallInput, effectState: 'none' | 'unknown'): ClassifiedFailure {
  if (input.reason === 'cancelled') return { class: 'cancelled', effectState };
  if (effectState === 'unknown') return { class: 'outcome_unknown', effectState, reason: 'no worker answered in time' };
  return { class: 'timeout', effectState, reason: 'no worker took the call in time' };
}
