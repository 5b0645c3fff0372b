import { APICallError } from '@ai-sdk/provider';
import type { LanguageModelV4CallOptions, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { AiSdkModel } from '../../src/models/model-choice.js';
import { aiSdkModel } from '../../src/models/ai-sdk-model.js';
import type { AiSdkStreamPart } from '../../src/models/ai-sdk-stream.js';
import type { Model } from '../../src/models/model.js';
import { FakeProvider, delta, event, finish, inPieces, toolDelta } from './fake-provider.js';
import { aTool, assistant, requestOf, toolResult } from './requests.js';

describe('through @ai-sdk/openai-compatible, over a socket', () => {
  let provider: FakeProvider;
  let model: Model;
  beforeEach(async () => {
    provider = await FakeProvider.start();
    const sdk = createOpenAICompatible({ name: 'local', baseURL: provider.baseUrl, apiKey: 'k', includeUsage: true });
    model = aiSdkModel(sdk('m'));
  });
  afterEach(() => provider.close());

  it('reads text and two interleaved calls, whatever the chunk boundaries', async () => {
    const text = [
      delta({ content: 'Grüße 🚚' }),
      toolDelta(
        { index: 0, id: 'a', name: 'get', arguments: '{"k"' },
        { index: 1, id: 'b', name: 'put', arguments: '{' },
      ),
      toolDelta({ index: 1, arguments: '"k":"é"}' }, { index: 0, arguments: ':2512292042121000001}' }),
      finish('tool_calls'),
    ].join('');
    provider.answer({ chunks: inPieces(text, 3) });
    expect(await model.complete(requestOf({ tools: [aTool] }))).toEqual({
      text: 'Grüße 🚚',
      calls: [
        { providerCallId: 'a', modelName: 'get', rawArguments: '{"k":2512292042121000001}' },
        { providerCallId: 'b', modelName: 'put', rawArguments: '{"k":"é"}' },
      ],
      finishReason: 'tool-calls',
      usage: { inputTokens: 11, outputTokens: 7 },
    });
  });

  it('keeps malformed arguments and `length` as they came', async () => {
    provider.answer({
      chunks: [toolDelta({ index: 0, id: 'a', name: 'get', arguments: '{"k":tr' }), finish('length')],
    });
    expect(await model.complete(requestOf())).toMatchObject({
      calls: [{ rawArguments: '{"k":tr' }],
      finishReason: 'length',
    });
  });

  it('makes distinct ids of missing and repeated ones', async () => {
    const call = { name: 'get', arguments: '{}' };
    const fragments = [
      { index: 0, ...call },
      { index: 1, id: '', ...call },
      { index: 2, id: 'x', ...call },
      { index: 3, id: 'x', ...call },
    ];
    provider.answer({ chunks: [toolDelta(...fragments), finish('tool_calls')] });
    const { calls } = await model.complete(requestOf());
    expect(new Set(calls.map((made) => made.providerCallId)).size).toBe(4);
  });

  it('makes one request on a 429, and its headers are on the error', async () => {
    provider.answer({ status: 429, headers: { 'retry-after': '7' }, chunks: ['{"error":{"message":"slow down"}}'] });
    const error = await model.complete(requestOf()).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ message: 'slow down', statusCode: 429 });
    expect(error).toMatchObject({ responseHeaders: { 'retry-after': '7' } });
    expect(provider.requests).toHaveLength(1);
  });

  it('rejects with the status of a 500', async () => {
    provider.answer({ status: 500, chunks: ['<html>'] });
    await expect(model.complete(requestOf())).rejects.toMatchObject({ statusCode: 500, responseBody: '<html>' });
  });

  it('rejects with the socket’s error when the stream is cut', async () => {
    provider.answer({ chunks: [toolDelta({ index: 0, id: 'a', name: 'get', arguments: '{}' })], then: 'cut' });
    await expect(model.complete(requestOf())).rejects.toMatchObject({
      name: 'TypeError',
      cause: { code: 'UND_ERR_SOCKET' },
    });
  });

  it('rejects when the stream ends without its finish mark', async () => {
    provider.answer({ chunks: [toolDelta({ index: 0, id: 'a', name: 'get', arguments: '{}' }), event('[DONE]')] });
    await expect(model.complete(requestOf())).rejects.toMatchObject({ statusCode: 200 });
  });

  it('reads the code of an error inside the stream, also where the provider could not', async () => {
    provider.answer(
      { chunks: [event({ error: { message: 'busy', code: 429 } })] },
      { chunks: [event({ error: { code: 502 } })] },
      { chunks: [event({ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }, 'error')] },
    );
    await expect(model.complete(requestOf())).rejects.toMatchObject({ message: 'busy', statusCode: 429 });
    await expect(model.complete(requestOf())).rejects.toMatchObject({ statusCode: 502 });
    const overloaded = await model.complete(requestOf()).catch((thrown: unknown) => thrown as APICallError);
    expect(overloaded).toMatchObject({ message: 'Overloaded', statusCode: 200 });
    expect(JSON.parse((overloaded as APICallError).responseBody ?? '')).toMatchObject({
      error: { type: 'overloaded_error' },
    });
  });

  it('keeps an event that the provider could not read, and not the validator’s words', async () => {
    provider.answer({ chunks: [event({ choices: null })] });
    const error = await model.complete(requestOf()).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      message: 'the answer could not be read',
      responseBody: '{"choices":null}',
      response: { status: 200 },
      cause: { name: 'AI_InvalidResponseDataError' },
    });
  });

  it('closes the socket on abort, and rejects with the reason', async () => {
    provider.answer({ chunks: [delta({ content: 'Hi' })], then: 'hang' });
    const abort = new AbortController();
    const completing = model.complete(requestOf({ signal: abort.signal }));
    setTimeout(() => abort.abort(new Error('the run was cancelled')), 50);
    await expect(completing).rejects.toThrow('the run was cancelled');
    await provider.requests[0]?.closed;
  });

  it('sends digits back that JSON.parse would round', async () => {
    provider.answer({ chunks: [delta({ content: 'ok' }), finish('stop')] });
    const messages = [
      { role: 'user' as const, text: 'hi' },
      assistant([{ callId: 'c1.0', rawArguments: '{"id": 2512292042121000001, "x": 1e999}' }]),
      toolResult('c1.0', '{}'),
    ];
    await model.complete(requestOf({ messages }));
    const sent = provider.requests[0]?.body.messages[1]?.tool_calls?.[0]?.function.arguments;
    expect(sent).toBe('{"id":2512292042121000001,"x":1e999}');
  });
});

