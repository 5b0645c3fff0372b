import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { normalizeResult } from '../../src/results/normalize-result.js';
import { HttpAnswerError } from '../../src/tools/http-errors.js';
import { degraded, empty, partial } from '../../src/tools/results.js';
import { ToolError } from '../../src/tools/tool-error.js';

const png = Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 1]);
const self: Record<string, unknown> = { a: 1 };
self['self'] = self;
const deep = () => {
  let value: unknown = 'bottom';
  for (let level = 0; level < 5000; level += 1) value = { value };
  return value;
};
class Money {
  amount = 5;
  #secret = 'x';
  get secret() {
    return this.#secret;
  }
}
const revoked = () => {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
};

describe('normalizeResult', () => {
  it.each<[string, unknown, unknown]>([
    ['a BigInt exactly', { id: 2512292042121000001n }, { id: '2512292042121000001' }],
    ['numbers that JSON lacks by name', [NaN, -Infinity, -0], ['NaN', '-Infinity', 0]],
    ['dates', [new Date(0), new Date(NaN)], ['1970-01-01T00:00:00.000Z', 'Invalid Date']],
    ['a Map with text keys as an object', new Map([['k', 1]]), { k: 1 }],
    ['any other Map as pairs', new Map([[{ id: 1 }, 'a']]), [[{ id: 1 }, 'a']]],
    ['a Set as a list', new Set([1, 'b']), [1, 'b']],
    ['undefined in a list as null, in an object not at all', { a: undefined, b: [undefined] }, { b: [null] }],
    ['methods of an object not at all', { run: () => 1, x: 1 }, { x: 1 }],
    ['a cycle', self, { a: 1, self: '(the same value again)' }],
    ['one object in two places twice', ((x) => [x, x])({ a: 1 }), [{ a: 1 }, { a: 1 }]],
    ['own fields of a class instance', new Money(), { amount: 5 }],
    ['a URL', new URL('https://a.example/x'), 'https://a.example/x'],
    ['headers and form fields', new Headers({ a: '1' }), { a: '1' }],
    ['repeated form fields', new URLSearchParams('a=1&a=2'), [['a', '1'], ['a', '2']]], // prettier-ignore
    ['a boxed primitive', [Object('x'), Object(1n)], ['x', '1']],
    ['a regular expression', /a+/g, '/a+/g'],
    ['floats as numbers', new Float32Array([0.5, 2]), [0.5, 2]],
    ['lone surrogates', { '\ud800': 'a\udc00b' }, { '\ufffd': 'a\ufffdb' }],
    ['two keys that become equal', { '\ufffd': 1, '\ud800': 2 }, { '\ufffd': 1, '\ufffd_': 2 }],
    ['toJSON', { toJSON: () => ({ shown: 1 }) }, { shown: 1 }],
    [
      'fields where toJSON throws',
      {
        x: 1,
        toJSON: () => {
          throw new Error('no');
        },
      },
      { x: 1 },
    ],
    [
      'a getter that throws',
      {
        get broken() {
          throw new Error('no');
        },
        x: 1,
      },
      { broken: '(could not be read)', x: 1 },
    ],
    ['a revoked proxy', { p: revoked() }, { p: '(could not be read)' }],
    ['an opaque object', { w: new WeakMap() }, { w: '(an object without readable fields)' }],
    [
      'an Error inside without class name and stack',
      { e: Object.assign(new TypeError('bad id', { cause: new Error('inner') }), { code: 'E1', name: 'X' }) },
      { e: { message: 'bad id', cause: { message: 'inner' }, code: 'E1' } },
    ],
    [
      'the inner errors of an AggregateError',
      { e: new AggregateError([new Error('a')], 'all') },
      { e: { message: 'all', errors: [{ message: 'a' }] } },
    ],
    ['bytes that are text as text', Buffer.from('grüße\n'), 'grüße\n'],
    ['a Buffer that went through JSON', { b: { type: 'Buffer', data: [255, 0] } }, { b: '(binary, 2 bytes)' }],
    ['a blob', new Blob(['{"a":1}'], { type: 'application/json' }), { a: 1 }],
    ['a response', new Response('hi', { headers: { 'content-type': 'text/plain' } }), 'hi'],
    ['a text stream', Readable.from(['a', 'b']), 'ab'],
    ['a byte stream', new Response('bytes').body, 'bytes'],
    [
      'an async generator',
      (async function* () {
        yield await Promise.resolve({ a: 1 });
        yield 2;
      })(),
      [{ a: 1 }, 2],
    ],
    ['a stream within', { log: Readable.from(['x']) }, { log: 'x' }],
  ])('keeps %s', async (_name, value, json) => {
    expect((await normalizeResult(value)).json).toEqual(json);
  });

  it('says that a promise was not awaited, and hears its rejection', async () => {
    const value = { p: Promise.reject(new Error('x')) };
    expect((await normalizeResult(value)).json).toEqual({ p: '(a promise that was not awaited)' });
  });

  it('keeps an own __proto__ as a field and no prototype', async () => {
    const { json } = await normalizeResult(JSON.parse('{"__proto__":{"admin":true},"x":1}'));
    expect(JSON.stringify(json)).toBe('{"__proto__":{"admin":true},"x":1}');
    expect((json as { admin?: unknown }).admin).toBeUndefined();
  });

  it.each<[string, unknown, string]>([
    ['undefined', undefined, 'no_output'],
    ['null', null, 'no_value'],
    ['an empty text', '', 'empty_text'],
    ['an empty list', [], 'empty_list'],
    ['an empty object', {}, 'empty_object'],
    ['a function', () => 1, 'no_output'],
    ['a symbol', Symbol('x'), 'no_output'],
    ['a reasoned nothing', empty('no_match'), 'no_match'],
    ['a fallback that is nothing', degraded(empty('no_match'), { reason: 'cache' }), 'no_match'],
  ])('says why there is nothing in %s', async (_name, value, emptyReason) => {
    expect((await normalizeResult(value)).emptyReason).toBe(emptyReason);
  });

  it.each<[string, unknown]>([
    ['0', 0],
    ['false', false],
    ['a list with null', [null]],
  ])('does not call %s empty', async (_name, value) => {
    expect((await normalizeResult(value)).emptyReason).toBeUndefined();
  });

  it('gives images and other bytes as attachments with placeholders', async () => {
    const { json, attachments } = await normalizeResult({ chart: png, raw: Uint8Array.from([0, 255]).buffer });
    expect(json).toEqual({ chart: '(image/png, 10 bytes)', raw: '(binary, 2 bytes)' });
    expect(attachments.map(({ mediaType, bytes }) => [mediaType, bytes.length])).toEqual([
      ['image/png', 10],
      ['application/octet-stream', 2],
    ]);
    expect(attachments[0]?.bytes).toEqual(png);
  });

  it('cuts what is nested too deeply, and what is too much', async () => {
    expect(JSON.stringify((await normalizeResult(deep())).json)).toContain('(nested too deeply)');
    expect((await normalizeResult(new Array(3_000_000))).tooLarge).toBe('more than a million values');
    const big = await normalizeResult('x'.repeat(2000), { maxBytes: 1000 });
    expect(big.tooLarge).toBe('2 kB, where 1 kB is the limit');
    expect((await normalizeResult(new Blob(['x'.repeat(2000)]), { maxBytes: 1000 })).tooLarge).toBe('more than 1 kB');
  });

  it('stops an endless stream at the limit', async () => {
    let returned = false;
    const endless = (async function* () {
      try {
        for (;;) yield await Promise.resolve('x'.repeat(100));
      } finally {
        returned = true;
      }
    })();
    expect((await normalizeResult(endless, { maxBytes: 1000 })).tooLarge).toBe('more than 1 kB');
    expect(returned).toBe(true);
  });

  it('stops a silent stream when the signal aborts, as a failure', async () => {
    const reason = new Error('deadline');
    const controller = new AbortController();
    setTimeout(() => {
      controller.abort(reason);
    }, 10);
    const result = await normalizeResult(new ReadableStream(), { signal: controller.signal });
    expect(result.failure).toEqual({ thrown: reason });
  });

  it('makes a failure of a stream that breaks or was read before', async () => {
    const broken = Readable.from(
      (async function* () {
        yield await Promise.resolve('a');
        throw new Error('reset');
      })(),
    );
    expect((await normalizeResult(broken)).failure).toMatchObject({ thrown: { message: 'reset' } });
    const used = new Response('x');
    await used.text();
    expect((await normalizeResult(used)).failure).toBeDefined();
  });

  it('makes a failure of a returned Error', async () => {
    const error = new TypeError('bad id');
    expect(await normalizeResult(error)).toMatchObject({ json: { message: 'bad id' }, failure: { thrown: error } });
  });

  it('makes a failure of a response that is no success', async () => {
    const response = Response.json({ error: 'slow down' }, { status: 429, headers: { 'retry-after': '3' } });
    const { failure } = await normalizeResult(response);
    expect(failure?.thrown).toBeInstanceOf(HttpAnswerError);
    expect(failure?.thrown).toMatchObject({
      status: 429,
      headers: { 'retry-after': '3' },
      body: { error: 'slow down' },
      contentType: 'application/json',
    });
  });

  it.each<[string, unknown]>([
    ['partial()', partial({ succeeded: ['a'], failed: [{ id: 'b', error: 'gone' }], confidence: 'low' })],
    [
      'a plain object',
      { status: 'partial', succeeded: ['a'], failed: [{ id: 'b', error: 'gone' }], confidence: 'low' },
    ],
  ])('reads a partial result from %s', async (_name, value) => {
    expect(await normalizeResult(value)).toMatchObject({
      json: { succeeded: ['a'], failed: [{ id: 'b', error: 'gone' }], confidence: 'low' },
      partial: { succeeded: ['a'], failed: [{ id: 'b', error: 'gone' }], confidence: 'low' },
    });
  });

  it('leaves an object alone that only looks partial', async () => {
    const order = { status: 'partial', items: 3 };
    expect(await normalizeResult(order)).toMatchObject({ json: order });
    expect((await normalizeResult(order)).partial).toBeUndefined();
  });

  it('marks a fallback with reason and age', async () => {
    const result = await normalizeResult(degraded({ rate: 1.1 }, { reason: 'cached', asOf: new Date(1000) }));
    expect(result).toMatchObject({ json: { rate: 1.1 }, degraded: { reason: 'cached', asOfMs: 1000 } });
    const undated = await normalizeResult(degraded(1, { reason: 'cached', asOf: new Date(NaN) }));
    expect(undated.degraded).toEqual({ reason: 'cached' });
  });

  it('reads MCP errors as failures in the server’s own words', async () => {
    const { failure } = await normalizeResult({ isError: true, content: [{ type: 'text', text: 'no sensor' }] });
    expect(failure?.thrown).toBeInstanceOf(ToolError);
    expect(failure?.thrown).toMatchObject({ class: 'tool_error', effect: 'unknown', publicMessage: 'no sensor' });
  });

  it('reads an object with other keys as data, not as an MCP envelope', async () => {
    const post = { content: [{ type: 'text', text: 'x' }], author: 'Jo' };
    expect((await normalizeResult(post)).json).toEqual(post);
    expect((await normalizeResult({ content: [] })).json).toEqual({ content: [] });
    expect(await normalizeResult({ content: [] }, { source: 'mcp' })).toMatchObject({
      json: null,
      emptyReason: 'no_output',
    });
  });

  it('notes words beside structured data only where they say something else', async () => {
    const structuredContent = { t: 21 };
    const same = await normalizeResult({ structuredContent, content: [{ type: 'text', text: '{"t":21}' }] });
    expect(same.notes).toEqual([]);
    const other = await normalizeResult({ structuredContent, content: [{ type: 'text', text: 'sensor is old' }] });
    expect(other).toMatchObject({ json: { t: 21 }, notes: ['beside the data the tool said: sensor is old'] });
  });

  it('never rejects and always gives JSON, whatever it is given', async () => {
    const weird = fc.constantFrom<() => unknown>(
      () => self,
      revoked,
      () => new Proxy({}, { ownKeys: () => { throw new Error('trap'); } }), // prettier-ignore
      () => new Proxy([], { get: () => { throw new Error('trap'); } }), // prettier-ignore
      () => new Proxy(new Error('x'), { getPrototypeOf: () => { throw new Error('trap'); } }), // prettier-ignore
      () => ({ get perdureResult() { throw new Error('getter'); } }), // prettier-ignore
      () => ({ perdureResult: 'degraded', reason: 3 }),
      () => ({ status: 'partial', succeeded: 1, failed: [] }),
      () => ({ toJSON() { return this; } }), // prettier-ignore
      () => ({ content: [{ type: 'image', data: '***' }, { type: 'odd' }, { type: 'resource' }] }),
      () => ({ isError: true, content: null }),
      () => Object.assign(new Error(), { message: Symbol('x'), cause: self }),
      () => Symbol.iterator,
      () => [function named() {}, class {}], // prettier-ignore
      () => new Response('x', { status: 500 }),
      () => Buffer.alloc(5),
      () => globalThis,
      () => ({ [Symbol.asyncIterator]: 3, [Symbol.iterator]: () => 5 }),
      () => ({ [Symbol.asyncIterator]: () => ({}) }),
    );
    const anything = fc.anything({
      withBigInt: true,
      withBoxedValues: true,
      withDate: true,
      withMap: true,
      withSet: true,
      withNullPrototype: true,
      withObjectString: true,
      withSparseArray: true,
      withTypedArray: true,
      stringUnit: 'binary',
    });
    const makers = fc.oneof(
      anything.map((value) => () => value),
      weird,
      fc.tuple(weird, anything).map(([make, rest]) => () => ({ rest, odd: make() })),
    );
    await fc.assert(
      fc.asyncProperty(makers, fc.constantFrom('function' as const, 'mcp' as const), async (make, source) => {
        const { json, attachments } = await normalizeResult(make(), { source });
        const text = JSON.stringify(json);
        expect(typeof text).toBe('string');
        expect(JSON.parse(text)).toEqual(json);
        expect(text.isWellFormed()).toBe(true);
        expect(attachments.every(({ bytes }) => bytes instanceof Uint8Array)).toBe(true);
      }),
      { numRuns: 500 },
    );
  });
});
