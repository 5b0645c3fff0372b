import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Model, ModelReply, ModelRequest } from '../../src/models/model.js';
import { openAiCompatibleModel } from '../../src/models/openai-compatible-model.js';
import { FakeProvider, delta, event, finish, inPieces, toolDelta, type FakeAnswer } from './fake-provider.js';
import { aTool, assistant, requestOf, toolResult } from './requests.js';

let provider: FakeProvider;
let model: Model;

beforeEach(async () => {
  provider = await FakeProvider.start();
  model = openAiCompatibleModel({ baseUrl: provider.baseUrl, apiKey: 'sk-test', model: 'm' });
});
afterEach(() => provider.close());

const json = { 'content-type': 'application/json' };

async function reply(answer: FakeAnswer, request: Partial<ModelRequest> = {}): Promise<ModelReply> {
  provider.answer(answer);
  return model.complete(requestOf(request));
}

async function failure(answer: FakeAnswer): Promise<Record<string, unknown>> {
  return reply(answer).then(
    (value) => Promise.reject(new Error(`expected a failure, got ${JSON.stringify(value)}`)),
    (error: unknown) => error as Record<string, unknown>,
  );
}

describe('a streamed answer', () => {
  it('gives text, finish reason and usage', async () => {
    const got = await reply({
      chunks: [delta({ role: 'assistant', content: 'Hel' }), delta({ content: 'lo' }), finish('stop')],
    });
    expect(got).toEqual({
      text: 'Hello',
      calls: [],
      finishReason: 'stop',
      usage: { inputTokens: 11, outputTokens: 7 },
    });
  });

  it('is the same whatever the chunk boundaries cut through', async () => {
    const text =
      delta({ content: 'Grüße 🚚 「ok」' }) + toolDelta({ index: 0, id: 'a', name: 'get', arguments: '{"k":"é🚚"}' });
    const whole = text + finish('tool_calls');
    for (const size of [1, 7]) {
      const got = await reply({ chunks: inPieces(whole, size) });
      expect(got.text).toBe('Grüße 🚚 「ok」');
      expect(got.calls).toEqual([{ providerCallId: 'a', modelName: 'get', rawArguments: '{"k":"é🚚"}' }]);
    }
  });

  it('may have CRLF line ends, comments, no [DONE] and no last blank line', async () => {
    const text = `: keep-alive\n\n${delta({ content: 'Hi' })}: more\n\n${delta({}, 'stop')}`
      .trimEnd()
      .replaceAll('\n', '\r\n');
    expect(await reply({ chunks: inPieces(text, 5) })).toEqual({ text: 'Hi', calls: [], finishReason: 'stop' });
  });

  it('may have null content, null choices, parts as content, and usage that is no number', async () => {
    const got = await reply({
      chunks: [
        event({ choices: null }),
        delta({ content: null }),
        delta({ content: [{ type: 'text', text: 'Hi' }] }),
        finish('stop', { prompt_tokens: 'NaN', completion_tokens: null }),
      ],
    });
    expect(got).toEqual({ text: 'Hi', calls: [], finishReason: 'stop', usage: {} });
  });

  it('keeps `length`, with the arguments as far as they came', async () => {
    const fragment = '{"table":"orders","dry_run":tr';
    const got = await reply({
      chunks: [toolDelta({ index: 0, id: 'c1', name: 'purge', arguments: fragment }), finish('length')],
    });
    expect(got.finishReason).toBe('length');
    expect(got.calls).toEqual([{ providerCallId: 'c1', modelName: 'purge', rawArguments: fragment }]);
  });

  it('counts as complete once it has its finish reason, also where the socket dies after that', async () => {
    const got = await reply({ chunks: [delta({ content: 'Hi' }), delta({}, 'stop')], then: 'cut' });
    expect(got).toEqual({ text: 'Hi', calls: [], finishReason: 'stop' });
  });

  it('may come whole, from a server that does not stream', async () => {
    const calls = [
      { id: 'call_0', function: { name: 'get', arguments: '{"k":1}' } },
      { id: 'call_0', function: { name: 'get', arguments: '{"k":2}' } },
    ];
    const body = { choices: [{ message: { content: null, tool_calls: calls }, finish_reason: 'tool_calls' }] };
    const got = await reply({ headers: json, chunks: [JSON.stringify(body)] });
    expect(got.calls.map((call) => call.rawArguments)).toEqual(['{"k":1}', '{"k":2}']);
  });
});

