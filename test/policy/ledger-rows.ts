import type { Outcome } from '../../src/contract/call.js';
import type { Effect, EffectState } from '../../src/contract/effect.js';
import type { FailureClass } from '../../src/contract/failure.js';
import type { LedgerCall, LedgerEvent, LedgerRow } from '../../src/contract/ledger.js';
import { ledgerTransition } from '../../src/policy/ledger.js';

export const LEASE_MS = 1_000;
export const GRACE_MS = 200;
export const KEY_TTL_MS = 10_000;

export const ONCE: Effect = { kind: 'once' };
export const READ: Effect = { kind: 'read' };
export const KEYED: Effect = { kind: 'idempotent', by: 'key', keyTtlMs: KEY_TTL_MS };
export const NATURE: Effect = { kind: 'idempotent', by: 'nature' };

export function callOf(effect: Effect, digest = 'd1'): LedgerCall {
  return { runKey: 'run-1', callId: 'c1.0', tool: 'refund_payment', digest, effect };
}

export function failureOf(failureClass: FailureClass, effectState: EffectState): Outcome {
  const base = { callId: 'c1.0', tool: 'refund_payment', key: 'k1:1', attempts: 1, elapsedMs: 5 };
  const failure = { class: failureClass, code: 'X', effectState, retryable: false, message: 'no', suggestedAction: '' };
  return { ...base, status: 'failed', failure };
}

export function outcomeOf(result: string, status: 'succeeded' | 'failed' = 'succeeded'): Outcome {
  const base = { callId: 'c1.0', tool: 'refund_payment', key: 'k1:1', attempts: 1, elapsedMs: 5 };
  if (status === 'succeeded') return { ...base, status, result: { inline: result } };
  const failure = { class: 'tool_error', code: 'TOOL_FAILED_001', effectState: 'unknown', retryable: false } as const;
  return { ...base, status, failure: { ...failure, message: result, suggestedAction: 'Ask a person.' } };
}

/** The events of one call by short names. */
export function eventsOf(effect: Effect) {
  const call = callOf(effect);
  return {
    claim: (token: string): LedgerEvent => ({ type: 'claim', call, token, leaseMs: LEASE_MS, graceMs: GRACE_MS }),
    begin: (token: string): LedgerEvent => ({ type: 'begin', call, token, leaseMs: LEASE_MS }),
    renew: (token: string): LedgerEvent => ({ type: 'renew', token, leaseMs: LEASE_MS }),
    fenced: (token: string): LedgerEvent => ({ type: 'fenced', token }),
    end: (token: string, ended: 'none' | 'unknown', waitMs = 0): LedgerEvent => {
      return { type: 'end', token, effect: ended, waitMs };
    },
    giveBack: (token: string): LedgerEvent => ({ type: 'giveBack', token }),
    settle: (token: string, outcome = outcomeOf(`by ${token}`)): LedgerEvent => ({ type: 'settle', token, outcome }),
    reopen: (): LedgerEvent => ({ type: 'reopen', call }),
    resolve: (happened: boolean): LedgerEvent => {
      return { type: 'resolve', happened, outcome: happened ? outcomeOf('found') : failureOf('skipped', 'none') };
    },
    seal: (): LedgerEvent => {
      return { type: 'seal', call, ifNone: outcomeOf('none', 'failed'), ifUnknown: outcomeOf('unknown', 'failed') };
    },
  };
}

/** One row and its clock, to which events are applied in turn. */
export class LedgerBench {
  row: LedgerRow | undefined;
  nowMs = 100_000;

  apply(event: LedgerEvent) {
    const { write, verdict } = ledgerTransition('k1:1', this.row, event, this.nowMs);
    if (write) this.row = write;
    return verdict;
  }

  /** Applies all events and returns the verdicts' types. */
  types(...events: LedgerEvent[]): string[] {
    return events.map((event) => this.apply(event).type);
  }
}
