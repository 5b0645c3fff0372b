import { expect, test } from 'vitest';
import { waitTransition } from '../../src/policy/wait-budget.js';

const wait = (waitMs: number) => ({ kind: 'wait', waitMs, budgetMs: 1_000 }) as const;

test('grants waits while they fit together, and counts no wait that it refused', () => {
  const first = waitTransition(undefined, wait(600));
  expect(first).toEqual({ state: { spentMs: 600 }, verdict: { granted: true, spentMs: 600 } });
  const second = waitTransition(first.state, wait(401));
  expect(second).toEqual({ state: { spentMs: 600 }, verdict: { granted: false, spentMs: 600 } });
  expect(waitTransition(second.state, wait(400)).verdict).toEqual({ granted: true, spentMs: 1_000 });
});

test('a call that has not waited leaves no state behind by being asked about', () => {
  expect(waitTransition(undefined, wait(0))).toEqual({ state: undefined, verdict: { granted: true, spentMs: 0 } });
});
