import type { PreparedCall } from '../contract/call.js';

/** The key of a call as a turn holds it, whether it can run or has its answer. */
export function keyOf(prepared: PreparedCall): string {
  return prepared.status === 'ready' ? prepared.call.key : prepared.outcome.key;
}

export function callIdOf(prepared: PreparedCall): string {
  return prepared.status === 'ready' ? prepared.call.callId : prepared.callId;
}
