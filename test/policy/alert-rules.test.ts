import { expect, test } from 'vitest';
import type { FailureClass } from '../../src/contract/failure.js';
import { AlertRules } from '../../src/policy/alert-rules.js';
import { callOf } from '../stats/sample-calls.js';

function rulesOn(outcomes: (FailureClass | undefined)[], runOf = (index: number) => `r${String(index)}`): string[][] {
  const rules = new AlertRules();
  return outcomes.map((failure, index) => {
    const { outcome } = callOf({ callId: 'c1.0', ...(failure && { failure }) });
    if (!outcome) throw new Error('it has no outcome');
    return rules.add(outcome, runOf(index)).map(({ rule }) => rule);
  });
}

test('alerts on a tool that fails in more than a tenth of at least 20 calls, once', () => {
  const twoOf20 = [...Array.from({ length: 18 }, () => undefined), 'timeout', 'timeout'] as (
    FailureClass | undefined
  )[];
  expect(rulesOn(twoOf20).flat()).toEqual([]);
  expect(rulesOn([...twoOf20, 'timeout', 'timeout']).slice(20)).toEqual([['tool_failure_rate'], []]);
  expect(rulesOn(Array.from({ length: 19 }, () => 'timeout' as const)).flat()).toEqual([]);
});

test('alerts on the sixth failure of a run, once', () => {
  const alerts = rulesOn(
    Array.from({ length: 8 }, () => 'not_found' as const),
    () => 'r1',
  );
  expect(alerts).toEqual([[], [], [], [], [], ['run_failures'], [], []]);
});

test('alerts on an abort and on a security violation at once, and not on what was cancelled or skipped', () => {
  expect(rulesOn(['permission_denied', 'security_violation', 'cancelled', 'skipped'])).toEqual([
    ['aborted'],
    ['security_violation'],
    [],
    [],
  ]);
});