it('an answer that did not stream may be long', async () => {
  const content = 'x'.repeat(300_000);
  const body = { choices: [{ message: { content }, finish_reason: 'stop' }] };
  expect((await reply({ headers: json, chunks: [JSON.stringify(body, null, 2)] })).text).toBe(content);
});

describe('tool calls in a stream', () => {
  const cases: { it: string; chunks: string[]; calls: [unknown, string, string][] }[] = [
    {
      it: 'are joined from fragments of two parallel calls, interleaved',
      chunks: [
        toolDelta({ index: 0, id: 'a', name: 'get', arguments: '' }),
        toolDelta({ index: 1, id: 'b', name: 'put', arguments: '{"k' }),
        toolDelta({ index: 0, arguments: '{"k"' }, { index: 1, arguments: '":2' }),
        toolDelta({ index: 1, arguments: '}' }),
        toolDelta({ index: 0, arguments: ':1}' }),
      ],
      calls: [
        ['a', 'get', '{"k":1}'],
        ['b', 'put', '{"k":2}'],
      ],
    },
    {
      it: 'may lack ids, have empty ones or null (M01)',
      chunks: [
        toolDelta(
          { name: 'a', arguments: '{}' },
          { id: '', name: 'b', arguments: '{}' },
          { id: null, name: 'a', arguments: '{}' },
        ),
      ],
      calls: [
        [undefined, 'a', '{}'],
        ['', 'b', '{}'],
        [null, 'a', '{}'],
      ],
    },
    {
      it: 'may repeat an id at different indexes (M02)',
      chunks: [
        toolDelta({ index: 0, id: 'call_0', name: 'get', arguments: '{"k":1}' }),
        toolDelta({ index: 1, id: 'call_0', name: 'get', arguments: '{"k":2}' }),
      ],
      calls: [
        ['call_0', 'get', '{"k":1}'],
        ['call_0', 'get', '{"k":2}'],
      ],
    },
    {
      it: 'may repeat id and index for whole calls',
      chunks: [
        toolDelta({ index: 0, id: 'call_0', name: 'get', arguments: '{"k":1}' }),
        toolDelta({ index: 0, id: 'call_0', name: 'get', arguments: '{"k":2}' }),
      ],
      calls: [
        ['call_0', 'get', '{"k":1}'],
        ['call_0', 'get', '{"k":2}'],
      ],
    },
    {
      it: 'may share one index and differ in id',
      chunks: [
        toolDelta({ index: 0, id: 'a', name: 'get', arguments: '{"k":1}' }),
        toolDelta({ index: 0, id: 'b', name: 'get', arguments: '' }),
        toolDelta({ index: 0, arguments: '{"k":2}' }),
      ],
      calls: [
        ['a', 'get', '{"k":1}'],
        ['b', 'get', '{"k":2}'],
      ],
    },
    {
      it: 'may repeat id and name in every fragment',
      chunks: [
        toolDelta({ index: 0, id: 'a', name: 'get', arguments: '{"k"' }),
        toolDelta({ index: 0, id: 'a', name: 'get', arguments: ':1}' }),
        toolDelta({ index: 0, id: 'a', name: 'get', arguments: '' }),
      ],
      calls: [['a', 'get', '{"k":1}']],
    },
    {
      it: 'may have their name after their first fragment',
      chunks: [toolDelta({ index: 0, id: 'a' }), toolDelta({ index: 0, name: 'get', arguments: '{}' })],
      calls: [['a', 'get', '{}']],
    },
    {
      it: 'keep arguments that are not JSON as they came',
      chunks: [toolDelta({ index: 0, id: 'a', name: 'get', arguments: "{'k': True}" })],
      calls: [['a', 'get', "{'k': True}"]],
    },
    {
      it: 'keep the digits of arguments that came as an object',
      chunks: [
        toolDelta({ index: 0, id: 'a', name: 'get', arguments: 'HERE' }).replace('"HERE"', '{"k":2512292042121000001}'),
      ],
      calls: [['a', 'get', '{"k":2512292042121000001}']],
    },
  ];
  it.each(cases)('$it', async ({ chunks, calls }) => {
    const got = await reply({ chunks: [...chunks, finish('tool_calls')] });
    expect(got.calls.map((call) => [call.providerCallId, call.modelName, call.rawArguments])).toEqual(calls);
  });

  it('without a name make the answer useless', async () => {
    const error = await failure({ chunks: [toolDelta({ index: 0, id: 'a', arguments: '{}' }), finish('tool_calls')] });
    expect(error).toMatchObject({ message: 'the answer holds a tool call without a name', statusCode: 200 });
  });
});

