import type { Effect } from '../contract/effect.js';
import { assertNever } from '../contract/json.js';
import type { LedgerRow } from '../contract/ledger.js';
import type { ToolPolicy } from '../contract/manifest.js';

/**
 * The policy by which a call's starts are judged where its tool may have been deployed with another effect since the call's
 * row was written: the ledger refuses a start by the row's effect, and whoever now declares a stricter one is believed.
 * Without a row it is the tool's.
 */
export function policyOf(row: Pick<LedgerRow, 'effect'> | undefined, policy: ToolPolicy): ToolPolicy {
  return row ? { ...policy, effect: stricterEffect(row.effect, policy.effect) } : policy;
}

/** The one of two effects of which fewer repetitions are safe; of two keyed ones, the one whose key is forgotten sooner. */
export function stricterEffect(one: Effect, other: Effect): Effect {
  return repeatableForMs(one) <= repeatableForMs(other) ? one : other;
}

/** How long after its first start a call may be repeated, milliseconds. A read is milder still than what is repeatable. */
function repeatableForMs(effect: Effect): number {
  switch (effect.kind) {
    case 'once':
      return -1;
    case 'idempotent':
      return effect.by === 'key' ? effect.keyTtlMs : Number.MAX_VALUE;
    case 'read':
      return Infinity;
    default:
      return assertNever(effect);
  }
}
