/** Groups H and E of cases.jsonl: every variant, and the same mistakes in other spellings. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { ClassifiedFailure } from '../../src/contract/failure.js';
import type { Json } from '../../src/contract/json.js';
import { classifyHttpAnswer } from '../../src/policy/classify-http.js';
import { classifyThrown, isControl, type ThrownContext } from '../../src/policy/classify-thrown.js';
import { describeFailure } from '../../src/policy/model-message.js';
import { operatorRecord } from '../../src/policy/operator-record.js';
import { createRedactor } from '../../src/policy/redaction.js';
import { decideRetry, lostAnswer, type RetryDecision, type RetryRefusal } from '../../src/policy/retry-rule.js';
import { manifestTool, toolPolicy } from '../policy/fixtures.js';

interface Case {
  id: string;
  input: any; // eslint-disable-line @typescript-eslint/no-explicit-any -- each case has its own shape
}
const cases = new Map(
  readFileSync(new URL('./cases.jsonl', import.meta.url), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Case)
    .map((each) => [each.id, each.input]),
);
const input = (id: string) => cases.get(id);

/** A case's variants, each with what is expected of it. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- from the case file
function variantsOf<Expected>(id: string, expected: Expected[]): [any, Expected][] {
  const variants = input(id).variants as unknown[];
  if (variants.length !== expected.length) throw new Error(`${id} has ${String(variants.length)} variants`);
  return variants.map((variant, index) => [variant, expected[index] as Expected]);
}

const nowMs = Date.parse('2026-10-21T07:26:30Z');
const keyed = toolPolicy();
const once = toolPolicy({ effect: { kind: 'once' } });

/** The decision after a first start; without jitter, so that the delay is what was asked for. */
function decide(failure: ClassifiedFailure, policy = keyed, more: { refreshed?: boolean } = {}): RetryDecision {
  return decideRetry({
    failure,
    policy,
    starts: 1,
    spentMs: 0,
    mayHaveHappened: false,
    firstStartAtMs: nowMs,
    nowMs,
    cancelled: false,
    random: 0,
    ...more,
  });
}
const ownBackOff: RetryDecision = { retry: true, delayMs: 1 };
const waits = (delayMs: number): RetryDecision => ({ retry: true, delayMs });
const stops = (because: RetryRefusal): RetryDecision => ({ retry: false, because });

function http(status: number, headers: Record<string, string> = {}, body?: Json): ClassifiedFailure {
  const failure = classifyHttpAnswer({ status, headers, body }, nowMs);
  if (!failure) throw new Error('expected a failure');
  return failure;
}

function thrown(thing: unknown, context: Partial<ThrownContext> = {}): ClassifiedFailure {
  const classified = classifyThrown(thing, { nowMs, source: 'function', ...context });
  if (isControl(classified)) throw new Error('expected a failure, got control flow');
  return classified;
}

