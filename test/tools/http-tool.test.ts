import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTcpServer, type AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { normalizeResult } from '../../src/results/normalize-result.js';
import { HttpAnswerError, HttpRequestError } from '../../src/tools/http-errors.js';
import { httpTool, type HttpToolOptions } from '../../src/tools/http-tool.js';
import type { ToolContext } from '../../src/tools/tool.js';

type Handler = (request: IncomingMessage, response: ServerResponse, body: string) => void;
let handle: Handler;
let seen: { method: string; url: string; headers: IncomingMessage['headers']; body: string }[] = [];
let base = '';

const server = createServer((request, response) => {
  let body = '';
  request.on('data', (chunk: Buffer) => (body += chunk.toString()));
  request.on('end', () => {
    seen.push({ method: request.method ?? '', url: request.url ?? '', headers: request.headers, body });
    handle(request, response, body);
  });
});

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  base = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
});
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});
beforeEach(() => {
  seen = [];
  handle = answer(200, '{"ok":true}');
});

function answer(status: number, body: string | Buffer = '', headers: Record<string, string> = {}): Handler {
  return (_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(body);
  };
}

const ctx = (signal = new AbortController().signal) =>
  ({ idempotencyKey: 'k1:abc', callId: 'c1.0', runId: 'run', attempt: 1, signal, deadline: 0 }) as ToolContext;

const input = z.object({
  orderId: z.string(),
  limit: z.number().optional(),
  tags: z.array(z.string()).optional(),
});
const define = (options: Partial<HttpToolOptions<never, unknown>> | object = {}) =>
  httpTool({
    name: 'orders',
    description: 'Orders.',
    url: `${base}/orders/{orderId}`,
    input,
    ...options,
  } as never);
const call = (options: object, args: object = { orderId: '7' }, signal?: AbortSignal) =>
  define(options).execute(args, ctx(signal));
const failure = async (options: object, args?: object, signal?: AbortSignal) =>
  call(options, args, signal).then(
    (value) => expect.fail(`expected a failure, got ${JSON.stringify(value)}`),
    (error: unknown) => error as Error & { body?: unknown },
  );

describe('what httpTool sends', () => {
  it('puts arguments into the address, and the rest into the query of a GET without a key', async () => {
    expect(await call({}, { orderId: 'a/b ü?', limit: 5, tags: ['x', 'y&z'] })).toEqual({ ok: true });
    expect(seen[0]).toMatchObject({
      method: 'GET',
      url: '/orders/a%2Fb%20%C3%BC%3F?limit=5&tags=x&tags=y%26z',
      body: '',
    });
    expect(seen[0]?.headers['idempotency-key']).toBeUndefined();
  });

  it.each(['POST', 'PUT', 'PATCH'])('sends the rest as JSON in a %s, with the key', async (method) => {
    await call({ method }, { orderId: '7', limit: 5 });
    expect(seen[0]).toMatchObject({ method, url: '/orders/7', body: '{"limit":5}' });
    expect(seen[0]?.headers).toMatchObject({ 'idempotency-key': 'k1:abc', 'content-type': 'application/json' });
  });

  it('sends the key with DELETE under the configured name, whatever headers say', async () => {
    await call({ method: 'DELETE', idempotencyHeader: 'X-Request-Id', headers: { 'x-request-id': 'mine' } });
    expect(seen[0]?.headers['x-request-id']).toBe('k1:abc');
    expect(seen[0]?.headers['idempotency-key']).toBeUndefined();
  });

  it('takes query, headers and body from functions and lists', async () => {
    await call({
      method: 'POST',
      query: ['limit'],
      headers: (args: { orderId: string }, { callId }: ToolContext) => ({ 'x-order': args.orderId, 'x-call': callId }),
      body: (args: { tags: string[] }) => new URLSearchParams({ tag: args.tags[0] ?? '' }),
    }, { orderId: '7', limit: 3, tags: ['a b'] }); // prettier-ignore
    expect(seen[0]).toMatchObject({ url: '/orders/7?limit=3', body: 'tag=a+b' });
    expect(seen[0]?.headers).toMatchObject({
      'x-order': '7',
      'x-call': 'c1.0',
      'content-type': 'application/x-www-form-urlencoded;charset=UTF-8',
    });
  });

  it('keeps slashes of {+rest} and encodes everything else', async () => {
    await call({ url: `${base}/files/{+orderId}?v=1` }, { orderId: 'a/b c/d?e#f' });
    expect(seen[0]?.url).toBe('/files/a/b%20c/d%3Fe%23f?v=1');
  });

  it.each([
    ['..', '{orderId}'],
    ['.', '{orderId}'],
    ['a/../../admin', '{+orderId}'],
    ['', '{orderId}'],
    ['\ud800', '{orderId}'],
    [undefined, '{orderId}'],
    [{}, '{orderId}'],
  ])('never sends %j as %s, which could change the address', async (orderId, place) => {
    const error = await failure({ url: `${base}/orders/${place}/items` }, { orderId });
    expect(error).toMatchObject({ name: 'ToolError', class: 'validation_error', effect: 'none' });
    expect(seen).toEqual([]);
  });
});

