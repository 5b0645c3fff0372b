/** How a person's decision about a run is told to the model. */
import type { ClassifiedFailure } from '../contract/failure.js';
import type { LedgerRow } from '../contract/ledger.js';

/** At most so many calls are named; the rest are counted. */
const namedCalls = 20;

/** For a model that is asked anew: what its answer that was set aside has already done. `undefined` where that is nothing. */
export function setAsideText(done: readonly Pick<LedgerRow, 'callId' | 'tool'>[]): string | undefined {
  if (done.length === 0) return undefined;
  const named = done.slice(0, namedCalls).map(({ callId, tool }) => `${tool} (${callId})`);
  const more = done.length > namedCalls ? ` and ${done.length - namedCalls} more` : '';
  return (
    `Note from the operator: an earlier answer of yours at this point was set aside. What it asked for was already done and ` +
    `stays done: ${named.join(', ')}${more}. Asking for exactly the same call gives its recorded result.`
  );
}

/** For a call whose unknown outcome the model has read already. */
export function resolutionText(call: Pick<LedgerRow, 'callId' | 'tool'>, happened: boolean, note?: string): string {
  const said = note === undefined || note.trim() === '' ? '' : ` They add: ${note.trim()}`;
  const what = happened
    ? 'it did happen. Do not repeat it.'
    : 'it did not happen. If it is still wanted, you may make the call again.';
  return `Note from the operator: a person found out about ${call.tool} (${call.callId}), whose outcome was unknown: ${what}${said}`;
}

/** What a call ends with of which a person knows that it did not happen. */
export function didNotHappen(note?: string): ClassifiedFailure {
  const said = note === undefined || note.trim() === '' ? '' : `: ${note.trim()}`;
  return {
    class: 'skipped',
    effectState: 'none',
    reason: `its answer was lost, and a person found that it did not happen${said}`,
    public: true,
    hint: 'If it is still wanted, make the call again.',
  };
}
