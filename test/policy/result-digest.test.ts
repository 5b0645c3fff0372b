import { describe, expect, it } from 'vitest';
import type { Outcome } from '../../src/contract/call.js';
import type { Json } from '../../src/contract/json.js';
import { resultDigest, withResultDigest } from '../../src/policy/result-digest.js';

const succeeded = (inline: Json): Outcome => ({
  status: 'succeeded',
  callId: 'c1.0',
  tool: 'look_up',
  key: 'k1:a',
  attempts: 1,
  elapsedMs: 5,
  result: { inline },
});

describe('the digest of a result', () => {
  it('is the same, made beforehand or where it is asked for', () => {
    const outcome = succeeded({ text: 'x'.repeat(2_000) });
    const carried = withResultDigest(outcome);
    expect(carried).toEqual({ ...outcome, resultDigest: resultDigest(outcome) });
    expect(resultDigest(carried)).toBe(resultDigest(outcome));
  });

  it('does not see when the result was made', () => {
    const at = (timestamp: number) => resultDigest(succeeded({ text: 'x'.repeat(2_000), timestamp }));
    expect(at(1)).toBe(at(2));
  });

  it('is not carried where the result is short, kept apart, or none', () => {
    const stored: Outcome = {
      ...succeeded(null),
      status: 'succeeded',
      result: { bodyId: 'b', bytes: 9_000, preview: '' },
    };
    const pending: Outcome = {
      status: 'pending',
      callId: 'c1.0',
      tool: 't',
      key: 'k',
      attempts: 1,
      elapsedMs: 0,
      message: '',
    };
    for (const outcome of [succeeded({ text: 'short' }), stored, pending])
      expect(withResultDigest(outcome)).toBe(outcome);
  });
});
