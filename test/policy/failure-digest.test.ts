import { expect, test } from 'vitest';
import type { Outcome } from '../../src/contract/call.js';
import type { EffectState } from '../../src/contract/effect.js';
import { failureDigest } from '../../src/policy/failure-digest.js';

const base = { key: '', attempts: 1, elapsedMs: 1 };
const failed = (callId: string, tool: string, message: string, effectState: EffectState = 'none'): Outcome => ({
  ...base,
  callId,
  tool,
  status: 'failed',
  failure: {
    class: 'tool_error',
    code: 'TOOL_FAILED_001',
    effectState,
    message,
    suggestedAction: 's',
    retryable: false,
  },
});
const worked = (callId: string, tool: string): Outcome => ({
  ...base,
  callId,
  tool,
  status: 'succeeded',
  result: { inline: 1 },
});

test('nothing failed, nothing is said', () => {
  expect(failureDigest([worked('c1.1', 'a')])).toBe('');
});

test('equal failures share a line; what may have happened and what worked later is marked', () => {
  const digest = failureDigest([
    failed('c1.1', 'refund', 'It was refused.'),
    failed('c2.1', 'refund', 'It was refused.'),
    worked('c2.2', 'label'),
    failed('c3.1', 'label', 'The answer was lost.', 'unknown'),
    worked('c4.1', 'refund'),
    failed('c5.1', 'refund', 'Done, but\nnot shown.', 'done'),
  ]);
  expect(digest).toBe(
    [
      'What failed so far (4 calls):',
      '- refund (twice, c1.1 to c2.1, tool_error): It was refused. A later call of this tool worked.',
      '- label (c3.1, tool_error): The answer was lost. It may have taken effect: check before repeating it.',
      '- refund (c5.1, tool_error): Done, but not shown. It did take effect: do not repeat it.',
    ].join('\n'),
  );
});

test('no failure is left out, and each is short', () => {
  const outcomes = Array.from({ length: 300 }, (_, index) =>
    failed(`c${String(index)}.1`, 'a', `message ${String(index)} ${'x'.repeat(2_000)}`),
  );
  const lines = failureDigest(outcomes).split('\n');
  expect(lines).toHaveLength(301);
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(320);
});