describe('effects of httpTool', () => {
  it.each([
    ['GET', { kind: 'read' }],
    ['HEAD', { kind: 'read' }],
    ['POST', { kind: 'once' }],
    ['PUT', { kind: 'once' }],
    ['DELETE', { kind: 'once' }],
    ['OPTIONS', { kind: 'once' }],
  ])('is, for %s, %j', (method, effect) => {
    expect(define({ method })).toMatchObject({ source: 'http', definition: { policy: { effect } } });
  });

  it('is what the tool declares', () => {
    expect(define({ effect: 'once' }).definition.policy.effect).toEqual({ kind: 'once' });
    expect(define({ method: 'POST', effect: 'read' }).definition.policy.effect).toEqual({ kind: 'read' });
  });
});

describe('what httpTool makes of an answer', () => {
  it('picks a part and transforms it', async () => {
    handle = answer(200, '{"data":{"items":[{"id":1},{"id":2}]}}');
    expect(await call({ response: { pick: '/data/items/1' } })).toEqual({ id: 2 });
    expect(await call({ response: { pick: '/data/none' } })).toBeUndefined();
    const transform = (items: { id: number }[], { status }: { status: number }) => [status, items.length];
    expect(await call({ response: { pick: '/data/items', transform } })).toEqual([200, 2]);
  });

  it('keeps every digit of a large number', async () => {
    handle = answer(200, '{"id":2512292042121000001,"n":5,"f":0.1}');
    expect(await call({})).toEqual({ id: '2512292042121000001', n: 5, f: 0.1 });
  });

  it('reads text in its charset, and bytes with their type', async () => {
    handle = answer(200, Buffer.from([0x67, 0x72, 0xfc, 0xdf]), { 'content-type': 'text/plain; charset=iso-8859-1' });
    expect(await call({})).toBe('grüß');
    handle = answer(200, Buffer.from([1, 2, 3]), { 'content-type': 'image/x-odd' });
    expect(await normalizeResult(await call({}))).toMatchObject({
      json: '(image/x-odd, 3 bytes)',
      attachments: [{ mediaType: 'image/x-odd' }],
    });
  });

  it('reads gzip, and nothing from 204', async () => {
    handle = answer(200, gzipSync('{"a":1}'), { 'content-encoding': 'gzip' });
    expect(await call({})).toEqual({ a: 1 });
    handle = answer(204);
    expect(await call({})).toBeUndefined();
  });

  it('gives status and headers of a HEAD', async () => {
    handle = answer(200, '', { etag: '"x"' });
    expect(await call({ method: 'HEAD' })).toMatchObject({ status: 200, headers: { etag: '"x"' } });
  });

  it('promotes a refusal within a 200, with no effect unless it says so', async () => {
    handle = answer(200, '{"error":"already shipped","data":1}');
    const isFailure = (body: { error?: string }) =>
      body.error !== undefined && { class: 'business_rule_violation', message: body.error };
    expect(await failure({ method: 'POST', isFailure, response: { pick: '/data' } })).toMatchObject({
      name: 'ToolError',
      class: 'business_rule_violation',
      effect: 'none',
      publicMessage: 'already shipped',
    });
  });

  it('throws any other status with its headers and body', async () => {
    handle = answer(429, '{"error":{"message":"slow down"}}', { 'Retry-After': '3' });
    const error = await failure({ method: 'POST' });
    expect(error).toBeInstanceOf(HttpAnswerError);
    expect(error).toMatchObject({
      status: 429,
      sent: true,
      headers: { 'retry-after': '3' },
      body: { error: { message: 'slow down' } },
      contentType: 'application/json',
    });
  });

  it('keeps an HTML error page as text, cut', async () => {
    handle = answer(520, `<!DOCTYPE html>${'x'.repeat(200_000)}`, { 'content-type': 'text/html; charset=UTF-8' });
    const error = await failure({});
    expect(error).toMatchObject({ status: 520, contentType: 'text/html; charset=UTF-8' });
    expect(String(error.body)).toHaveLength(64 * 1024);
  });

  it('takes no web page and no broken JSON for a success', async () => {
    handle = answer(200, '<html>log in</html>', { 'content-type': 'text/html' });
    expect(await failure({})).toMatchObject({ name: 'HttpAnswerError', status: 200, body: '<html>log in</html>' });
    handle = answer(200, '{"a":');
    expect(await failure({})).toMatchObject({ name: 'HttpAnswerError', status: 200, body: '{"a":' });
  });

  it('gives up a body above the limit, also one that unpacks to it', async () => {
    let closed = false;
    handle = (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/plain' });
      const timer = setInterval(() => response.write('x'.repeat(100_000)), 1);
      response.on('close', () => {
        closed = true;
        clearInterval(timer);
      });
    };
    const error = await failure({ method: 'POST', maxOutputBytes: 250_000 });
    expect(error).toMatchObject({ class: 'output_too_large', effect: 'done' });
    await expect.poll(() => closed).toBe(true);
    handle = answer(200, gzipSync(Buffer.alloc(5_000_000)), { 'content-encoding': 'gzip' });
    expect(await failure({ maxOutputBytes: 250_000 })).toMatchObject({ class: 'output_too_large' });
  });
});

