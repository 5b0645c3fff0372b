import { beforeAll, describe, expect, it } from 'vitest';
import { defineTool, degraded, empty, partial, ToolError } from '../../../src/index.js';
import type { JsonObject } from '../../../src/index.js';
import { failureProtocol } from '../../../src/policy/failure-protocol.js';
import { playScene, type Scene } from '../../support/agent-scene.js';

const object = (properties: JsonObject = {}, required: string[] = []): JsonObject => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
});
const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==',
  'base64',
);
const results: Record<string, () => unknown> = {
  nothing: () => undefined,
  bigInteger: () => ({ id: 2512292042121000001n }),
  map: () => new Map([['k', 1]]),
  returnedError: () => new TypeError('bad id'),
  nested: () => ({ err: new TypeError('bad id'), at: new Date(0) }),
  half: () => partial({ succeeded: [1], failed: [{ id: 2, why: 'gone' }], confidence: 'low' }),
  old: () => degraded({ price: 3 }, { reason: 'the price service is down', asOf: new Date(0) }),
  none: () => empty('no_match'),
  list: () => [],
  surrogate: () => 'a\ud800b',
  mcpError: () => ({ content: [{ type: 'text', text: 'no such table' }], isError: true }),
  mcpWords: () => ({ content: [{ type: 'text', text: 'Prices exclude tax.' }], structuredContent: { price: 3 } }),
};
const returns = defineTool({
  name: 'returns',
  description: 'd',
  input: object({ what: { type: 'string' } }, ['what']),
  effect: 'read',
  execute: ({ what }) => results[what as string]?.(),
});
const refund = defineTool({
  name: 'shop.refund',
  description: 'd',
  input: object(
    {
      id: { type: 'string' },
      amount: { type: 'integer', minimum: 1 },
      tags: { type: 'array', items: { type: 'string' } },
    },
    ['id', 'amount'],
  ),
  effect: { idempotent: 'key' },
  execute: (input) => ({ got: input }),
});

