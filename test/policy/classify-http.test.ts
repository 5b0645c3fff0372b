import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ClassifiedFailure, FailureClass } from '../../src/contract/failure.js';
import type { Json } from '../../src/contract/json.js';
import { classifyHttpAnswer } from '../../src/policy/classify-http.js';
import { failureClasses } from '../../src/policy/failure-classes.js';

const nowMs = Date.parse('2026-10-21T07:26:30Z');
const classify = (status: number, body?: Json, headers: Record<string, string> = {}) =>
  classifyHttpAnswer({ status, headers, body }, nowMs);
const classOf = (status: number, body?: Json, headers?: Record<string, string>) =>
  classify(status, body, headers)?.class;

describe('the status matrix', () => {
  const matrix: Partial<Record<FailureClass, number[]>> = {
    validation_error: [400, 416, 417, 418, 422, 427, 434, 450, 479, 490],
    auth_failed: [401, 498],
    quota_exhausted: [402],
    permission_denied: [403, 451],
    not_found: [404, 410],
    unsupported: [405, 406, 415, 426, 501, 505],
    misconfigured: [407, 411, 495, 496, 497],
    timeout: [408, 460, 499],
    business_rule_violation: [409, 412, 423, 424, 428],
    input_too_large: [413, 414, 431],
    session_expired: [419, 440],
    rate_limit: [420, 429],
    network_error: [421, 425, 444],
    server_error: [500, 506, 507, 508, 510, 511, 528, 555, 599],
    external_service_unavailable: [502, 503, 504, 520, 521, 522, 523, 524, 525, 526, 527, 529, 530],
    protocol_error: [100, 101, 103, 300, 304, 600, 999, 0],
  };
  const pairs = Object.entries(matrix).flatMap(([failureClass, statuses]) =>
    statuses.map((status) => [status, failureClass] as const),
  );
  test.each(pairs)('%i is %s', (status, failureClass) => {
    expect(classify(status)).toMatchObject({ class: failureClass, upstreamStatus: status });
  });
  test.each([200, 201, 202, 204, 206, 207, 226, 299])('%i is a success', (status) => {
    expect(classify(status)).toBeUndefined();
  });
  test('every 4xx and 5xx is a failure with the effect state of the table, except where the request was turned away unread', () => {
    for (let status = 400; status <= 599; status += 1) {
      const failure = classify(status) as ClassifiedFailure;
      expect(failure.effectState).toBe(
        [421, 425].includes(status) ? 'none' : failureClasses[failure.class].effectState,
      );
    }
  });
  test('an unlisted 4xx that says when to come back is a rate limit', () => {
    expect(classify(460 + 5, undefined, { 'retry-after': '3' })).toMatchObject({
      class: 'rate_limit',
      retryAfterMs: 3_000,
    });
  });
});

describe('redirects that nobody followed', () => {
  const to = (status: number, location: string) => classify(status, undefined, { Location: location });
  test('an address that moved is for an operator; the effect is open where the request may have been carried out', () => {
    expect(to(308, '/v2')).toMatchObject({ class: 'misconfigured', effectState: 'none' });
    expect(to(303, '/orders/1')).toMatchObject({ class: 'misconfigured', effectState: 'unknown' });
    expect(to(302, '/author/list')).toMatchObject({ class: 'misconfigured', effectState: 'unknown' });
  });
  test('a login page means that the sign-in is gone', () => {
    expect(to(302, 'https://sso.example.test/?next=/x')).toMatchObject({ class: 'auth_failed' });
    expect(to(302, '/users/sign_in')).toMatchObject({ class: 'auth_failed' });
  });
});

