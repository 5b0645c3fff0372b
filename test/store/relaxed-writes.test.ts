import { expect, test } from 'vitest';
import type { Effect } from '../../src/contract/effect.js';
import type { LedgerEvent } from '../../src/contract/ledger.js';
import { isRelaxed } from '../../src/store/relaxed-writes.js';

const call = (effect: Effect) => ({ runKey: 'r', callId: 'c1.0', tool: 't', digest: 'd', effect });
const begin = (effect: Effect): LedgerEvent => ({ type: 'begin', call: call(effect), token: 'a', leaseMs: 1 });

test('the start of a body that has an effect waits for the disk, that of a read does not', () => {
  expect(isRelaxed('applyLedger', ['k', begin({ kind: 'once' })])).toBe(false);
  expect(isRelaxed('applyLedger', ['k', begin({ kind: 'idempotent', by: 'nature' })])).toBe(false);
  expect(isRelaxed('applyLedger', ['k', begin({ kind: 'idempotent', by: 'key', keyTtlMs: 1 })])).toBe(false);
  expect(isRelaxed('applyLedger', ['k', begin({ kind: 'read' })])).toBe(true);
});

test('all that tells how a call or a turn ended waits for the disk', () => {
  const ends: LedgerEvent[] = [
    { type: 'end', token: 'a', effect: 'none', waitMs: 0 },
    { type: 'giveBack', token: 'a' },
    { type: 'fenced', token: 'a' },
  ];
  for (const event of ends) expect(isRelaxed('applyLedger', ['k', event])).toBe(false);
  for (const method of [
    'commitTurn',
    'recordOutcomes',
    'recordAttempt',
    'createRun',
    'finishRun',
    'putBody',
  ] as const) {
    expect(isRelaxed(method, [])).toBe(false);
  }
});

test('claims, renewals, shared state and starts of turns do not', () => {
  const claim: LedgerEvent = { type: 'claim', call: call({ kind: 'once' }), token: 'a', leaseMs: 1, graceMs: 1 };
  expect(isRelaxed('applyLedger', ['k', claim])).toBe(true);
  expect(isRelaxed('applyLedger', ['k', { type: 'renew', token: 'a', leaseMs: 1 }])).toBe(true);
  expect(isRelaxed('applyShared', [])).toBe(true);
  expect(isRelaxed('countTurnStart', [])).toBe(true);
});
