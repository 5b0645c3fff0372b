import { describe, expect, test } from 'vitest';
import type { Outcome } from '../../src/contract/call.js';
import type { Failure } from '../../src/contract/failure.js';
import { renderOutcome } from '../../src/policy/render-outcome.js';

const base = { callId: 'c1.1', tool: 'get_order', key: 'k1:x', attempts: 2, elapsedMs: 12.6 };
const failure: Failure = {
  class: 'rate_limit',
  code: 'RATE_LIMIT_001',
  effectState: 'none',
  message: 'm',
  suggestedAction: 's',
  retryable: true,
};

describe('renderOutcome', () => {
  test('a failure', () => {
    const outcome: Outcome = {
      ...base,
      status: 'failed',
      failure: {
        ...failure,
        retryAfterMs: 1_200,
        alternatives: ['a'],
        actionRequired: 'wait',
        referenceId: 'r1',
        effectState: 'unknown',
        kind: 'test',
        upstreamStatus: 429,
      },
    };
    expect(renderOutcome(outcome, { maxAttempts: 3, consecutiveFailures: 2 })).toBe(
      '{"status":"failed","error_type":"rate_limit","error_code":"RATE_LIMIT_001","kind":"test","message":"m","retryable":true,"retry_after_seconds":2,"suggested_action":"s","alternatives":["a"],"effect_state":"unknown","action_required":"wait","context":{"tool_name":"get_order","attempt":2,"max_attempts":3,"elapsed_ms":13,"consecutive_failures":2},"reference_id":"r1"}',
    );
  });
  test('absent fields are left out', () => {
    expect(
      renderOutcome({ ...base, status: 'aborted', failure }, { maxAttempts: Infinity, consecutiveFailures: 1 }),
    ).toBe(
      '{"status":"aborted","error_type":"rate_limit","error_code":"RATE_LIMIT_001","message":"m","retryable":true,"suggested_action":"s","context":{"tool_name":"get_order","attempt":2,"elapsed_ms":13}}',
    );
  });
  test('a success, an empty one, a fallback, a cut one', () => {
    expect(renderOutcome({ ...base, status: 'succeeded', result: { inline: { a: 1 } } })).toBe(
      '{"status":"succeeded","data":{"a":1}}',
    );
    expect(renderOutcome({ ...base, status: 'succeeded', result: { inline: null }, emptyReason: 'no_match' })).toBe(
      '{"status":"succeeded","data":null,"empty_reason":"no_match"}',
    );
    expect(
      renderOutcome({ ...base, status: 'succeeded', result: { inline: 1 }, degraded: { reason: 'cache', asOfMs: 0 } }),
    ).toBe('{"status":"succeeded","data":1,"degraded":{"reason":"cache","as_of":"1970-01-01T00:00:00.000Z"}}');
    expect(renderOutcome({ ...base, status: 'succeeded', result: { bodyId: 'b1', bytes: 9_000, preview: 'é' } })).toBe(
      '{"status":"succeeded","data":"é","truncated":{"shown":2,"total":9000,"artifact_id":"b1"}}',
    );
    expect(
      renderOutcome(
        { ...base, status: 'succeeded', result: { inline: 'x' } },
        { truncated: { shown: 1, total: 5, artifactId: 'b2' } },
      ),
    ).toBe('{"status":"succeeded","data":"x","truncated":{"shown":1,"total":5,"artifact_id":"b2"}}');
  });
  test('a partial one', () => {
    expect(
      renderOutcome({
        ...base,
        status: 'partial',
        result: { inline: { succeeded: [1], failed: [2] } },
        confidence: 'low',
      }),
    ).toBe('{"status":"partial","succeeded":[1],"failed":[2],"confidence":"low"}');
    expect(renderOutcome({ ...base, status: 'partial', result: { inline: [1] } })).toBe(
      '{"status":"partial","data":[1]}',
    );
  });
  test('one that is not finished', () => {
    expect(renderOutcome({ ...base, status: 'pending', message: 'queued', expectedByMs: 60_000 })).toBe(
      '{"status":"pending","message":"queued","expected_by":"1970-01-01T00:01:00.000Z"}',
    );
    expect(renderOutcome({ ...base, status: 'pending', message: 'queued', expectedByMs: Infinity })).toBe(
      '{"status":"pending","message":"queued"}',
    );
  });
});