describe('redirects', () => {
  it('are followed by a read within the same origin', async () => {
    handle = (request, response, body) => {
      if (request.url === '/new') answer(200, '{"moved":1}')(request, response, body);
      else answer(302, '', { location: '/new' })(request, response, body);
    };
    expect(await call({ headers: { authorization: 'Bearer s3cret' } })).toEqual({ moved: 1 });
    expect(seen[1]?.headers.authorization).toBe('Bearer s3cret');
  });

  it.each<[string, object, string]>([
    ['to another origin', {}, 'http://localhost:1/x'],
    ['of a POST', { method: 'POST' }, '/new'],
    ['of a GET with an effect', { effect: 'once' }, '/new'],
    ['to no address', {}, 'http://['],
    ['in a circle', {}, '/orders/7'],
  ])('%s are not', async (_name, options, location) => {
    handle = answer(307, '', { location });
    expect(await failure(options)).toMatchObject({ name: 'HttpAnswerError', status: 307, headers: { location } });
    expect(seen.length).toBe(_name === 'in a circle' ? 6 : 1);
  });
});

describe('a request without an answer', () => {
  const port = async () => {
    const probe = createTcpServer();
    await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve));
    const free = (probe.address() as AddressInfo).port;
    await new Promise((resolve) => probe.close(resolve));
    return free;
  };

  it('was not sent where the connection is refused', async () => {
    const error = await failure({ method: 'POST', url: `http://127.0.0.1:${String(await port())}/x` });
    expect(error).toBeInstanceOf(HttpRequestError);
    expect(error).toMatchObject({ sent: false });
    expect(error.message).toMatch(/^POST 127\.0\.0\.1:\d+: ECONNREFUSED$/);
  });

  it('was not sent where no address answers, of several', async () => {
    expect(await failure({ url: `http://localhost:${String(await port())}/x` })).toMatchObject({ sent: false });
  });

  it('was not sent where the host does not exist', async () => {
    const error = await failure({ url: 'http://no-such-host.invalid/x' });
    expect(error).toMatchObject({ sent: false });
    expect(error.message).toMatch(/ENOTFOUND|EAI_AGAIN/);
  });

  it('is a matter of configuration where fetch blocks the port', async () => {
    expect(await failure({ url: 'http://127.0.0.1:1/x' })).toMatchObject({ class: 'misconfigured', effect: 'none' });
  });

  it('may have been sent where the server hangs up without a word', async () => {
    handle = (request) => request.socket.destroy();
    expect(await failure({ method: 'POST' })).toMatchObject({ name: 'HttpRequestError', sent: true });
    expect(seen).toHaveLength(1);
  });

  it('was sent where the answer is cut off in its body', async () => {
    handle = (request, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' });
      response.write('{"a":', () => request.socket.destroy());
    };
    const error = await failure({ method: 'POST' });
    expect(error).toMatchObject({ name: 'HttpRequestError', sent: true });
    expect(error.message).toContain('the answer was cut off');
  });

  it('may have been sent where the deadline passes, and is not sent after it', async () => {
    handle = () => undefined;
    const error = await failure({ method: 'POST' }, undefined, AbortSignal.timeout(50));
    expect(error).toMatchObject({ sent: true, cause: { name: 'TimeoutError' } });
    expect(await failure({}, undefined, AbortSignal.abort())).toMatchObject({
      sent: false,
      cause: { name: 'AbortError' },
    });
    expect(seen).toHaveLength(1);
  });

  it('is not tried again', async () => {
    handle = answer(503, '{}', { 'retry-after': '0' });
    await failure({});
    expect(seen).toHaveLength(1);
  });
});