describe('what a model wrote', () => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await playScene({
      config: { tools: [refund] },
      model: [
        {
          calls: [
            { tool: 'shop_refund', rawArguments: '{"amount":"x","tags":7,"bogus":1}' },
            {
              tool: 'shop_refund',
              rawArguments: '```json\n{"id":2512292042121000001,"amount":"3","tags":"[\\"a\\"]"}\n```',
            },
            { tool: 'shop_refund', rawArguments: '{"id":"a","amount":2512292042121000001}' },
            { tool: 'shop_refnd' },
            { tool: '__proto__' },
            { tool: 'shop_refund', rawArguments: '{"id":"a","amou', id: 'same' },
            { tool: 'shop_refund', rawArguments: '{"id":"b","amount":1}', id: 'same' },
            { tool: 'shop_refund', rawArguments: '{"id":"c","amount":1}', id: '' },
            { tool: 'shop_refund', rawArguments: '{"id":"d","amount":1}', id: null },
          ],
        },
        { finishReason: 'length', calls: [{ tool: 'shop_refund', rawArguments: '{"id":"a","amount":1' }] },
        { text: 'done' },
      ],
    });
  });

  it('has every violation told at once, by the name that the model knows', () => {
    expect(scene.told['c1.0']).toEqual({
      status: 'failed',
      error_type: 'validation_error',
      error_code: 'PARAM_MISSING_001',
      message: [
        'shop_refund did not accept the arguments.',
        '- id: is missing; expected text; for example "text"',
        '- bogus: is an unknown argument; expected only id, amount, tags',
        '- amount: must be a whole number, but is the text "x"; expected a whole number, 1 or more; for example 1',
        '- tags: must be a list, but is 7; expected a list of text; for example ["text"]',
      ].join('\n'),
      retryable: false,
      suggested_action: 'Correct everything that is named in the message, keep the rest, and call shop_refund again.',
      context: { tool_name: 'shop_refund', attempt: 0, max_attempts: 1, elapsed_ms: 0 },
    });
    expect(scene.log.find((line) => line['call_id'] === 'c1.0')).toMatchObject({
      msg: 'call ended',
      tool: 'shop.refund',
      params: '{"amount":"x","tags":7,"bogus":1}',
      error_type: 'validation_error',
      violations: [{ path: '/id' }, { path: '/bogus' }, { path: '/amount' }, { path: '/tags' }],
    });
  });
  it('is repaired only without loss, and the transcript says how', () => {
    expect(scene.told['c1.1']).toMatchObject({ data: { got: { id: '2512292042121000001', amount: 3, tags: ['a'] } } });
    const asked = scene.transcript.find((message) => message.role === 'assistant');
    expect(asked?.calls[1]?.repairs).toEqual([
      'took the JSON out of the Markdown code fence around it',
      expect.stringContaining('id: kept the number 2512292042121000001'),
      expect.stringContaining('amount'),
      expect.stringContaining('tags'),
    ]);
    expect(scene.told['c1.2']).toMatchObject({
      error_type: 'validation_error',
      message: expect.stringContaining('2512292042121000001') as string,
    });
  });
  it('names no tool that exists: the nearest is offered, and nothing runs', () => {
    expect(scene.told['c1.3']).toMatchObject({ error_type: 'unknown_tool', alternatives: ['shop_refund'] });
    expect(scene.told['c1.4']).toMatchObject({
      error_type: 'unknown_tool',
      message: 'There is no tool called __proto__.',
    });
    expect(scene.calls.filter(({ row }) => row.starts > 0).map(({ row }) => row.callId)).toEqual([
      'c1.1',
      'c1.6',
      'c1.7',
      'c1.8',
    ]);
  });
  it('was cut off: never repaired, also where closing a brace would do', () => {
    for (const callId of ['c1.5', 'c2.0']) {
      expect(scene.told[callId]).toMatchObject({ message: expect.stringContaining('were cut off') as string });
    }
  });
  it('carries ids that are missing, empty or repeated: each call has its own and one answer, in order', () => {
    const ids = scene.requests[1]?.messages.flatMap((message) =>
      message.role === 'assistant' ? message.calls.map((call) => call.providerCallId) : [],
    );
    expect(new Set(ids).size).toBe(9);
    expect(ids).not.toContain('');
    const answered = scene.requests[1]?.messages.flatMap((message) =>
      message.role === 'tool' ? [message.providerCallId] : [],
    );
    expect(answered).toEqual(ids);
  });
});

describe('what a tool returned', () => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await playScene({
      config: { tools: [returns] },
      model: [{ calls: Object.keys(results).map((what) => ({ tool: 'returns', input: { what } })) }, { text: 'done' }],
    });
  });
  const told = (what: string) => scene.told[`c1.${String(Object.keys(results).indexOf(what))}`];

  it.each([
    ['nothing', { status: 'succeeded', data: null, empty_reason: 'no_output' }],
    ['bigInteger', { status: 'succeeded', data: { id: '2512292042121000001' } }],
    ['map', { status: 'succeeded', data: { k: 1 } }],
    ['half', { status: 'partial', succeeded: [1], failed: [{ id: 2, why: 'gone' }], confidence: 'low' }],
    [
      'old',
      {
        status: 'succeeded',
        data: { price: 3 },
        degraded: { reason: 'the price service is down', as_of: '1970-01-01T00:00:00.000Z' },
      },
    ],
    ['none', { status: 'succeeded', data: null, empty_reason: 'no_match' }],
    ['list', { status: 'succeeded', data: [], empty_reason: 'empty_list' }],
    [
      'surrogate',
      { status: 'succeeded', data: 'a\ufffdb', notes: ['half characters (lone surrogates) were replaced'] },
    ],
    [
      'mcpWords',
      { status: 'succeeded', data: { price: 3 }, notes: ['beside the data the tool said: Prices exclude tax.'] },
    ],
  ])('%s is told as it is', (what, expected) => {
    expect(told(what)).toEqual(expected);
  });
  it('an Error within a result keeps its words', () => {
    expect(JSON.stringify(told('nested'))).toContain('bad id');
  });
  it('a returned Error and an MCP isError are failures', () => {
    expect(told('returnedError')).toMatchObject({ status: 'failed', error_type: 'tool_bug' });
    expect(told('mcpError')).toMatchObject({
      status: 'failed',
      error_type: 'tool_error',
      message: 'returns failed: no such table.',
    });
  });
});

