import { describe, expect, it } from 'vitest';
import type { TranscriptMessage } from '../../src/contract/transcript.js';
import { endlessScript, scriptedModel, type Script } from '../../src/models/scripted-model.js';
import { aTool, assistant, requestOf, toolResult } from './requests.js';

const task: TranscriptMessage = { role: 'user', text: 'Cancel the order.' };
const found = [
  task,
  assistant([{ callId: 'c1.0', tool: 'get' }]),
  toolResult('c1.0', '{"status":"succeeded","data":{"id":7}}'),
];

const script: Script = {
  name: 'shop',
  turns: [
    {
      text: 'Looking.',
      calls: [{ tool: 'get', input: { q: 'order' } }, { tool: 'get' }],
      usage: { inputTokens: 5, outputTokens: 2 },
    },
    (conversation) => {
      const { data } = conversation.result('c1.0') as { data: { id: number } };
      return { calls: [{ tool: 'cancel', input: { id: data.id } }] };
    },
    { text: 'Done.' },
  ],
};

describe('a scripted model', () => {
  it('answers the first turn with what the script says', async () => {
    const model = scriptedModel(script);
    expect(model.name).toBe('scripted:shop');
    expect(await model.complete(requestOf({ messages: [task] }))).toEqual({
      text: 'Looking.',
      calls: [
        { providerCallId: 'call_0_0', modelName: 'get', rawArguments: '{"q":"order"}' },
        { providerCallId: 'call_0_1', modelName: 'get', rawArguments: '{}' },
      ],
      finishReason: 'tool-calls',
      usage: { inputTokens: 5, outputTokens: 2 },
    });
  });

  it('gives the same turn again, also in a process that never saw the first ones', async () => {
    for (const model of [scriptedModel(script), scriptedModel(script)]) {
      for (let ask = 0; ask < 2; ask += 1) {
        const { calls } = await model.complete(requestOf({ messages: found }));
        expect(calls).toEqual([{ providerCallId: 'call_1_0', modelName: 'cancel', rawArguments: '{"id":7}' }]);
      }
    }
  });

  it('rejects when its script runs out', async () => {
    const messages = [task, ...Array.from({ length: 3 }, () => assistant([], { text: 'x' }))];
    const asking = scriptedModel(script).complete(requestOf({ messages }));
    await expect(asking).rejects.toThrow('scripted:shop has 3 turns and was asked for another');
  });

  it('can send ids and arguments as careless providers do', async () => {
    const calls = [
      { tool: 'get', id: null, rawArguments: '{"k":tr' },
      { tool: 'get', id: '' },
    ];
    const model = scriptedModel({ turns: [{ calls, finishReason: 'length' }] });
    expect(await model.complete(requestOf())).toMatchObject({
      calls: [
        { providerCallId: null, rawArguments: '{"k":tr' },
        { providerCallId: '', rawArguments: '{}' },
      ],
      finishReason: 'length',
    });
  });

  it('fails as a provider or a socket does', async () => {
    const limited = scriptedModel({ turns: [{ fail: { status: 429, headers: { 'retry-after': '3' } } }] });
    for (let ask = 0; ask < 2; ask += 1) {
      await expect(limited.complete(requestOf())).rejects.toMatchObject({
        statusCode: 429,
        responseHeaders: { 'retry-after': '3' },
      });
    }
    const cut = scriptedModel({ turns: [{ fail: {} }] });
    await expect(cut.complete(requestOf())).rejects.toMatchObject({
      message: 'fetch failed',
      cause: { code: 'ECONNRESET' },
    });
  });

  it('can fail first and answer then, for each conversation by itself', async () => {
    const model = scriptedModel({ turns: [{ failFirst: [{ status: 503 }, {}], text: 'ok' }] });
    for (const text of ['one', 'two']) {
      const request = requestOf({ messages: [{ role: 'user', text }] });
      await expect(model.complete(request)).rejects.toMatchObject({ statusCode: 503 });
      await expect(model.complete(request)).rejects.toThrow('fetch failed');
      expect(await model.complete(request)).toMatchObject({ text: 'ok', finishReason: 'stop' });
    }
  });

  it('waits as told, and no longer than the signal allows', async () => {
    const startedAt = performance.now();
    await scriptedModel({ turns: [{ delayMs: 30 }] }).complete(requestOf());
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(29);
    const signal = AbortSignal.timeout(10);
    const waiting = scriptedModel({ turns: [{ delayMs: 60_000 }] }).complete(requestOf({ signal }));
    await expect(waiting).rejects.toMatchObject({ name: 'TimeoutError' });
  });

  it('runs for any number of turns', async () => {
    const model = endlessScript((turn) =>
      turn < 300 ? { calls: [{ tool: 'get', input: { turn } }] } : { text: 'end' },
    );
    const after = (turns: number) => [task, ...Array.from({ length: turns }, () => assistant([]))];
    expect((await model.complete(requestOf({ messages: after(299) }))).calls[0]?.rawArguments).toBe('{"turn":299}');
    expect((await model.complete(requestOf({ messages: after(300) }))).text).toBe('end');
  });
});

describe('the conversation that a script reads', () => {
  it('has the task, the tools, and results by call, by tool, and of the last turn', async () => {
    const seen: unknown[] = [];
    const model = endlessScript((turn, conversation) => {
      seen.push(turn, conversation.task, conversation.tools, conversation.lastResults(), conversation.resultsOf('get'));
      return {};
    });
    const messages = [
      ...found,
      assistant([{ callId: 'c2.0' }, { callId: 'c2.1' }]),
      toolResult('c2.0', '2'),
      toolResult('c2.1', '3'),
    ];
    await model.complete(requestOf({ messages, tools: [aTool] }));
    const first = { status: 'succeeded', data: { id: 7 } };
    expect(seen).toEqual([2, 'Cancel the order.', ['get'], [2, 3], [first, 2, 3]]);
  });

  it('says which result is missing or unreadable', async () => {
    const model = endlessScript((_, conversation) => ({ text: JSON.stringify(conversation.result('c1.0')) }));
    await expect(model.complete(requestOf())).rejects.toThrow(
      'the result of c1.0, which the conversation does not hold',
    );
    const messages = [task, assistant([{ callId: 'c1.0' }]), toolResult('c1.0', 'no JSON')];
    await expect(model.complete(requestOf({ messages }))).rejects.toThrow('the result of c1.0 is not JSON');
  });
});
