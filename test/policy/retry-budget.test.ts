import fc from 'fast-check';
import { expect, test } from 'vitest';
import { retryBudgetTransition, type RetryBudgetEvent } from '../../src/policy/retry-budget.js';
import type { BucketLevel } from '../../src/policy/token-bucket.js';

const limits = { tokens: 10, perSuccess: 0.2, perMinute: 6 };
const take: RetryBudgetEvent = { kind: 'retries', type: 'take', limits };
const succeeded: RetryBudgetEvent = { kind: 'retries', type: 'succeeded', limits };

class Bench {
  state: BucketLevel | undefined;
  nowMs = 1_000_000;

  send(event: RetryBudgetEvent): boolean {
    const { state, verdict } = retryBudgetTransition(this.state, event, this.nowMs);
    this.state = state;
    return verdict.granted;
  }

  takes(times: number): number {
    return Array.from({ length: times }, () => this.send(take)).filter(Boolean).length;
  }
}

test('a full budget grants its tokens and then none', () => {
  expect(new Bench().takes(25)).toBe(10);
});

test('five successes pay for a retry', () => {
  const bench = new Bench();
  bench.takes(10);
  for (let number = 0; number < 4; number += 1) bench.send(succeeded);
  expect(bench.takes(1)).toBe(0);
  bench.send(succeeded);
  expect(bench.takes(2)).toBe(1);
});

test('time pays for retries of a tool that is called rarely', () => {
  const bench = new Bench();
  bench.takes(10);
  bench.nowMs += 10_000;
  expect(bench.takes(2)).toBe(1);
});

test('successes of a tool that needs no retries leave no state', () => {
  const bench = new Bench();
  bench.send(succeeded);
  expect(bench.state).toBeUndefined();
});

test('retries never exceed the budget, what successes and time put back, in any order and with any clock', () => {
  const step = fc.oneof(fc.constant(take), fc.constant(succeeded), fc.integer({ min: -1_000_000, max: 60_000 }));
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const bench = new Bench();
      let retries = 0;
      let successes = 0;
      let forwardMs = 0;
      for (const one of steps) {
        if (typeof one === 'number') {
          bench.nowMs += one;
          forwardMs += Math.max(0, one);
          continue;
        }
        const granted = bench.send(one);
        if (one.type === 'succeeded') successes += 1;
        else if (granted) retries += 1;
        const paid = limits.tokens + successes * limits.perSuccess + (forwardMs / 60_000) * limits.perMinute;
        expect(retries).toBeLessThanOrEqual(paid + 1e-6);
      }
    }),
  );
});