/** Builds what a case describes: errors with names, causes and parts. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- from the case file
function errorOf(shape: any): unknown {
  const { name, message, cause, errors, ...fields } = shape;
  const inner = cause === undefined ? {} : { cause: errorOf(cause) };
  const error =
    name === 'TypeError'
      ? new TypeError(message, inner)
      : errors
        ? new AggregateError(errors.map(errorOf), message, inner)
        : new Error(message, inner);
  if (name !== undefined && error.name !== name) Object.defineProperty(error, 'name', { value: name });
  return Object.assign(error, fields);
}

function modelText(failure: ClassifiedFailure, redact?: (text: string) => string): string {
  const described = describeFailure(failure, {
    tool: manifestTool(),
    toolName: 'refund_payment',
    attempts: 1,
    ...(redact && { redact }),
  });
  return `${described.message} ${described.suggestedAction}`;
}

describe('H01 Retry-After as a date', () => {
  test.each(variantsOf('H01', [waits(90_000), ownBackOff, waits(90_000), waits(90_000), waits(7_000)]))(
    '%j',
    ({ status, ...headers }, decision) => {
      const failure = http(status, headers);
      expect(failure.class).toBe(status === 429 ? 'rate_limit' : 'external_service_unavailable');
      expect(decide(failure)).toEqual(decision);
    },
  );
});

describe('H02 Retry-After that is malformed', () => {
  const delays: Record<string, RetryDecision> = {
    '  9  ': { retry: true, delayMs: 9_000 },
    '1.5': { retry: true, delayMs: 1_500 },
  };
  test.each([
    ...input('H02').variants,
    '-1.5',
    '0x10',
    'Infinity',

    '١٢',
    'Wed, 99 Oct 2026 07:28:00 GMT',
    'Tue, 31 Feb 2027 07:28:00 GMT',
    '99999999999999999999',
  ])('%j', (value: string) => {
    const failure = http(429, { 'retry-after': value });
    expect(failure.class).toBe('rate_limit');
    expect(decide(failure)).toEqual(delays[value] ?? ownBackOff);
  });

  test('a malformed outer header does not hide a valid one in the cause', () => {
    const outer = {
      name: 'Wrapped',
      status: 429,
      headers: { 'retry-after': 'soon' },
      cause: { headers: new Headers({ 'Retry-After': '4' }) },
    };
    expect(thrown(outer)).toMatchObject({ class: 'rate_limit', retryAfterMs: 4_000 });
  });
});

describe('H05 reset headers', () => {
  const delays = [6, 90_000, undefined, 30_000, 30_000, 90_000, 90_000, 20_000];
  test.each(variantsOf('H05', delays))('%j', (headers, delayMs) => {
    const failure = http(429, headers);
    expect(failure.class).toBe('rate_limit');
    expect(decide(failure)).toEqual(delayMs === undefined ? stops('budget_spent') : waits(delayMs));
  });
  test('a wait beyond the budget is told to the model', () => {
    const failure = http(429, { 'x-ratelimit-reset-requests': '2h15m' });
    expect(describeFailure(failure, { tool: manifestTool(), toolName: 'x', attempts: 1 })).toMatchObject({
      retryable: true,
      retryAfterMs: 8_100_000,
    });
  });
  test('Retry-After wins over reset headers', () => {
    expect(http(429, { 'retry-after': '3', 'x-ratelimit-reset': '30' }).retryAfterMs).toBe(3_000);
  });
  test('reset headers say nothing where the answer is no rate limit', () => {
    expect(http(503, { 'x-ratelimit-reset': '3600' }).retryAfterMs).toBeUndefined();
  });
});

describe('H06 the delay in the body', () => {
  const [minute, daily] = input('H06').variants;
  test('RetryInfo, rounded up', () => {
    const failure = http(minute.status, {}, minute.body);
    expect(failure.class).toBe('rate_limit');
    expect(decide(failure)).toEqual(waits(45_838));
  });
  test('a quota per day ends it', () => {
    const failure = http(daily.status, {}, daily.body);
    expect(failure.class).toBe('quota_exhausted');
    expect(decide(failure)).toEqual(stops('attempts_spent'));
  });
  test('the same in an array, and as seconds and nanos', () => {
    expect(http(429, {}, [minute.body]).retryAfterMs).toBe(45_838);
    const details = [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: { seconds: '2', nanos: 1 } }];
    expect(http(429, {}, { error: { details } }).retryAfterMs).toBe(2_001);
  });
});

describe('H08 overload', () => {
  const [plain, stream, refusal] = input('H08').variants;
  const sse = (events: string[]) =>
    classifyHttpAnswer(
      { status: 200, headers: { 'content-type': 'text/event-stream' }, body: events.join('\n\n') },
      nowMs,
    );
  test('529', () => {
    const failure = http(plain.status, {}, plain.body);
    expect(failure.class).toBe('external_service_unavailable');
    expect(decide(failure)).toEqual(ownBackOff);
  });
  test('as an event in a stream that began with 200', () => {
    const failure = sse(stream.sse);
    expect(failure).toMatchObject({ class: 'external_service_unavailable', effectState: 'unknown' });
    expect(decide(failure as ClassifiedFailure)).toEqual(ownBackOff);
  });
  test('a refusal as an event', () => {
    const failure = sse(refusal.sse);
    expect(failure?.class).toBe('validation_error');
    expect(decide(failure as ClassifiedFailure)).toEqual(stops('attempts_spent'));
  });
  test('a stream without an error is a success', () => {
    expect(
      sse(['event: message_start\ndata: {}', 'data: {"delta":"the word \\"error\\" in a text"}', 'data: [DONE]']),
    ).toBeUndefined();
  });
});

describe('H09 an error inside a 200', () => {
  const expected: [string, RetryDecision][] = [
    ['rate_limit', ownBackOff],
    ['protocol_error', ownBackOff],
    ['quota_exhausted', stops('attempts_spent')],
    ['external_service_unavailable', ownBackOff],
  ];
  test.each(variantsOf('H09', expected))('%j', (body, [failureClass, decision]) => {
    const failure = http(200, {}, body);
    expect(failure.class).toBe(failureClass);
    expect(decide(failure)).toEqual(decision);
  });
  test('what only tells of an error is a success', () => {
    for (const body of [
      { error: null, data: 1 },
      { id: 'job_1', status: 'failed', error: { message: 'x' } },
      { errors: [], data: {} },
      { error: '' },
      { error: false },
    ]) {
      expect(classifyHttpAnswer({ status: 200, headers: {}, body }, nowMs)).toBeUndefined();
    }
  });
});

describe('H10 a page of an edge proxy', () => {
  const { status, headers, body } = input('H10');
  test('the status decides, and the page is shown to nobody', () => {
    const failure = http(status, headers, body);
    expect(failure.class).toBe('external_service_unavailable');
    expect(decide(failure)).toEqual(ownBackOff);
    expect(modelText(failure)).toContain('HTTP 520');
    expect(modelText(failure)).not.toMatch(/<html|DOCTYPE|example\.test/i);
  });
  test('a page with 200 is no success', () => {
    expect(http(200, headers, body).class).toBe('protocol_error');
    expect(http(200, {}, '\n  <!-- x --> <HTML lang="en">').class).toBe('protocol_error');
  });
  test('a page is what was asked for where anything is', () => {
    expect(classifyHttpAnswer({ status: 200, headers, body, expects: 'any' }, nowMs)).toBeUndefined();
  });
});

describe('H12 idempotency answers', () => {
  const expected = ['conflict_in_progress', 'idempotency_mismatch', 'idempotency_mismatch'];
  test.each(variantsOf('H12', expected))('%j', ({ status, body }, failureClass) => {
    const failure = http(status, {}, body);
    expect(failure.class).toBe(failureClass);
    expect(decide(failure).retry).toBe(failureClass === 'conflict_in_progress');
    if (failureClass === 'idempotency_mismatch') expect(modelText(failure)).toMatch(/internal error.*not made again/);
  });
  test.each([
    [409, { message: 'A request with this Idempotency-Key is currently being processed' }, 'conflict_in_progress'],
    [422, { title: 'Idempotency-Key is already used', detail: 'different payload' }, 'idempotency_mismatch'],
    [400, { __type: 'IdempotentParameterMismatchException', message: 'x' }, 'idempotency_mismatch'],
    [
      409,
      {
        error: {
          type: 'idempotency_error',
          message:
            'Keys for idempotent requests can only be used with the same parameters they were first used with, but they are different',
        },
      },
      'idempotency_mismatch',
    ],
    [409, { message: 'Order is in progress and cannot be changed' }, 'business_rule_violation'],
  ])('%i %j', (status, body, failureClass) => {
    expect(http(status, {}, body).class).toBe(failureClass);
  });
});

describe('H13 authorization that ends in the middle', () => {
  const [expired, scope, revoked, down] = input('H13').variants;
  const refreshes = toolPolicy({ refreshes: true });
  test('401 is tried once more after one refresh', () => {
    const failure = http(expired.status, { 'www-authenticate': expired['www-authenticate'] });
    expect(failure.class).toBe('auth_failed');
    expect(decide(failure, refreshes)).toEqual({ retry: true, delayMs: 0, refresh: true });
    expect(decide(failure, refreshes, { refreshed: true })).toEqual(stops('attempts_spent'));
    expect(decide(failure)).toEqual(stops('attempts_spent'));
    expect(modelText(failure)).not.toContain('Bearer ');
  });
  test('a missing scope is no expiry', () => {
    const failure = http(scope.status, {}, scope.body);
    expect(failure.class).toBe('permission_denied');
    expect(decide(failure, refreshes)).toEqual(stops('attempts_spent'));
  });
  test('a refresh that is refused means that the user signs in again', () => {
    const failure = http(revoked.refresh.status, {}, revoked.refresh.body);
    expect(failure.class).toBe('auth_failed');
    expect(modelText(failure)).toMatch(/Ask the user to authorise/);
  });
  test('a refresh that meets a service that is down', () => {
    expect(http(down.refresh.status).class).toBe('external_service_unavailable');
  });
});

describe('H14 an explicit word on retrying', () => {
  const expected: [string, RetryDecision][] = [
    ['conflict_in_progress', waits(5_000)],
    ['server_error', stops('told_not_to')],
    ['rate_limit', stops('told_not_to')],
  ];
  test.each(variantsOf('H14', expected))('%j', ({ status, ...headers }, [failureClass, decision]) => {
    const failure = http(status, headers);
    expect(failure.class).toBe(failureClass);
    expect(decide(failure)).toEqual(decision);
  });
  test("Stripe's spelling, and through a client's error", () => {
    expect(http(500, { 'Stripe-Should-Retry': 'false' }).shouldRetry).toBe(false);
    const error = Object.assign(new Error('wrapped'), {
      cause: { response: { status: 409, headers: { 'x-should-retry': 'true', 'retry-after': '5' } } },
    });
    expect(thrown(error)).toMatchObject({ class: 'conflict_in_progress', retryAfterMs: 5_000, shouldRetry: true });
  });
});

describe('E01 fetch failed, and why', () => {
  const expected = ['network_error', 'network_error', 'network_error', 'tool_bug', 'network_error'];
  test.each(variantsOf('E01', expected))('%j', (shape, failureClass) => {
    const failure = thrown(errorOf(shape));
    expect(failure.class).toBe(failureClass);
    expect(failure.effectState).toBe('unknown');
    expect(decide(failure).retry).toBe(failureClass === 'network_error');
    const lost = lostAnswer(failure, { effect: once.effect, mayHaveHappened: false, nowMs });
    expect(lost.class).toBe(failureClass === 'network_error' ? 'outcome_unknown' : 'tool_bug');
    expect(decide(failure, once).retry).toBe(false);
  });
  test.each([
    new TypeError('NetworkError when attempting to fetch resource.'),
    new TypeError('Load failed'),
    new TypeError('Failed to fetch (api.example.test)'),
    new Error('socket hang up'),
    Object.assign(new Error('Network Error'), { name: 'AxiosError', code: 'ERR_NETWORK' }),
    new Error('while saving', { cause: new TypeError('fetch failed') }),
    new Error('request to https://x.test/ failed, reason: read ECONNRESET'),
  ])('%s', (error) => {
    expect(thrown(error).class).toBe('network_error');
  });
  test.each([
    new TypeError('items is not iterable'),
    new ReferenceError('x is not defined'),
    new RangeError('Maximum call stack size exceeded'),
    new TypeError('The account was terminated'),
  ])('%s is a bug', (error) => {
    expect(thrown(error).class).toBe('tool_bug');
  });
});

describe('E02 an AggregateError without words', () => {
  test('one inner error that may pass is enough', () => {
    const failure = thrown(errorOf(input('E02').thrown));
    expect(failure.class).toBe('network_error');
    expect(decide(failure)).toEqual(ownBackOff);
    expect(modelText(failure)).toMatch(/could not connect/);
  });
  test('permanent only where all are', () => {
    const certificate = { code: 'CERT_HAS_EXPIRED' };
    expect(thrown(new AggregateError([certificate, { code: 'ENETUNREACH' }])).class).toBe('network_error');
    expect(thrown(new AggregateError([certificate, { code: 'ENOTFOUND' }])).class).toBe('misconfigured');
    expect(thrown(new AggregateError([new TypeError('x is undefined'), new TypeError('fetch failed')])).class).toBe(
      'network_error',
    );
  });
});

describe('E04 TLS', () => {
  const broken = 'network_error';
  const wrong = 'misconfigured';
  test.each(variantsOf('E04', [wrong, wrong, wrong, wrong, broken, broken]))('%j', (cause, failureClass) => {
    const failure = thrown(new TypeError('fetch failed', { cause: errorOf(cause) }));
    expect(failure.class).toBe(failureClass);
    expect(decide(failure).retry).toBe(failureClass === 'network_error');
    if (failureClass === 'misconfigured')
      expect(modelText(failure)).toMatch(/certificate could not be verified.*operator must fix/);
  });
  test.each([
    'SELF_SIGNED_CERT_IN_CHAIN',
    'CERT_NOT_YET_VALID',
    'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
    'CERT_REVOKED',
    'HOSTNAME_MISMATCH',
  ])('%s', (code) => {
    expect(thrown({ code }).class).toBe('misconfigured');
  });
});

test('E06 a run that was cancelled is not tried again', () => {
  const failure = http(503, { 'retry-after': '3' });
  expect(
    decideRetry({
      failure,
      policy: keyed,
      starts: 1,
      spentMs: 0,
      mayHaveHappened: false,
      nowMs,
      cancelled: true,
      random: 0.5,
    }),
  ).toEqual(stops('cancelled'));
  const abort = new DOMException('This operation was aborted', 'AbortError');
  expect(thrown(abort, { aborted: 'cancelled' }).class).toBe('cancelled');
  expect(thrown(abort, { aborted: 'deadline' }).class).toBe('timeout');
  expect(thrown(new DOMException('The operation was aborted due to timeout', 'TimeoutError')).class).toBe('timeout');
});

describe('E07 things that are no errors', () => {
  const variants: [string, unknown, string, string?][] = [
    ["'no such user'", 'no such user', 'tool_error', 'refund_payment failed: no such user.'],
    ['undefined', undefined, 'tool_error', 'refund_payment failed without a message.'],
    ['null', null, 'tool_error', 'refund_payment failed without a message.'],
    ['42', 42, 'tool_error', 'refund_payment failed: 42.'],
    ['{ code }', { code: 'ECONNRESET' }, 'network_error'],
    ['{ status, headers }', { status: 429, headers: { 'retry-after': '3' } }, 'rate_limit'],
    ['Object.create(null)', Object.create(null), 'tool_error', 'refund_payment failed without a message.'],
    ["'www'", 'www', 'tool_error', 'refund_payment failed: www.'],
    [
      'a getter',
      {
        get message(): string {
          throw new Error('getter');
        },
      },
      'tool_error',
      'refund_payment failed without a message.',
    ],
    ['a symbol', Symbol('odd'), 'tool_error', 'refund_payment failed: odd.'],
    ['a function', () => 1, 'tool_error', 'refund_payment failed without a message.'],
    ['a plain object', { reason: 'closed', until: 6 }, 'tool_error', 'refund_payment failed: closed.'],
    ['an object as message', new Error({} as string), 'tool_error', 'refund_payment failed without a message.'],
    ['a revoked proxy', revokedProxy(), 'tool_error', 'refund_payment failed without a message.'],
  ];
  test.each(variants)('%s', (_name, thing, failureClass, message) => {
    const failure = thrown(thing);
    expect(failure.class).toBe(failureClass);
    expect(decide(failure).retry).toBe(failureClass !== 'tool_error');
    expect(modelText(failure)).not.toMatch(/\[object Object\]|undefined/);
    if (message !== undefined) expect(modelText(failure)).toContain(message);
  });
  test('the delay survives', () => {
    expect(decide(thrown({ status: 429, headers: { 'retry-after': '3' } }))).toEqual(waits(3_000));
  });
});

function revokedProxy(): unknown {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

describe('E09 an explicit non-retryable mark', () => {
  const nonRetryable = (message: string, cause?: unknown) =>
    Object.assign(new Error(message, { cause }), {
      name: 'ApplicationFailure',
      nonRetryable: true,
      type: 'InvalidInput',
    });
  const rateLimited = Object.assign(new Error('slow down'), { status: 429 });
  test.each([
    ['wrapped in an error', new Error('while saving', { cause: nonRetryable('bad input') }), /while saving: bad input/],
    [
      'around a transient one',
      nonRetryable('gave up', Object.assign(new Error('reset'), { code: 'ECONNRESET' })),
      /gave up/,
    ],
    ['beside a transient one', new AggregateError([nonRetryable('bad'), rateLimited]), /bad/],
  ])('%s', (_name, error, words) => {
    const failure = thrown(error);
    expect(failure).toMatchObject({ class: 'tool_error', shouldRetry: false });
    expect(decide(failure)).toEqual(stops('told_not_to'));
    expect(modelText(failure)).toMatch(words);
  });
});

test('E10 a text of megabytes is shown by head and tail', () => {
  const error = Object.assign(new Error(`insert failed: ${'(value) '.repeat(300_000)}at the end`), { name: 'DbError' });
  const failure = thrown(error);
  expect(failure.class).toBe('tool_error');
  const described = describeFailure(failure, { tool: manifestTool(), toolName: 'refund_payment', attempts: 1 });
  expect(described.message).toMatch(/insert failed[^]*characters omitted[^]*at the end/);
  expect(JSON.stringify(described).length).toBeLessThan(4_000);
  expect(described.message).not.toContain('DbError');
  expect(JSON.stringify(operatorRecord(recordOf(error, failure), createRedactor({ secrets: [] }))).length).toBeLessThan(
    24_000,
  );
});

test('E11 a secret in an error reaches neither reader', () => {
  const { thrown: shape, known_secrets: secrets } = input('E11');
  const error = errorOf(shape);
  const failure = thrown(error);
  expect(failure.class).toBe('auth_failed');
  const redactor = createRedactor({ secrets });
  const shown = modelText(failure, redactor.text);
  const logged = JSON.stringify(operatorRecord(recordOf(error, failure), redactor));
  for (const text of [shown, logged]) expect(text).not.toMatch(/ABCDEF1234567890|sid=zzz/);
  expect(shown).toContain('Invalid API key: [redacted]');
});

function recordOf(error: unknown, failure: ClassifiedFailure) {
  return {
    tool: 'refund_payment',
    callId: 'c1.1',
    key: 'k1:x',
    params: {},
    failure,
    thrown: error,
    attempt: 1,
    durationMs: 12,
    atMs: nowMs,
  };
}

describe('E13 control flow', () => {
  const named = (name: string) => Object.assign(new Error('x'), { name });
  const names = input('E13').thrown_in_tool.map((name: string) => name.replace(/ signal$/, ''));
  test.each([...names, 'CompleteAsyncError'])('%s is thrown on, also from within', (name: string) => {
    expect(classifyThrown(named(name), { nowMs, source: 'function' })).toEqual({ control: true });
    expect(classifyThrown(new Error('in tool', { cause: named(name) }), { nowMs, source: 'function' })).toEqual({
      control: true,
    });
    expect(classifyThrown(new AggregateError([new Error('a'), named(name)]), { nowMs, source: 'function' })).toEqual({
      control: true,
    });
  });
  test('the end of another workflow is a failure of this tool', () => {
    const error = Object.assign(new Error('Workflow execution failed', { cause: named('CancelledFailure') }), {
      name: 'WorkflowFailedError',
    });
    expect(thrown(error).class).toBe('tool_error');
  });
});