describe('codes in bodies', () => {
  test.each<[number, Json, FailureClass]>([
    [
      429,
      { error: { code: 'insufficient_quota', type: 'insufficient_quota', message: 'You exceeded your current quota' } },
      'quota_exhausted',
    ],
    [429, { error: { type: 'tokens', code: 'rate_limit_exceeded', message: 'slow down' } }, 'rate_limit'],
    [400, { error: { code: 'context_length_exceeded', message: 'too long' } }, 'input_too_large'],
    [400, { __type: 'com.amazonaws.dynamodb.v20120810#ThrottlingException', message: 'Rate exceeded' }, 'rate_limit'],
    [400, { type: 'error', error: { type: 'billing_error', message: 'credit' } }, 'quota_exhausted'],
    [403, { error: { errors: [{ reason: 'userRateLimitExceeded' }], message: 'x' } }, 'rate_limit'],
    [403, { error: { errors: [{ reason: 'dailyLimitExceeded' }], message: 'x' } }, 'quota_exhausted'],
    [400, { error: 'invalid_grant', error_description: 'Token has been revoked' }, 'auth_failed'],
    [400, { error: { status: 'FAILED_PRECONDITION', message: 'not empty' } }, 'business_rule_violation'],
    [503, { error: { code: 'insufficient_quota' } }, 'external_service_unavailable'],
    [200, { ok: false, error: 'ratelimited' }, 'rate_limit'],
    [200, { ok: false, error: 'invalid_auth' }, 'auth_failed'],
    [200, { ok: false, error: 'channel_is_archived' }, 'business_rule_violation'],
    [200, { success: false, message: 'Order was already shipped' }, 'business_rule_violation'],
    [
      200,
      { errors: [{ message: 'Field "x" is missing', extensions: { code: 'GRAPHQL_VALIDATION_FAILED' } }] },
      'validation_error',
    ],
    [200, { data: null, errors: [{ message: 'no', extensions: { code: 'UNAUTHENTICATED' } }] }, 'auth_failed'],
    [200, { jsonrpc: '2.0', id: 1, error: { code: -32602, message: 'bad' } }, 'validation_error'],
    [200, { jsonrpc: '2.0', id: 1, error: { code: -32602, message: 'Unknown tool: x' } }, 'unknown_tool'],
    [200, { jsonrpc: '2.0', id: 1, error: { code: -32603, message: 'oops' } }, 'protocol_error'],
    [200, { error: { code: '503', message: 'x' } }, 'external_service_unavailable'],
  ])('%i %j is %s', (status, body, failureClass) => {
    expect(classOf(status, body)).toBe(failureClass);
    expect(classOf(status, JSON.stringify(body))).toBe(failureClass);
  });
  test('a 403 that means 429', () => {
    expect(classOf(403, undefined, { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '30' })).toBe('rate_limit');
    expect(classify(403, undefined, { 'Retry-After': '60' })).toMatchObject({
      class: 'rate_limit',
      retryAfterMs: 60_000,
    });
  });
});

describe('successes', () => {
  const json = { 'content-type': 'application/json' };
  test.each<[Json]>([
    [{ data: [] }],
    [[]],
    [{ choices: [] }],
    [{ success: false }],
    [{ ok: true, error: 'none' }],
    [{ data: { a: 1 }, errors: [{ message: 'half' }] }],
  ])('%j', (body) => {
    expect(classify(200, body)).toBeUndefined();
  });
  test('JSON that was cut off or garbled is no answer', () => {
    expect(classify(200, '{"a": [1, 2', json)).toMatchObject({ class: 'protocol_error', effectState: 'unknown' });
    expect(classify(200, 'upstream connect error', json)).toMatchObject({ class: 'protocol_error' });
    for (const text of ['', '{"a":1}', '"text"', '3', 'null', '\ufeff{"a":1}'])
      expect(classify(200, text, json)).toBeUndefined();
  });
  test('plain text is one where JSON was not promised', () => {
    expect(classify(200, 'all good <3', { 'content-type': 'text/plain' })).toBeUndefined();
  });
});

describe('a lost MCP session', () => {
  const body = { jsonrpc: '2.0', error: { code: -32001, message: 'Session not found' }, id: null };
  const ask = (requestHeaders?: Record<string, string>, more: Json = body, status = 404) =>
    classifyHttpAnswer({ status, headers: {}, body: more, ...(requestHeaders && { requestHeaders }) }, nowMs);
  test('is told from an address that does not exist by the header that was sent', () => {
    expect(ask({ 'Mcp-Session-Id': 'old' })).toMatchObject({ class: 'session_expired', effectState: 'none' });
    expect(ask({ 'Mcp-Session-Id': 'old' }, 'Not Found')).toMatchObject({ class: 'session_expired' });
    expect(ask({ accept: 'x' })).toMatchObject({ class: 'not_found' });
    expect(ask()).toMatchObject({ class: 'session_expired' });
    expect(
      ask(
        { 'Mcp-Session-Id': 'old' },
        { error: { code: -32000, message: 'Bad Request: No valid session ID provided' } },
        400,
      ),
    ).toMatchObject({ class: 'session_expired' });
  });
});