describe('a failed answer', () => {
  it('429: one request, and the wait is on the error', async () => {
    const error = await failure({
      status: 429,
      headers: { ...json, 'retry-after': '7' },
      chunks: ['{"error":{"message":"slow down","code":"rate_limit_exceeded"}}'],
    });
    expect(error).toMatchObject({
      message: 'slow down',
      statusCode: 429,
      data: { error: { code: 'rate_limit_exceeded' } },
    });
    expect(error['responseHeaders']).toMatchObject({ 'retry-after': '7' });
    expect(provider.requests).toHaveLength(1);
  });

  it('500 without a readable body', async () => {
    const error = await failure({
      status: 500,
      headers: { 'content-type': 'text/html' },
      chunks: ['<html>oops</html>'],
    });
    expect(error).toMatchObject({ statusCode: 500, responseBody: '<html>oops</html>' });
    expect(error['message']).not.toContain('<');
  });

  it('500 whose body is cut keeps its status', async () => {
    const headers = { ...json, 'content-length': '1000' };
    expect(await failure({ status: 500, headers, chunks: ['{"error"'], then: 'cut' })).toMatchObject({
      statusCode: 500,
    });
  });

  it('a page of HTML with status 200', async () => {
    const error = await failure({
      headers: { 'content-type': 'text/html' },
      chunks: ['<!DOCTYPE html><html>hi</html>'],
    });
    expect(error).toMatchObject({ message: 'the answer could not be read', statusCode: 200 });
    expect(error['responseHeaders']).toMatchObject({ 'content-type': 'text/html' });
  });

  it('an empty body with status 200', async () => {
    expect(await failure({ chunks: [] })).toMatchObject({ statusCode: 200, responseBody: '' });
  });

  it('a redirect is not followed', async () => {
    const error = await failure({ status: 307, headers: { location: '/v1/elsewhere' } });
    expect(error).toMatchObject({ statusCode: 307 });
    expect(provider.requests).toHaveLength(1);
  });

  it('a stream that was cut rejects with the socket’s error, and never with a partial call', async () => {
    const error = await failure({
      chunks: [toolDelta({ index: 0, id: 'a', name: 'get', arguments: '{}' })],
      then: 'cut',
    });
    expect(error).toMatchObject({ name: 'TypeError', cause: { code: 'UND_ERR_SOCKET' } });
  });

  it('a stream that ended without its finish mark', async () => {
    const error = await failure({
      chunks: [toolDelta({ index: 0, id: 'a', name: 'get', arguments: '{}' }), event('[DONE]')],
    });
    expect(error).toMatchObject({ message: 'the answer ended before it was complete', statusCode: 200 });
  });

  it('an event that was cut in the middle', async () => {
    expect(await failure({ chunks: ['data: {"choices":[{"del'] })).toMatchObject({
      message: 'the answer could not be read',
    });
  });

  it('no server', async () => {
    const gone = openAiCompatibleModel({ baseUrl: 'http://127.0.0.1:1/v1', model: 'm' });
    await expect(gone.complete(requestOf())).rejects.toMatchObject({ name: 'TypeError', message: 'fetch failed' });
  });
});

