import { createServer, type AddressInfo, type Socket } from 'node:net';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { APICallError, RetryError } from 'ai';
import { z } from 'zod';
import type { ClassifiedFailure } from '../../src/contract/failure.js';
import { classifyThrown, isControl, type ThrownContext } from '../../src/policy/classify-thrown.js';
import { failureClassNames } from '../../src/policy/failure-classes.js';
import { ToolError } from '../../src/tools/tool-error.js';

const nowMs = Date.parse('2026-10-21T07:26:30Z');

function classify(thing: unknown, context: Partial<ThrownContext> = {}): ClassifiedFailure {
  const classified = classifyThrown(thing, { nowMs, source: 'function', ...context });
  if (isControl(classified)) throw new Error('expected a failure, got control flow');
  return classified;
}
const coded = (code: string, message = 'x', more: object = {}) => Object.assign(new Error(message), { code, ...more });
const named = (name: string, message = 'x', more: object = {}) => Object.assign(new Error(message), { name, ...more });

describe('a ToolError', () => {
  test('says everything itself', () => {
    const error = new ToolError({
      class: 'rate_limit',
      effect: 'none',
      publicMessage: 'busy',
      hint: 'ask later',
      alternatives: ['other'],
      retryAfterMs: 1500.2,
    });
    expect(classify(error)).toEqual({
      class: 'rate_limit',
      effectState: 'none',
      reason: 'busy',
      public: true,
      hint: 'ask later',
      alternatives: ['other'],
      retryAfterMs: 1501,
    });
  });
  test('leaves the effect open unless it says so, and keeps words for the operator to itself', () => {
    expect(classify(new ToolError({ class: 'not_found', message: 'row 7 gone' }))).toEqual({
      class: 'not_found',
      effectState: 'unknown',
      reason: 'row 7 gone',
    });
    expect(classify(new ToolError({ class: 'not_found' }))).toEqual({ class: 'not_found', effectState: 'unknown' });
  });
  test('counts wherever it stands, also from another copy of the package', () => {
    const foreign = {
      perdureToolError: true,
      class: 'quota_exhausted',
      effect: 'none',
      message: 'm',
      publicMessage: 'p',
    };
    expect(classify(new Error('wrapped', { cause: foreign }))).toMatchObject({
      class: 'quota_exhausted',
      effectState: 'none',
      reason: 'p',
    });
    expect(classify(new ToolError({ class: 'business_rule_violation', cause: coded('ECONNRESET') }))).toMatchObject({
      class: 'business_rule_violation',
    });
  });
  test('with a class or effect that nobody knows is an ordinary tool error', () => {
    expect(classify({ perdureToolError: true, class: 'made_up', effect: 'maybe', message: 'm' })).toEqual({
      class: 'tool_error',
      effectState: 'unknown',
      reason: 'm',
    });
  });
});

describe('codes of the network', () => {
  test.each([
    ['ECONNREFUSED', 'network_error'],
    ['EAI_AGAIN', 'network_error'],
    ['UND_ERR_CONNECT_TIMEOUT', 'network_error'],
    ['EPIPE', 'network_error'],
    ['EHOSTUNREACH', 'network_error'],
    ['ERR_HTTP2_STREAM_ERROR', 'network_error'],
    ['ERR_SSL_TLSV1_ALERT_INTERNAL_ERROR', 'network_error'],
    ['ENOTFOUND', 'misconfigured'],
    ['ERR_INVALID_URL', 'misconfigured'],
    ['ERR_SSL_WRONG_VERSION_NUMBER', 'misconfigured'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'misconfigured'],
    ['UND_ERR_HEADERS_TIMEOUT', 'timeout'],
    ['UND_ERR_BODY_TIMEOUT', 'timeout'],
    ['ESOCKETTIMEDOUT', 'timeout'],
    ['HPE_INVALID_CONSTANT', 'protocol_error'],
    ['UND_ERR_RES_CONTENT_LENGTH_MISMATCH', 'protocol_error'],
    ['ENOENT', 'tool_error'],
    ['SQLITE_BUSY', 'tool_error'],
  ])('%s is %s', (code, failureClass) => {
    expect(classify(coded(code)).class).toBe(failureClass);
    expect(classify(new TypeError('fetch failed', { cause: coded(code) })).class).toBe(
      failureClass === 'tool_error' ? 'network_error' : failureClass,
    );
  });

  test("perdure's own single request proves that nothing was sent; a tool's code never does", () => {
    const states = (thing: unknown) => [
      classify(thing, { source: 'http' }).effectState,
      classify(thing, { source: 'http', sent: true }).effectState,
      classify(thing).effectState,
    ];
    expect(states(coded('ECONNREFUSED'))).toEqual(['none', 'unknown', 'unknown']);
    expect(states(coded('ETIMEDOUT', 'connect ETIMEDOUT 192.0.2.1:443'))).toEqual(['none', 'unknown', 'unknown']);
    expect(states(coded('ETIMEDOUT', 'read ETIMEDOUT'))).toEqual(['unknown', 'unknown', 'unknown']);
    expect(states(coded('ECONNRESET'))).toEqual(['unknown', 'unknown', 'unknown']);
    expect(states(named('E', 'x', { status: 429 }))).toEqual(['none', 'none', 'unknown']);
    expect(states(named('E', 'x', { status: 503, headers: { 'retry-after': '1' } }))).toEqual([
      'unknown',
      'unknown',
      'unknown',
    ]);
    expect(classify(coded('ECONNRESET'), { source: 'http', sent: false }).effectState).toBe('none');
    expect(classify(coded('ECONNRESET'), { source: 'mcp', sent: false }).effectState).toBe('none');
    expect(classify(coded('ECONNREFUSED'), { source: 'mcp' }).effectState).toBe('unknown');
  });
});