/** A provider in the process, for what no HTTP provider does on demand. */
function fakeModel(version: 'v2' | 'v3' | 'v4', parts: unknown[], more: Record<string, unknown> = {}) {
  const seen: { options?: LanguageModelV4CallOptions; cancelled: boolean } = { cancelled: false };
  const model: AiSdkModel = {
    specificationVersion: version,
    provider: 'fake.chat',
    modelId: 'm-1',
    ...more,
    ...{
      doStream(options: LanguageModelV4CallOptions) {
        seen.options = options;
        const stream = new ReadableStream<AiSdkStreamPart>({
          start(controller) {
            for (const part of parts) controller.enqueue(part as LanguageModelV4StreamPart);
            if (parts.at(-1) !== 'hang') controller.close();
          },
          cancel() {
            seen.cancelled = true;
          },
        });
        return Promise.resolve({ stream, response: { headers: { 'x-request-id': 'r1' } } });
      },
    },
  };
  return { model: aiSdkModel(model), seen };
}

const ended = (version: string, reason: string, usage: unknown) => ({
  type: 'finish',
  finishReason: version === 'v2' ? reason : { unified: reason, raw: reason },
  usage,
});
const noUsage = { inputTokens: undefined, outputTokens: undefined };

describe.each(['v2', 'v3', 'v4'] as const)('a model of specification %s', (version) => {
  it('reports usage and finish reason alike', async () => {
    const usage =
      version === 'v2'
        ? { inputTokens: 3, outputTokens: 4 }
        : { inputTokens: { total: 3 }, outputTokens: { total: 4 } };
    const { model } = fakeModel(version, [ended(version, 'content-filter', usage)]);
    expect(await model.complete(requestOf())).toEqual({
      text: '',
      calls: [],
      finishReason: 'content-filter',
      usage: { inputTokens: 3, outputTokens: 4 },
    });
    expect(model.name).toBe('fake:m-1');
  });

  it('leaves usage out that is missing or no number', async () => {
    for (const usage of [undefined, noUsage, { inputTokens: NaN, outputTokens: { total: 'NaN' } }]) {
      const { model } = fakeModel(version, [ended(version, 'stop', usage)]);
      expect(await model.complete(requestOf())).not.toHaveProperty('usage');
    }
  });

  it('is sent images as files in the way of its specification', async () => {
    const { model, seen } = fakeModel(version, [ended(version, 'stop', noUsage)], { supportedUrls: { 'image/*': [] } });
    await model.complete(
      requestOf({
        messages: [
          { role: 'user', text: 'look' },
          assistant([{ callId: 'c1.0' }]),
          toolResult('c1.0', '{}', { attachments: [{ bodyId: 'b', mediaType: 'image/png', bytes: 3 }] }),
        ],
        loadBody: () => Promise.resolve(new Uint8Array([1, 2, 3])),
      }),
    );
    const bytes = new Uint8Array([1, 2, 3]);
    expect(seen.options?.prompt.at(-1)).toEqual({
      role: 'user',
      content: [
        { type: 'text', text: 'image/png, 3 bytes returned by get (call call_c1.0):' },
        { type: 'file', mediaType: 'image/png', data: version === 'v4' ? { type: 'data', data: bytes } : bytes },
      ],
    });
  });
});