describe('an error inside a 200', () => {
  const overloaded = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } };
  const cases: { it: string; answer: FakeAnswer; error: Record<string, unknown> }[] = [
    {
      it: 'as an error event after others (H08)',
      answer: { chunks: [event({}, 'message_start'), event(overloaded, 'error')] },
      error: { message: 'Overloaded', statusCode: 200, data: overloaded },
    },
    {
      it: 'as an error event first (H08)',
      answer: { chunks: [event({ type: 'error', error: { type: 'invalid_request_error', message: 'bad' } }, 'error')] },
      error: {
        message: 'bad',
        responseBody: '{"type":"error","error":{"type":"invalid_request_error","message":"bad"}}',
      },
    },
    {
      it: 'as words in an error event',
      answer: { chunks: [event('Overloaded', 'error')] },
      error: { message: 'Overloaded', responseBody: 'Overloaded' },
    },
    {
      it: 'after a whole tool call',
      answer: {
        chunks: [
          toolDelta({ index: 0, id: 'a', name: 'get', arguments: '{}' }),
          finish('tool_calls'),
          event(overloaded),
        ],
      },
      error: { message: 'Overloaded' },
    },
    {
      it: 'with the real code, in a JSON body (H09)',
      answer: {
        headers: json,
        chunks: ['{"error":{"message":"Provider returned error","code":429,"metadata":{"raw":"1015"}}}'],
      },
      error: { message: 'Provider returned error', statusCode: 429 },
    },
    {
      it: 'with the real code as text, in an event (H09)',
      answer: { chunks: [event({ error: { code: '402', message: 'no credit' } })] },
      error: { message: 'no credit', statusCode: 402 },
    },
    {
      it: 'beside an empty choice that says stop (H09)',
      answer: {
        headers: json,
        chunks: [
          '{"choices":[{"message":{"content":null},"finish_reason":"stop"}],"error":{"code":502,"message":"x"}}',
        ],
      },
      error: { message: 'x', statusCode: 502 },
    },
    {
      it: 'as no choices at all (H09)',
      answer: { headers: json, chunks: ['{"choices":null}'] },
      error: { message: 'the answer ended before it was complete', statusCode: 200 },
    },
    {
      it: 'as a finish reason',
      answer: { chunks: [delta({ content: 'Hi' }), finish('error')] },
      error: { message: 'the provider broke the answer off', statusCode: 200 },
    },
  ];
  it.each(cases)('$it', async ({ answer, error }) => {
    expect(await failure(answer)).toMatchObject(error);
  });
});

describe('aborting', () => {
  it('in mid-stream rejects with the reason and closes the socket', async () => {
    provider.answer({ chunks: [delta({ content: 'Hi' })], then: 'hang' });
    const abort = new AbortController();
    const completing = model.complete(requestOf({ signal: abort.signal }));
    setTimeout(() => abort.abort(new Error('the run was cancelled')), 50);
    await expect(completing).rejects.toThrow('the run was cancelled');
    await provider.requests[0]?.closed;
  });

  it('before the start sends nothing', async () => {
    const request = requestOf({ signal: AbortSignal.abort(new Error('too late')) });
    await expect(model.complete(request)).rejects.toThrow('too late');
    expect(provider.requests).toHaveLength(0);
  });
});

