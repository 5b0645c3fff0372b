import type { AnsweredCall, Outcome } from '../contract/call.js';

/** What the next model turn needs of a call's end: where its message is stored, or the refusal that is to be stored. */
export function answeredCall(outcome: Outcome): AnsweredCall {
  const { callId, key } = outcome;
  return { callId, key, ...(outcome.refusedByWorkflow ? { refused: outcome } : {}) };
}
