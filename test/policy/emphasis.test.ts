import { expect, test } from 'vitest';
import type { Outcome } from '../../src/contract/call.js';
import type { FailureClass } from '../../src/contract/failure.js';
import {
  countOutcome,
  emphasisText,
  failuresInARow,
  takeEmphasis,
  type FailureStreaks,
} from '../../src/policy/emphasis.js';

const none: FailureStreaks = { consecutiveFailures: {}, emphasised: [] };
const base = { callId: 'c1.1', key: '', attempts: 1, elapsedMs: 1 };
const failed = (tool: string, failureClass: FailureClass = 'tool_error'): Outcome => ({
  ...base,
  tool,
  status: 'failed',
  failure: {
    class: failureClass,
    code: 'x',
    effectState: 'none',
    message: 'm',
    suggestedAction: 's',
    retryable: false,
  },
});
const worked = (tool: string): Outcome => ({ ...base, tool, status: 'succeeded', result: { inline: 1 } });
const after = (...outcomes: Outcome[]) => outcomes.reduce(countOutcome, none);

test('the third failure in a row is pointed at, once until the tool succeeds', () => {
  expect(takeEmphasis(after(failed('a'), failed('a'))).emphasis).toEqual([]);
  const third = takeEmphasis(after(failed('a'), failed('b'), failed('a'), failed('a')));
  expect(third.emphasis).toEqual([{ tool: 'a', failures: 3 }]);
  const fourth = takeEmphasis(countOutcome(third.streaks, failed('a')));
  expect(fourth.emphasis).toEqual([]);
  const anew = [worked('a'), failed('a'), failed('a'), failed('a')].reduce(countOutcome, fourth.streaks);
  expect(takeEmphasis(anew).emphasis).toEqual([{ tool: 'a', failures: 3 }]);
});

test('a call that nobody ran neither counts nor resets', () => {
  const streaks = after(failed('a'), failed('a'), failed('a', 'skipped'), failed('a', 'cancelled'), {
    ...base,
    tool: 'a',
    status: 'pending',
    message: '',
  });
  expect(failuresInARow(streaks, 'a')).toBe(2);
});

test('a half success is one', () => {
  expect(
    failuresInARow(after(failed('a'), { ...base, tool: 'a', status: 'partial', result: { inline: 1 } }), 'a'),
  ).toBe(0);
});

test('a tool may have any name', () => {
  const streaks = after(failed('__proto__'), failed('__proto__'), failed('__proto__'), failed('toString'));
  expect(failuresInARow(none, 'toString')).toBe(0);
  expect(failuresInARow(streaks, 'toString')).toBe(1);
  expect(takeEmphasis(streaks).emphasis).toEqual([{ tool: '__proto__', failures: 3 }]);
});

test('the paragraph for the system message', () => {
  expect(emphasisText([])).toBe('');
  expect(emphasisText([{ tool: 'a', failures: 3 }])).toMatch(
    /^Important: a tool keeps failing\.\n- a has failed 3 times in a row\.\n/,
  );
});

test('names that a model makes up do not pile up: the newest hundred are counted', () => {
  const made = Array.from({ length: 150 }, (_, n) => failed(`made_up_${n}`, 'unknown_tool'));
  const streaks = after(failed('a'), failed('a'), failed('a'), ...made, failed('made_up_149'));
  expect(Object.keys(streaks.consecutiveFailures)).toHaveLength(100);
  expect(failuresInARow(streaks, 'made_up_149')).toBe(2);
  expect(failuresInARow(streaks, 'made_up_50')).toBe(1);
  expect(failuresInARow(streaks, 'a')).toBe(0);
});