describe("clients' errors", () => {
  test.each<[string, unknown, Partial<ClassifiedFailure>]>([
    [
      'axios',
      Object.assign(named('AxiosError', 'Request failed with status code 422'), {
        code: 'ERR_BAD_REQUEST',
        response: {
          status: 422,
          headers: { get: () => null, 'content-type': 'application/json' },
          data: { errors: { amount: ['too low'] } },
        },
      }),
      { class: 'validation_error', violations: [{ path: '/amount', problem: 'too low', expected: '' }] },
    ],
    [
      'axios, deadline',
      Object.assign(named('AxiosError', 'timeout of 1000ms exceeded'), { code: 'ECONNABORTED' }),
      { class: 'timeout' },
    ],
    [
      'got',
      Object.assign(named('HTTPError', 'Response code 503'), {
        code: 'ERR_NON_2XX_3XX_RESPONSE',
        response: { statusCode: 503, headers: { 'retry-after': '2' }, body: 'busy' },
      }),
      { class: 'external_service_unavailable', retryAfterMs: 2_000, reason: 'busy' },
    ],
    [
      'ky',
      Object.assign(named('HTTPError'), { response: new Response('{"message":"gone"}', { status: 410 }) }),
      { class: 'not_found', upstreamStatus: 410 },
    ],
    [
      'a thrown Response',
      new Response('x', { status: 429, headers: { 'Retry-After': '4' } }),
      { class: 'rate_limit', retryAfterMs: 4_000 },
    ],
    [
      'undici',
      Object.assign(named('ResponseStatusCodeError'), {
        code: 'UND_ERR_RESPONSE_STATUS_CODE',
        statusCode: 404,
        body: { detail: 'no such order' },
      }),
      { class: 'not_found', reason: 'no such order' },
    ],
    [
      'OpenAI',
      Object.assign(named('RateLimitError', '429 quota'), {
        status: 429,
        headers: new Headers(),
        error: { code: 'insufficient_quota', message: 'quota' },
      }),
      { class: 'quota_exhausted' },
    ],
    [
      'AWS',
      Object.assign(named('ThrottlingException', 'Rate exceeded'), {
        $fault: 'client',
        $metadata: { httpStatusCode: 400 },
      }),
      { class: 'rate_limit' },
    ],
    [
      'Google',
      Object.assign(named('GaxiosError', 'no'), {
        code: '403',
        response: { status: 403, data: { error: { errors: [{ reason: 'rateLimitExceeded' }] } } },
      }),
      { class: 'rate_limit' },
    ],
    [
      'gRPC',
      Object.assign(new Error('14 UNAVAILABLE: No connection'), { code: 14, details: 'No connection', metadata: {} }),
      { class: 'external_service_unavailable', reason: 'No connection' },
    ],
    ['gRPC, not found', { code: 5, details: 'no such order', metadata: {} }, { class: 'not_found' }],
    ['Firebase', coded('functions/permission-denied'), { class: 'permission_denied' }],
    ['a text only', new Error('HTTP 503'), { class: 'external_service_unavailable', upstreamStatus: 503 }],
    ['a text only, another', new Error('HTTP error! status: 404'), { class: 'not_found' }],
    ['a number in a text', new Error('Issue 404 not found'), { class: 'tool_error' }],
    ['JSON that does not parse', parseError(), { class: 'protocol_error' }],
    ['MCP', named('McpError', 'MCP error -32001: Request timed out', { code: -32001 }), { class: 'timeout' }],
    [
      'MCP, closed',
      named('McpError', 'MCP error -32000: Connection closed', { code: -32000 }),
      { class: 'network_error' },
    ],
    [
      'MCP, arguments',
      named('McpError', 'MCP error -32602: Invalid arguments', { code: -32602 }),
      { class: 'validation_error', reason: 'Invalid arguments' },
    ],
    ['a missing key', named('AI_LoadAPIKeyError', 'OpenAI API key is missing'), { class: 'misconfigured' }],
  ])('%s', (_name, thing, expected) => {
    expect(classify(thing)).toMatchObject(expected);
  });

  test('the AI SDK, also after its own retries', () => {
    const call = (statusCode: number, responseHeaders: Record<string, string>, responseBody: string) =>
      new APICallError({ message: 'm', url: 'u', requestBodyValues: {}, statusCode, responseHeaders, responseBody });
    const limited = call(429, { 'retry-after-ms': '1200' }, '{"error":{"message":"slow"}}');
    expect(classify(limited, { source: 'model' })).toMatchObject({
      class: 'rate_limit',
      retryAfterMs: 1_200,
      reason: 'slow',
      effectState: 'none',
    });
    expect(
      classify(new RetryError({ message: 'm', reason: 'maxRetriesExceeded', errors: [limited] }), { source: 'model' }),
    ).toMatchObject({ class: 'rate_limit', retryAfterMs: 1_200 });
    expect(classify(call(529, {}, '<html>'), { source: 'model' }).class).toBe('external_service_unavailable');
    expect(
      classify(
        new APICallError({
          message: 'Cannot connect to API: x',
          url: 'u',
          requestBodyValues: {},
          cause: coded('ECONNREFUSED'),
        }),
        { source: 'model' },
      ).class,
    ).toBe('network_error');
  });
});