describe('the parts of an answer', () => {
  const call = (id: string, input: string, more = {}) => ({
    type: 'tool-call',
    toolCallId: id,
    toolName: 'get',
    input,
    ...more,
  });

  it('are sent back as they came: reasoning, signatures and their order', async () => {
    const { model } = fakeModel('v4', [
      { type: 'custom', kind: 'fake.start', providerMetadata: { fake: { id: 'm' } } },
      { type: 'reasoning-start', id: '0' },
      { type: 'reasoning-delta', id: '0', delta: 'hmm' },
      { type: 'reasoning-delta', id: '0', delta: '', providerMetadata: { fake: { signature: 'SIG' } } },
      { type: 'reasoning-end', id: '0' },
      { type: 'text-start', id: '1' },
      { type: 'text-delta', id: '1', delta: 'Looking.' },
      { type: 'text-end', id: '1' },
      call('a', '{"k":1}', { providerMetadata: { fake: { thought: 'T' } } }),
      ended('v4', 'tool-calls', noUsage),
    ]);
    const reply = await model.complete(requestOf());
    expect(reply.text).toBe('Looking.');
    const messages = [
      { role: 'user' as const, text: 'hi' },
      assistant([{ callId: 'c1.0', rawArguments: '{"k":1}' }], {
        text: reply.text,
        providerData: reply.providerData ?? {},
      }),
      toolResult('c1.0', 'no', { failed: true }),
    ];
    const next = fakeModel('v4', [ended('v4', 'stop', noUsage)]);
    await next.model.complete(requestOf({ messages }));
    expect(next.seen.options?.prompt.slice(1)).toEqual([
      {
        role: 'assistant',
        content: [
          { type: 'custom', kind: 'fake.start', providerOptions: { fake: { id: 'm' } } },
          { type: 'reasoning', text: 'hmm', providerOptions: { fake: { signature: 'SIG' } } },
          { type: 'text', text: 'Looking.' },
          {
            type: 'tool-call',
            toolCallId: 'call_c1.0',
            toolName: 'get',
            input: { k: 1 },
            providerOptions: { fake: { thought: 'T' } },
          },
        ],
      },
      {
        role: 'tool',
        content: [
          {
            type: 'tool-result',
            toolCallId: 'call_c1.0',
            toolName: 'get',
            output: { type: 'error-text', value: 'no' },
          },
        ],
      },
    ]);

    const other = fakeModel('v4', [ended('v4', 'stop', noUsage)], { provider: 'other' });
    await other.model.complete(requestOf({ messages }));
    expect(other.seen.options?.prompt[1]?.content).toEqual([
      { type: 'text', text: 'Looking.' },
      { type: 'tool-call', toolCallId: 'call_c1.0', toolName: 'get', input: { k: 1 } },
    ]);
  });

  it('include calls with one id twice, and leave out what the provider ran itself', async () => {
    const { model } = fakeModel('v3', [
      { type: 'tool-input-start', id: 'x', toolName: 'get' },
      { type: 'tool-input-delta', id: 'x', delta: '{"k":' },
      call('x', '{"k":1}'),
      { type: 'tool-input-start', id: 'x', toolName: 'get' },
      call('x', '{"k":2}'),
      { type: 'tool-input-start', id: 's', toolName: 'web_search', providerExecuted: true },
      { type: 'tool-input-delta', id: 's', delta: '{}' },
      call('s', '{}', { providerExecuted: true }),
      ended('v3', 'tool-calls', noUsage),
    ]);
    expect((await model.complete(requestOf())).calls.map((made) => made.rawArguments)).toEqual(['{"k":1}', '{"k":2}']);
  });

  it('keep a call that was cut off at the token limit, and refuse one that was never completed otherwise', async () => {
    const fragments = [
      { type: 'tool-input-start', id: 'x', toolName: 'purge' },
      { type: 'tool-input-delta', id: 'x', delta: '{"dry_run":tr' },
    ];
    const cut = fakeModel('v4', [...fragments, ended('v4', 'length', noUsage)]);
    expect(await cut.model.complete(requestOf())).toMatchObject({
      finishReason: 'length',
      calls: [{ providerCallId: 'x', modelName: 'purge', rawArguments: '{"dry_run":tr' }],
    });
    const lost = fakeModel('v4', [...fragments, ended('v4', 'tool-calls', noUsage)]);
    await expect(lost.model.complete(requestOf())).rejects.toThrow('the call of purge was never completed');
  });

  it.each(['error', 'interrupted'])('of an answer that finished with %s are not returned', async (reason) => {
    const { model } = fakeModel('v4', [call('x', '{}'), ended('v4', reason, noUsage)]);
    await expect(model.complete(requestOf())).rejects.toMatchObject({
      message: 'the provider broke the answer off',
      responseHeaders: { 'x-request-id': 'r1' },
    });
  });

  it('that are an error reject with all that is known of it', async () => {
    const http = new APICallError({ message: 'm', url: 'u', requestBodyValues: {}, statusCode: 529 });
    const cases: [unknown, Record<string, unknown>][] = [
      [http, { statusCode: 529 }],
      [
        { message: 'busy', type: 'overloaded_error', statusCode: 529 },
        { message: 'busy', statusCode: 529 },
      ],
      ['Overloaded', { message: 'Overloaded', statusCode: 200, responseBody: 'Overloaded' }],
      [new Error('odd'), { message: 'odd', statusCode: 200, responseHeaders: { 'x-request-id': 'r1' } }],
    ];
    for (const [error, expected] of cases) {
      const { model, seen } = fakeModel('v4', [call('x', '{}'), { type: 'error', error }, 'hang']);
      await expect(model.complete(requestOf())).rejects.toMatchObject(expected);
      expect(seen.cancelled).toBe(true);
    }
  });

  it('are not waited for after an abort that the provider does not heed', async () => {
    const { model, seen } = fakeModel('v4', [{ type: 'text-start', id: '0' }, 'hang']);
    const abort = new AbortController();
    const completing = model.complete(requestOf({ signal: abort.signal }));
    setTimeout(() => abort.abort(new Error('enough')), 10);
    await expect(completing).rejects.toThrow('enough');
    expect(seen.cancelled).toBe(true);
  });
});

it('refuses a model of another specification', () => {
  const model: AiSdkModel = { specificationVersion: 'v1', provider: 'old', modelId: 'm' };
  expect(() => aiSdkModel(model)).toThrow(
    'model: expected an AI SDK language model of specification v2, v3, v4, got "v1"',
  );
});
