import { idempotencyKey } from '../policy/idempotency-key.js';
import type { PreparedCalls, PreparedOrRefused } from './prepare-calls.js';

/** A call that an earlier take of the same step asked for. */
export interface FormerCall {
  callId: string;
  tool: string;
  digest: string;
}

/**
 * Call ids for a step that the model is asked for once more. A call that an earlier take asked for as well (the same tool with
 * the same arguments, wherever it stands now) keeps its id, and with it its key: what it did is returned, never done again. Any
 * other call gets an id that no earlier take has used, so that no two calls share one. Changes nothing where no take came
 * before.
 */
export function keepFormerIds(
  calls: PreparedCalls,
  former: readonly FormerCall[],
  { runKey, step }: { runKey: string; step: number },
): PreparedCalls {
  if (former.length === 0) return calls;
  const unused = new Map(former.map((call) => [call.callId, call]));
  const taken = new Set(unused.keys());
  const kept = calls.prepared.map((prepared) => {
    const { tool, digest } = identityOf(prepared);
    const same = [...unused.values()].find((call) => call.tool === tool && call.digest === digest);
    if (same) unused.delete(same.callId);
    return same?.callId;
  });
  let next = 0;
  const fresh = (): string => {
    while (taken.has(`c${step}.${next}`)) next += 1;
    const callId = `c${step}.${next}`;
    taken.add(callId);
    return callId;
  };
  const ids = kept.map((callId) => callId ?? fresh());
  return {
    recorded: calls.recorded.map((recorded, index) => ({ ...recorded, callId: ids[index] as string })),
    prepared: calls.prepared.map((prepared, index) => withId(prepared, runKey, ids[index] as string)),
  };
}

function identityOf(prepared: PreparedOrRefused): { tool: string; digest: string } {
  return prepared.status === 'ready' ? prepared.call : prepared;
}

function withId(prepared: PreparedOrRefused, runKey: string, callId: string): PreparedOrRefused {
  const { tool, digest } = identityOf(prepared);
  const key = idempotencyKey({ runKey, callId, tool: tool.toWellFormed(), digest });
  if (prepared.status === 'ready') return { ...prepared, call: { ...prepared.call, callId, key } };
  return { ...prepared, callId, key };
}