describe("the backend's own reason", () => {
  test.each<[Json, string | undefined]>([
    [{ type: 'about:blank', title: 'Conflict', detail: 'Order 7 was shipped' }, 'Order 7 was shipped'],
    [{ error: { message: 'Order 7 was shipped' } }, 'Order 7 was shipped'],
    [{ message: 'Order 7 was shipped', code: 3 }, 'Order 7 was shipped'],
    [{ errors: ['one', 'two'] }, 'one; two'],
    [{ errors: [{ title: 'Conflict', detail: 'Order 7 was shipped' }] }, 'Order 7 was shipped'],
    [{ detail: 'Order 7 was shipped' }, 'Order 7 was shipped'],
    [{ error: 'conflict', error_description: 'Order 7 was shipped' }, 'Order 7 was shipped'],
    [{ message: ['a must be x', 'b must be y'] }, 'a must be x; b must be y'],
    ['  Order 7 was shipped\n', 'Order 7 was shipped'],
    ['<!doctype html><p>x', undefined],
    [{}, undefined],
    [null, undefined],
  ])('%j', (body, reason) => {
    expect(classify(409, body)?.reason).toBe(reason);
  });
  test('is marked as meant for the caller only where it is', () => {
    expect(classify(409, { message: 'x' })?.public).toBe(true);
    expect(classify(500, { message: 'x' })?.public).toBeUndefined();
  });
});

describe('fields that a service refuses', () => {
  const at = (path: string, problem = 'must be positive') => [{ path, problem, expected: '' }];
  test.each<[string, Json, ReturnType<typeof at>]>([
    [
      'FastAPI',
      { detail: [{ loc: ['body', 'items', 0, 'amount'], msg: 'must be positive', type: 'value_error' }] },
      at('/items/0/amount'),
    ],
    ['Rails', { errors: { amount: ['must be positive'] } }, at('/amount')],
    [
      'ASP.NET',
      { title: 'One or more validation errors occurred.', errors: { '$.amount': ['must be positive'] } },
      at('/amount'),
    ],
    [
      'JSON:API',
      { errors: [{ source: { pointer: '/data/attributes/amount' }, detail: 'must be positive' }] },
      at('/amount'),
    ],
    ['RFC 7807', { 'invalid-params': [{ name: 'amount', reason: 'must be positive' }] }, at('/amount')],
    ['RFC 9457', { errors: [{ detail: 'must be positive', pointer: '#/amount' }] }, at('/amount')],
    [
      'Google',
      { error: { details: [{ fieldViolations: [{ field: 'order.amount', description: 'must be positive' }] }] } },
      at('/order/amount'),
    ],
    [
      'Stripe',
      { error: { message: 'must be positive', param: 'items[0][amount]', type: 'invalid_request_error' } },
      at('/items/0/amount'),
    ],
    [
      'GitHub',
      { message: 'Validation Failed', errors: [{ resource: 'Issue', field: 'title', code: 'missing_field' }] },
      at('/title', 'missing field'),
    ],
    [
      'class-validator',
      { message: [{ property: 'amount', constraints: { isPositive: 'must be positive' } }] },
      at('/amount'),
    ],
    ['express-validator', { errors: [{ path: 'amount', msg: 'must be positive', location: 'body' }] }, at('/amount')],
  ])('%s', (_name, body, violations) => {
    expect(classify(422, body)).toMatchObject({ class: 'validation_error', violations });
  });
});

test('no answer makes it throw, or gives a broken wait', () => {
  const headers = fc.dictionary(
    fc.constantFrom('retry-after', 'x-ratelimit-reset', 'content-type', 'location', 'x-should-retry', 'ratelimit'),
    fc.string(),
  );
  fc.assert(
    fc.property(
      fc.integer({ min: -1, max: 700 }),
      headers,
      fc.oneof(fc.string(), fc.jsonValue(), fc.constant(undefined)),
      (status, given, body) => {
        const failure = classifyHttpAnswer({ status, headers: given, body: body as Json }, nowMs);
        if (status < 200 || status > 299) expect(failure).toBeDefined();
        if (failure?.retryAfterMs !== undefined)
          expect(Number.isSafeInteger(failure.retryAfterMs) && failure.retryAfterMs >= 0).toBe(true);
      },
    ),
    { numRuns: 2_000 },
  );
});