describe('secrets', () => {
  it('of headers, query and path stay out of every message', async () => {
    const options = {
      method: 'POST',
      url: `${base}/bot-s3cret/{orderId}?token=s3cret`,
      headers: { authorization: 'Bearer s3cret' },
    };
    handle = answer(401, '{}');
    const refused = await failure(options);
    handle = (request) => request.socket.destroy();
    const broken = await failure(options);
    const illegal = await failure({ ...options, headers: () => ({ authorization: 's3cret\n' + 'x' }) });
    for (const error of [refused, broken, illegal]) expect(error.message).not.toContain('s3cret');
    expect(illegal).toMatchObject({ class: 'misconfigured', effect: 'none' });
  });
});

describe('mistakes in httpTool', () => {
  it.each<[object, string]>([
    [
      { url: 'https://api.example.com/{orderID}' },
      "tools.orders.url: {orderID} is no property of the input schema; did you mean 'orderId'?",
    ],
    [{ url: 'https://{orderId}.example.com/' }, 'tools.orders.url: the host must be fixed'],
    [{ url: '/orders' }, 'tools.orders.url: expected a URL such as'],
    [{ url: 'ftp://x.example/' }, 'tools.orders.url: expected an http or https URL'],
    [{ url: 'https://u:p@x.example/' }, 'tools.orders.url: a URL must not hold a password'],
    [{ url: 'https://x.example/{orderId' }, 'tools.orders.url: unbalanced braces'],
    [{ url: 'https://x.example/{}' }, 'tools.orders.url: {} is no place for an argument'],
    [{ method: 'get' }, "tools.orders.method: expected 'GET' or"],
    [{ body: ['limit'] }, 'tools.orders.body: a GET request has no body'],
    [{ query: ['limt'] }, "tools.orders.query[0]: 'limt' is no property of the input schema; did you mean 'limit'?"],
    [{ query: { a: 1 } }, 'tools.orders.query: expected a list of argument names or a function, got an object'],
    [{ headers: { authorization: undefined } }, 'tools.orders.headers.authorization: has no value'],
    [{ headers: { authorization: 'Bearer undefined' } }, 'is an environment variable missing?'],
    [{ headers: { 'a b': 'x' } }, 'tools.orders.headers.a b: is no legal header name or value'],
    [{ idempotencyHeader: 'a b' }, 'tools.orders.idempotencyHeader'],
    [
      { response: { pick: 'data' } },
      "tools.orders.response.pick: expected a JSON Pointer such as '/data/items', got 'data'",
    ],
    [{ response: { map: 1 } }, 'tools.orders.response.map: unknown option'],
    [{ execute: () => 1 }, 'tools.orders.execute: unknown option'],
    [{ breakerKey: 'x' }, "tools.orders.breakerKey: expected a function, got 'x'"],
    [{ limiter: { perMinute: 5 } }, 'tools.orders.limiter.perMinute: unknown option'],
    [{ timeoutMs: 'x' }, 'tools.orders.timeoutMs: expected milliseconds'],
  ])('%j is refused', (options, message) => {
    expect(() => define(options)).toThrow(message);
  });

  it('takes places of unions, references and open schemas', () => {
    const url = 'https://x.example/{a}/{b}';
    const schemas = [
      { anyOf: [{ properties: { a: {} } }, { properties: { b: {} } }] },
      { $ref: '#/$defs/Both', $defs: { Both: { type: 'object', properties: { a: {}, b: {} } } } },
      { type: 'object', additionalProperties: true },
    ];
    for (const schema of schemas) expect(() => define({ url, input: schema })).not.toThrow();
  });
});