describe('long texts', () => {
  const log = 'line of log\n'.repeat(40_000);
  const reason = `the first thing is wrong; ${'and more is wrong; '.repeat(2_000)}the last thing is wrong`;
  const build = `src/a.ts(1,2): error TS2304: Cannot find name 'x'.\n${'more\n'.repeat(30_000)}`;
  let scene: Scene;
  beforeAll(async () => {
    const tool = (name: string, execute: () => unknown, more: object = {}) =>
      defineTool({ name, description: 'd', input: object(), effect: 'read', execute, ...more });
    const fails = (message: string) => () => {
      throw new Error(message);
    };
    scene = await playScene({
      config: {
        tools: [
          tool('log', () => log),
          tool('fails', fails(reason)),
          tool('build', fails(build), { failureOutput: 'verbatim' }),
          tool('small_build', fails(build.slice(0, 20_000)), { failureOutput: 'verbatim' }),
        ],
      },
      model: [
        { calls: ['log', 'fails', 'build', 'small_build'].map((name) => ({ tool: name })) },
        (conversation) => ({
          calls: (conversation.lastResults() as { truncated?: { artifact_id: string } }[]).flatMap(({ truncated }) =>
            truncated
              ? [{ tool: 'read_artifact', input: { artifact_id: truncated.artifact_id, search: 'the last thing' } }]
              : [],
          ),
        }),
        { text: 'done' },
      ],
    });
  });

  it('of results show head and tail, what is missing, and where the whole is', async () => {
    const told = scene.told['c1.0'] as {
      data: string;
      truncated: { shown: number; total: number; artifact_id: string };
    };
    expect(told.data).toContain('characters omitted; read_artifact shows the whole');
    expect(told.truncated.total).toBe(log.length);
    expect(told.data.length).toBeLessThan(16_300);
    const stored = await scene.body(told.truncated.artifact_id);
    expect(JSON.parse(new TextDecoder().decode(stored))).toBe(log);
  });
  it('of failures are cut to some 500 tokens, and read_artifact reads the rest', () => {
    const told = scene.told['c1.1'] as { message: string; truncated: { total: number } };
    expect(told.message).toMatch(
      /^fails failed: the first thing is wrong[^]*characters omitted[^]*the last thing is wrong\.$/,
    );
    expect(told.message.length).toBeLessThanOrEqual(2_000);
    expect(told.truncated.total).toBe(reason.length);
    expect(scene.told['c2.1']).toMatchObject({
      status: 'succeeded',
      data: { total_matches: 1, matches: [{ text: expect.stringContaining('the last thing is wrong') as string }] },
    });
  });
  it('of builds reach the model whole up to a high limit, with their kind, and stay out of the history', () => {
    expect(scene.told['c1.3']).toMatchObject({
      error_type: 'tool_error',
      kind: 'compile',
      message: build.slice(0, 20_000),
    });
    const long = scene.told['c1.2'] as { message: string; truncated: { total: number } };
    expect(long.message.length).toBeGreaterThan(99_000);
    expect(long.truncated.total).toBe(build.trimEnd().length);
    expect(scene.historyText.length).toBeLessThan(150_000);
  });
});