function parseError(): unknown {
  try {
    JSON.parse('<html>');
  } catch (error) {
    return error;
  }
  return undefined;
}

describe('a schema that fails inside a tool', () => {
  const issue = z.object({ amount: z.number().positive() }).safeParse({ amount: -1 }).error;
  test('is about the arguments only where every path is one of them', () => {
    expect(classify(issue, { argumentNames: ['amount', 'id'] })).toMatchObject({
      class: 'validation_error',
      effectState: 'unknown',
      violations: [{ path: '/amount' }],
    });
    expect(classify(issue, { argumentNames: ['id'] }).class).toBe('tool_error');
    expect(classify(issue).reason).toMatch(/^data inside the tool did not have the expected form \(amount: /);
  });
});

describe('an abort', () => {
  const abort = new DOMException('This operation was aborted', 'AbortError');
  test('is explained by the signal that fired', () => {
    expect(classify(abort, { aborted: 'deadline' })).toMatchObject({ class: 'timeout', effectState: 'unknown' });
    expect(classify(abort, { aborted: 'cancelled' })).toMatchObject({ class: 'cancelled', effectState: 'unknown' });
    expect(classify(new TypeError('terminated'), { aborted: 'deadline' }).class).toBe('timeout');
    expect(classify(new Error('order is closed'), { aborted: 'deadline' }).class).toBe('tool_error');
    expect(classify(coded('ECONNREFUSED'), { aborted: 'deadline', source: 'http' })).toMatchObject({
      class: 'network_error',
      effectState: 'none',
    });
  });
  test("of the tool's own making is a timeout", () => {
    expect(classify(abort).class).toBe('timeout');
    expect(classify(named('TimeoutError')).class).toBe('timeout');
    expect(classify(named('PoolTimeoutException')).class).toBe('timeout');
  });
});

test('words are gathered from the outside in, each once', () => {
  const error = new Error('saving order 7', {
    cause: new Error('constraint failed', { cause: new Error('constraint failed') }),
  });
  expect(classify(error).reason).toBe('saving order 7: constraint failed');
  expect(classify(new AggregateError([new Error('a'), new Error('b'), new Error('a')], 'all failed')).reason).toBe(
    'all failed: a; b',
  );
});

test("Temporal's delay reaches the decision", () => {
  expect(
    classify(named('ApplicationFailure', 'later', { nonRetryable: false, nextRetryDelay: '3s' })).retryAfterMs,
  ).toBe(3_000);
});

describe('whatever is thrown', () => {
  const deep = Array.from({ length: 5_000 }).reduce<unknown>((cause) => new Error('deep', { cause }), undefined);
  const wide = new AggregateError(Array.from({ length: 10_000 }, () => new Error('wide')));
  const makers = new Set<() => unknown>([
    () =>
      new Proxy(
        {},
        {
          get() {
            throw new Error('trap');
          },
          has() {
            throw new Error('trap');
          },
          ownKeys() {
            throw new Error('trap');
          },
          getPrototypeOf() {
            throw new Error('trap');
          },
        },
      ),
    () => {
      const a: Record<string, unknown> = { message: 'a' };
      a['cause'] = { cause: a, errors: [a] };
      return a;
    },
    () => deep,
    () => wide,
    () => {
      const { proxy, revoke } = Proxy.revocable([], {});
      revoke();
      return { errors: proxy, cause: proxy, headers: proxy, body: proxy, status: 500 };
    },
    () => ({
      status: 500,
      headers: {
        forEach() {
          throw new Error('no');
        },
      },
    }),
    () => ({
      name: {
        toString() {
          throw new Error('no');
        },
      },
      message: 5,
      code: Symbol('x'),
    }),
    () => Object.assign(() => 1, { status: 404 }),
  ]);
  test('is classified, and nothing throws', () => {
    const thrown = fc.oneof(
      fc.anything({ withBigInt: true, withDate: true, withMap: true, withNullPrototype: true, withObjectString: true }),
      fc.constantFrom(...makers),
    );
    fc.assert(
      fc.property(thrown, fc.constantFrom('function', 'http', 'mcp', 'builtin', 'model'), (each, source) => {
        const thing = makers.has(each as () => unknown) ? (each as () => unknown)() : each;
        const failure = classify(thing, { source });
        expect(failureClassNames).toContain(failure.class);
        if (source === 'function') expect(failure.effectState).toBe('unknown');
        if (failure.retryAfterMs !== undefined) expect(failure.retryAfterMs).toBeGreaterThanOrEqual(0);
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('real answers over real sockets', () => {
  const behaviours: Record<string, (socket: Socket) => void> = {
    garbage: (socket) => socket.end('HELLO\r\n\r\n'),
    reset: (socket) => socket.resetAndDestroy(),
    closed: (socket) => socket.destroy(),
    cut: (socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{"a":');
      setTimeout(() => socket.destroy(), 20);
    },
    page: (socket) =>
      socket.end('HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 6\r\nconnection: close\r\n\r\n<html>'),
    garbled: (socket) =>
      socket.end('HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 4\r\nconnection: close\r\n\r\nnope'),
    redirect: (socket) =>
      socket.end('HTTP/1.1 302 Found\r\nlocation: /\r\ncontent-length: 0\r\nconnection: close\r\n\r\n'),
    silent: () => undefined,
  };
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('data', (request) => {
      const path = /^\w+ \/(\w+)/.exec(String(request))?.[1] ?? '';
      // What an HTTP server answers to a TLS handshake.
      const answer = behaviours[path] ?? ((each: Socket) => each.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
      answer(socket);
    });
  });
  let base = '';
  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    base = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
  });
  afterAll(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  const free = async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const { port } = other.address() as AddressInfo;
    await new Promise((resolve) => other.close(resolve));
    return `http://127.0.0.1:${String(port)}/`;
  };
  const json = async (path: string, init?: RequestInit) => (await fetch(`${base}/${path}`, init)).json();

  test.each<[string, () => Promise<unknown>, string, string]>([
    ['nobody listens', async () => fetch(await free()), 'network_error', 'none'],
    ['no URL', () => fetch('not a url'), 'misconfigured', 'none'],
    ['a scheme that nobody speaks', () => fetch('foo://x/'), 'misconfigured', 'none'],
    ['TLS where none is spoken', () => fetch(base.replace('http', 'https')), 'misconfigured', 'none'],
    ['a connection that is reset', () => json('reset'), 'network_error', 'unknown'],
    ['a connection that is closed', () => json('closed'), 'network_error', 'unknown'],
    ['a body that is cut off', () => json('cut'), 'network_error', 'unknown'],
    ['no HTTP', () => json('garbage'), 'protocol_error', 'unknown'],
    ['a page', () => json('page'), 'protocol_error', 'unknown'],
    ['a body that does not unpack', () => json('garbled'), 'protocol_error', 'unknown'],
    ['a redirect that is not allowed', () => json('redirect', { redirect: 'error' }), 'misconfigured', 'unknown'],
    ['no answer', () => json('silent', { signal: AbortSignal.timeout(50) }), 'timeout', 'unknown'],
  ])('%s', async (_name, request, failureClass, effectState) => {
    const error: unknown = await request().then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).toBeDefined();
    expect(classify(error, { source: 'http' })).toMatchObject({ class: failureClass, effectState });
  });
});
