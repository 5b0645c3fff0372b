import { expect, test } from 'vitest';
import type { Outcome } from '../../src/contract/call.js';
import type { FailureClass } from '../../src/contract/failure.js';
import { AlertRules, RunFailures } from '../../src/policy/alert-rules.js';
import { callOf } from '../stats/sample-calls.js';

function rulesOn(outcomes: (FailureClass | undefined)[]): string[][] {
  const rules = new AlertRules();
  return outcomes.map((failure) => {
    return rules.add(failedOutcome(failure)).map(({ rule }) => rule);
  });
}

function failedOutcome(failure: FailureClass | undefined): Outcome {
  const { outcome } = callOf({ callId: 'c1.0', ...(failure && { failure }) });
  if (!outcome) throw new Error('it has no outcome');
  return outcome;
}

test('alerts on a tool that fails in more than a tenth of at least 20 calls, once', () => {
  const twoOf20 = [...Array.from({ length: 18 }, () => undefined), 'timeout', 'timeout'] as (
    FailureClass | undefined
  )[];
  expect(rulesOn(twoOf20).flat()).toEqual([]);
  expect(rulesOn([...twoOf20, 'timeout', 'timeout']).slice(20)).toEqual([['tool_failure_rate'], []]);
  expect(rulesOn(Array.from({ length: 19 }, () => 'timeout' as const)).flat()).toEqual([]);
});

test('alerts on the sixth failure of a run, once, whoever saw the others', () => {
  const failures = new RunFailures();
  const fail = (key: string) => ({ ...failedOutcome('not_found'), key });
  const verdicts = ['k1', 'k2', 'k2', 'k3'].map((key) => {
    expect(failures.add(fail(key), 'r1')).toBe(true);
    // k9 and k8 failed on another worker; k1 is known here and there.
    return failures.judge('r1', ['k9', 'k8', 'k1']).type;
  });
  expect(verdicts).toEqual(['few', 'few', 'few', 'few']);
  failures.add(fail('k4'), 'r1');
  expect(failures.judge('r1', ['k9', 'k8', 'k1'])).toMatchObject({ type: 'many', alert: { rule: 'run_failures' } });
  expect(failures.add(fail('k5'), 'r1')).toBe(false);
  expect(failures.judge('r1', [])).toEqual({ type: 'told' });
  expect(failures.judge('r2', ['a', 'b', 'c', 'd', 'e', 'f'])).toMatchObject({ type: 'many' });
});

test('asks nothing about successes, and what was cancelled or skipped', () => {
  const failures = new RunFailures();
  for (const failure of ['cancelled', 'skipped', undefined] as const) {
    expect(failures.add(failedOutcome(failure), 'r1')).toBe(false);
  }
});

test('alerts on an abort and on a security violation at once, and not on what was cancelled or skipped', () => {
  expect(rulesOn(['permission_denied', 'security_violation', 'cancelled', 'skipped'])).toEqual([
    ['aborted'],
    ['security_violation'],
    [],
    [],
  ]);
});
