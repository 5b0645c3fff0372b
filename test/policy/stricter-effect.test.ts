import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Effect } from '../../src/contract/effect.js';
import { ledgerTransition } from '../../src/policy/ledger.js';
import { mayRunAgain } from '../../src/policy/retry-rule.js';
import { policyOf, stricterEffect } from '../../src/policy/stricter-effect.js';
import { toolPolicy } from './fixtures.js';
import { eventsOf, KEY_TTL_MS, KEYED, LedgerBench, NATURE, ONCE, READ } from './ledger-rows.js';

const brief: Effect = { kind: 'idempotent', by: 'key', keyTtlMs: KEY_TTL_MS / 2 };
const strictestFirst = [ONCE, brief, KEYED, NATURE, READ];
const effects = fc.constantFrom(...strictestFirst);

test('of two effects the one counts of which fewer repetitions are safe', () => {
  for (const [index, effect] of strictestFirst.entries()) {
    for (const milder of strictestFirst.slice(index)) {
      expect(stricterEffect(effect, milder)).toEqual(effect);
      expect(stricterEffect(milder, effect)).toEqual(effect);
    }
  }
});

test('a call without a row is judged by its tool', () => {
  const policy = toolPolicy({ effect: READ });
  expect(policyOf(undefined, policy)).toBe(policy);
  expect(policyOf({ effect: ONCE }, policy)).toEqual({ ...policy, effect: ONCE });
});

test('what may run again by the rule is let begin by the ledger, whatever the tool was and is', () => {
  fc.assert(
    fc.property(effects, effects, fc.integer({ min: 0, max: 2 * KEY_TTL_MS }), (then, now, laterMs) => {
      const bench = new LedgerBench();
      const [before, after] = [eventsOf(then), eventsOf(now)];
      bench.types(before.claim('a'), before.begin('a'));
      bench.nowMs += 2_000 + laterMs;
      const granted = bench.apply(after.claim('b'));
      if (granted.type !== 'granted') throw new Error(`the claim was ${granted.type}`);
      const policy = policyOf(granted.row, toolPolicy({ effect: now }));
      const again = mayRunAgain({ ...granted.row, ...granted, policy, nowMs: bench.nowMs });
      const { verdict } = ledgerTransition('k1:1', bench.row, after.begin('b'), bench.nowMs);
      if (again.run) expect(verdict.type).toBe('accepted');
    }),
  );
});