describe('the request', () => {
  const chunks = [delta({ content: 'ok' }), finish('stop')];

  it('goes to the endpoint with key, tools and the wish for usage', async () => {
    await reply({ chunks }, { system: 'Be brief.', tools: [aTool] });
    const [request] = provider.requests;
    expect(request?.path).toBe('/v1/chat/completions');
    expect(request?.headers.authorization).toBe('Bearer sk-test');
    expect(request?.body).toEqual({
      model: 'm',
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'hello' },
      ],
      tools: [{ type: 'function', function: { name: 'get', description: 'Gets.', parameters: aTool.inputSchema } }],
      stream: true,
      stream_options: { include_usage: true },
    });
  });

  it('sends arguments back with their digits and spelling, and unreadable ones as an object', async () => {
    const exact = '{ "id": 2512292042121000001 }';
    await reply(
      { chunks },
      {
        messages: [
          { role: 'user', text: 'hi' },
          assistant([
            { callId: 'c1.0', rawArguments: exact },
            { callId: 'c1.1', rawArguments: '{"a":tr' },
          ]),
          toolResult('c1.1', 'cut off', { failed: true }),
          toolResult('c1.0', '{"status":"succeeded"}'),
        ],
      },
    );
    const messages = provider.requests[0]?.body.messages ?? [];
    expect(messages[1]?.tool_calls?.map((call) => call.function.arguments)).toEqual([
      exact,
      '{"raw_arguments":"{\\"a\\":tr"}',
    ]);
    expect(messages[1]?.content).toBe(null);
    // In the order of the calls, not of the results.
    expect(messages.slice(2).map((message) => message.tool_call_id)).toEqual(['call_c1.0', 'call_c1.1']);
  });

  const withImage = (bodyId: string) => [
    { role: 'user' as const, text: 'look' },
    assistant([{ callId: 'c1.0' }]),
    toolResult('c1.0', '{"status":"succeeded"}', { attachments: [{ bodyId, mediaType: 'image/png', bytes: 3 }] }),
    { role: 'user' as const, text: 'and?' },
  ];
  const loadBody = (bodyId: string) => Promise.resolve(bodyId === 'b1' ? new Uint8Array([1, 2, 3]) : undefined);

  it('shows images in the user message that follows the results', async () => {
    model = openAiCompatibleModel({ baseUrl: provider.baseUrl, model: 'm', takesImages: true });
    await reply({ chunks }, { messages: withImage('b1'), loadBody });
    expect(provider.requests[0]?.body.messages.slice(2)).toEqual([
      { role: 'tool', tool_call_id: 'call_c1.0', content: '{"status":"succeeded"}' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'image/png, 3 bytes returned by get (call call_c1.0):' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AQID' } },
          { type: 'text', text: 'and?' },
        ],
      },
    ]);
  });

  it('names images in words where the model does not take them', async () => {
    await reply({ chunks }, { messages: withImage('b1'), loadBody });
    const text = '{"status":"succeeded"}\n[image/png, 3 bytes: not shown, because this model does not read images]';
    expect(provider.requests[0]?.body.messages[2]?.content).toBe(text);
  });

  it('names images that are no longer stored', async () => {
    model = openAiCompatibleModel({ baseUrl: provider.baseUrl, model: 'm', takesImages: true });
    await reply({ chunks }, { messages: withImage('gone'), loadBody });
    expect(provider.requests[0]?.body.messages[2]?.content).toContain('not shown, because it is no longer stored');
  });

  it('returns reasoning and signatures with the tool calls that they came with', async () => {
    const signature = { google: { thought_signature: 'SIG' } };
    const answer = await reply({
      chunks: [
        delta({ reasoning_content: 'Let me ' }),
        delta({
          reasoning_content: 'see.',
          reasoning_details: [{ type: 'reasoning.text', index: 0, text: 'Let me ' }],
        }),
        delta({ reasoning_details: [{ type: 'reasoning.text', index: 0, text: 'see.', signature: 'S' }] }),
        delta({
          tool_calls: [{ index: 0, id: 'a', function: { name: 'get', arguments: '{}' }, extra_content: signature }],
        }),
        finish('tool_calls'),
      ],
    });
    const messages = [
      { role: 'user' as const, text: 'hi' },
      assistant([{ callId: 'c1.0' }], answer.providerData ? { providerData: answer.providerData } : {}),
      toolResult('c1.0', '{}'),
    ];
    await reply({ chunks }, { messages });
    expect(provider.requests[1]?.body.messages[1]).toMatchObject({
      reasoning_content: 'Let me see.',
      reasoning_details: [{ type: 'reasoning.text', index: 0, text: 'Let me see.', signature: 'S' }],
      tool_calls: [{ extra_content: signature }],
    });
  });
});