describe('what a tool says of its failures', () => {
  let scene: Scene;
  const down = () => {
    throw new ToolError({ class: 'unsupported', publicMessage: 'kein Export am Wochenende', effect: 'none' });
  };
  beforeAll(async () => {
    const tool = (name: string, more: object) =>
      defineTool({
        name,
        description: 'd',
        input: object({ day: { type: 'string' } }),
        effect: 'read',
        execute: down,
        ...more,
      });
    scene = await playScene({
      config: {
        tools: [
          tool('export.pdf', {
            suggest: (input: JsonObject) => ({ hint: `Try another day than ${input['day'] as string}` }),
          }),
          tool('deutsch', {
            messages: { unsupported: { message: '{tool} geht nicht: {reason}.', suggestedAction: 'Bitte warten.' } },
          }),
          tool('export_csv', { execute: () => 'csv' }),
          tool('lost', {
            effect: 'once',
            execute: () => Promise.reject(Object.assign(new Error('gateway'), { status: 502 })),
          }),
          tool('after', {
            effect: 'once',
            execute: () => 'x',
            messages: { skipped: { message: '{tool} wurde nicht ausgeführt: {reason}.' } },
          }),
        ],
        equivalents: [['export.pdf', 'export_csv']],
      },
      model: [
        {
          calls: [
            { tool: 'export_pdf', input: { day: 'Sunday' } },
            { tool: 'deutsch' },
            { tool: 'lost' },
            { tool: 'after' },
          ],
        },
        {
          calls: [
            { tool: 'export_pdf', input: { day: 'a' } },
            { tool: 'export_pdf', input: { day: 'b' } },
          ],
        },
        { text: 'done' },
      ],
    });
  });

  it('suggest and equivalents are offered, and nothing is done by itself', () => {
    expect(scene.told['c1.0']).toMatchObject({
      status: 'aborted',
      message: 'export_pdf cannot do this: kein Export am Wochenende.',
      suggested_action: 'Try another day than Sunday.',
      alternatives: ['export_csv'],
    });
    expect(scene.calls.some(({ row }) => row.tool === 'export_csv')).toBe(false);
  });
  it('its own texts are in its own language, also where the run refuses the call', () => {
    expect(scene.told['c1.1']).toMatchObject({
      message: 'deutsch geht nicht: kein Export am Wochenende.',
      suggested_action: 'Bitte warten.',
    });
    expect(scene.told['c1.3']).toMatchObject({
      error_type: 'skipped',
      message: 'after wurde nicht ausgeführt: an earlier call of this step may or may not have happened.',
    });
    expect(scene.log.find((line) => line['call_id'] === 'c1.3')).toMatchObject({
      error_type: 'skipped',
      status: 'failed',
    });
  });
  it('three failures in a row are pointed at in the system message, once', () => {
    const [first, second, third] = scene.requests.map(({ system }) => system);
    expect(first).toBe(failureProtocol);
    expect(second).toBe(failureProtocol);
    expect(third).toContain('export_pdf has failed 3 times in a row');
  });
});

describe('an image', () => {
  const shows = defineTool({
    name: 'shows',
    description: 'd',
    input: object(),
    effect: 'read',
    execute: () => ({ chart: png }),
  });
  it('is an attachment for a model that takes images, and never text', async () => {
    const scene = await playScene({
      config: { tools: [shows] },
      takesImages: true,
      model: [{ calls: [{ tool: 'shows' }] }, { text: 'seen' }],
    });
    expect(scene.told['c1.0']).toEqual({ status: 'succeeded', data: { chart: '(image/png, 70 bytes)' } });
    const answer = scene.requests[1]?.messages.at(-1);
    const [attachment] = answer?.role === 'tool' ? (answer.attachments ?? []) : [];
    expect(attachment).toMatchObject({ mediaType: 'image/png', bytes: 70 });
    expect(Buffer.from((await scene.body(attachment?.bodyId ?? '')) ?? []).equals(png)).toBe(true);
    expect(scene.historyText).not.toContain('iVBORw0KGgo');
  });
});
