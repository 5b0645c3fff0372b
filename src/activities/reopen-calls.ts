import type { TakenBack } from '../contract/intervention.js';
import type { ReopenedCall } from '../policy/resume-run.js';
import type { Intervening } from '../store/records.js';

/** A call changed between reading and writing: another look is due at once. */
export const changedMeanwhileMs = 200;

/** A call that runs again, as the store changes it and as its intervention records it. */
export function reopening({ key, call, asOfMs }: ReopenedCall): Intervening['ledger'][number] {
  return { key, event: { type: 'reopen', call, asOfMs } };
}

export function takenBack({ key, call, outcome }: ReopenedCall): TakenBack {
  return { callId: call.callId, key, ...(outcome ? { outcome } : {}) };
}
