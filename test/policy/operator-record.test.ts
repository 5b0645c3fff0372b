import { describe, expect, test } from 'vitest';
import { operatorRecord, type FailedAttempt } from '../../src/policy/operator-record.js';
import { createRedactor } from '../../src/policy/redaction.js';

const redactor = createRedactor({ secrets: ['hunter2hunter2'] });
const attempt: FailedAttempt = {
  tool: 'refund_payment',
  callId: 'c3.1',
  key: 'k1:abc',
  params: { paymentId: 'pay_1', note: 'hunter2hunter2', password: 'x' },
  failure: { class: 'network_error', effectState: 'unknown', upstreamStatus: 502, retryAfterMs: 5 },
  attempt: 2,
  durationMs: 12.4,
  atMs: 0,
  worker: 'host-1:77',
  traceId: 't1',
  versions: { node: '24.1.0' },
};

describe('operatorRecord', () => {
  test('tells everything that is known, masked', () => {
    const cause = Object.assign(new Error('read ECONNRESET with hunter2hunter2'), { code: 'ECONNRESET' });
    const error = Object.assign(new TypeError('fetch failed', { cause }), { url: 'https://u:p@x.test/?token=abc' });
    const record = operatorRecord({ ...attempt, thrown: error }, redactor);
    expect(record).toMatchObject({
      at: '1970-01-01T00:00:00.000Z',
      tool: 'refund_payment',
      call_id: 'c3.1',
      idempotency_key: 'k1:abc',
      params: { paymentId: 'pay_1', note: '[redacted]', password: '[redacted]' },
      error_type: 'network_error',
      error_code: 'NET_CONNECT_001',
      effect_state: 'unknown',
      error_name: 'TypeError',
      error_message: 'fetch failed',
      error_details: { url: 'https://u:[redacted]@x.test/?token=[redacted]' },
      causes: ['Error [ECONNRESET]: read ECONNRESET with [redacted]'],
      upstream_status: 502,
      retry_after_ms: 5,
      attempt: 2,
      duration_ms: 12,
      trace_id: 't1',
      worker: 'host-1:77',
      versions: { node: '24.1.0' },
    });
    expect(record['stack']).toMatch(/^TypeError: fetch failed\n\s+at /);
  });
  test('leaves out what is not known', () => {
    const { worker: _worker, traceId: _traceId, versions: _versions, ...rest } = attempt;
    expect(
      Object.keys(
        operatorRecord({ ...rest, failure: { class: 'timeout', effectState: 'unknown', reason: 'late' } }, redactor),
      ),
    ).toEqual([
      'at',
      'tool',
      'call_id',
      'idempotency_key',
      'params',
      'error_type',
      'error_code',
      'effect_state',
      'error_message',
      'attempt',
      'duration_ms',
    ]);
  });
  test('is bounded, and survives whatever was thrown', () => {
    const huge = new Error('x'.repeat(3_000_000), {
      cause: new AggregateError(Array.from({ length: 1_000 }, () => new Error('y'.repeat(10_000)))),
    });
    const record = operatorRecord({ ...attempt, thrown: huge, params: { text: 'z'.repeat(1_000_000) } }, redactor);
    expect(JSON.stringify(record).length).toBeLessThan(24_000);
    const trap = new Proxy(
      {},
      {
        get() {
          throw new Error('trap');
        },
      },
    );
    expect(operatorRecord({ ...attempt, thrown: trap }, redactor)).toMatchObject({ error_type: 'network_error' });
  });
});
