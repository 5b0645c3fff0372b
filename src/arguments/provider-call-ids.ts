import type { RawToolCall } from '../models/model.js';
import { digestOf } from '../policy/idempotency-key.js';

/**
 * The ids under which a turn's calls go back to the provider: its own where it gave one that was not used before in the
 * conversation, else one made from run, turn and index, so that a replay makes the same. Providers refuse empty ids, and
 * results of two calls under one id overwrite each other.
 */
export function providerCallIds(
  calls: readonly RawToolCall[],
  turn: { runKey: string; step: number; isUsed: (providerCallId: string) => boolean },
): string[] {
  const given = calls.map(({ providerCallId }) => (typeof providerCallId === 'string' ? providerCallId : ''));
  // An id that is made up must not meet one that a later call of the turn brings along.
  const taken = new Set(given);
  const mine = new Set<string>();
  return given.map((id, index) => {
    const isFree = id.trim() !== '' && !turn.isUsed(id) && !mine.has(id);
    const own = isFree ? id : madeUp(turn, index, taken);
    mine.add(own);
    taken.add(own);
    return own;
  });
}

/** 29 characters of `[a-z0-9_]`: within the limits of the providers that have some (40 at the least). */
function madeUp(
  turn: { runKey: string; step: number; isUsed: (providerCallId: string) => boolean },
  index: number,
  taken: ReadonlySet<string>,
): string {
  for (let again = 0; ; again++) {
    const id = `call_${digestOf([turn.runKey, turn.step, index, again]).slice(0, 24)}`;
    if (!taken.has(id) && !turn.isUsed(id)) return id;
  }
}
