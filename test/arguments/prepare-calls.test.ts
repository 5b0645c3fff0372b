import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { prepareCalls, type PrepareCallsInput } from '../../src/arguments/prepare-calls.js';
import { createValidator, type Validator } from '../../src/arguments/validator.js';
import type { ManifestTool } from '../../src/contract/manifest.js';
import type { RawToolCall } from '../../src/models/model.js';
import { foldedDigest } from '../../src/policy/fold-arguments.js';
import { digestOf, idempotencyKey } from '../../src/policy/idempotency-key.js';

let validator: Validator;
beforeAll(() => {
  validator = createValidator();
});
afterAll(() => validator.close());

function manifestTool(name: string, modelName: string, inputSchema: object): ManifestTool {
  return {
    name,
    modelName,
    description: '',
    inputSchema,
    examples: [],
    alternatives: [],
    policy: {},
  } as unknown as ManifestTool;
}

const tools = [
  manifestTool('orders.get', 'orders_get', {
    type: 'object',
    properties: { id: { type: 'string' }, limit: { type: 'integer' } },
    required: ['id'],
  }),
  manifestTool('ping', 'ping', { type: 'object' }),
];

function call(modelName: string, rawArguments: string, providerCallId: string | null | undefined = 'p'): RawToolCall {
  return { modelName, rawArguments, providerCallId };
}

function prepare(calls: RawToolCall[], more: Partial<PrepareCallsInput> = {}) {
  return prepareCalls({
    runKey: 'run-1',
    step: 3,
    reply: { calls, finishReason: 'tool-calls' },
    manifest: { hash: 'h', tools },
    validator,
    putBody: (bytes) => Promise.resolve(`body-${bytes.byteLength}`),
    isUsedProviderId: () => false,
    ...more,
  });
}

describe('a call', () => {
  it('gets our id, its tool by the model’s name, and a key over the coerced arguments', async () => {
    const { recorded, prepared } = await prepare([call('orders_get', '{"id": "7", "limit": "10"}')]);
    const digest = digestOf({ id: '7', limit: 10 });
    expect(prepared).toEqual([
      {
        status: 'ready',
        call: {
          runKey: 'run-1',
          callId: 'c3.0',
          tool: 'orders.get',
          key: idempotencyKey({ runKey: 'run-1', callId: 'c3.0', tool: 'orders.get', digest }),
          digest,
          arguments: { inline: { id: '7', limit: 10 } },
        },
        folded: foldedDigest('orders.get', { id: '7', limit: 10 }),
      },
    ]);
    expect(recorded).toEqual([
      {
        callId: 'c3.0',
        providerCallId: 'p',
        tool: 'orders.get',
        modelName: 'orders_get',
        rawArguments: '{"id": "7", "limit": "10"}',
        repairs: ['limit: read the text "10" as the number 10'],
      },
    ]);
  });

  it('with bad arguments is refused, and the others of its turn are not', async () => {
    const { recorded, prepared } = await prepare([call('orders_get', '{"limit":1}', 'a'), call('ping', '', 'b')]);
    expect(prepared).toMatchObject([
      {
        status: 'refused',
        callId: 'c3.0',
        tool: 'orders.get',
        digest: digestOf({ limit: 1 }),
        failure: { class: 'validation_error', code: 'PARAM_MISSING_001' },
      },
      { status: 'ready', call: { callId: 'c3.1', arguments: { inline: {} } } },
    ]);
    expect(recorded.map(({ providerCallId }) => providerCallId)).toEqual(['a', 'b']);
  });

  it('that was cut off is refused with its text kept', async () => {
    const { recorded, prepared } = await prepare([call('ping', '{"a":tr')], {
      reply: { calls: [call('ping', '{"a":tr')], finishReason: 'length' },
    });
    expect(prepared[0]).toMatchObject({ status: 'refused', failure: { reason: expect.stringContaining('cut off') } });
    expect(recorded[0]?.rawArguments).toBe('{"a":tr');
  });

  it('that breaks the tool’s own rule is refused with its violations', async () => {
    const violations = [{ path: '/id', problem: 'id must be even', expected: 'an even id' }];
    const { prepared } = await prepare([call('orders_get', '{"id":"7"}')], {
      parse: () => Promise.resolve({ ok: false, violations }),
    });
    expect(prepared).toMatchObject([
      { status: 'refused', digest: digestOf({ id: '7' }), failure: { class: 'validation_error', violations } },
    ]);
  });

  it('is refused where the tool’s own check is broken', async () => {
    const { prepared } = await prepare([call('ping', '{}')], {
      parse: () => Promise.reject(new TypeError('x is undefined')),
    });
    expect(prepared).toMatchObject([{ status: 'refused', failure: { class: 'tool_bug', effectState: 'none' } }]);
  });
});

describe('arguments', () => {
  const ofBytes = (bytes: number): string => JSON.stringify({ a: 'x'.repeat(bytes - 8) });

  it('are inline up to 4096 bytes, else stored with a preview', async () => {
    const { prepared } = await prepare([call('ping', ofBytes(4096), 'a'), call('ping', ofBytes(4097), 'b')]);
    expect(prepared).toMatchObject([
      { call: { arguments: { inline: { a: 'x'.repeat(4088) } } } },
      { call: { arguments: { bodyId: 'body-4097', preview: expect.stringMatching(/^\{"a":"x+…$/) } } },
    ]);
  });

  it('over the limit are refused unread', async () => {
    const { prepared } = await prepare([call('ping', ofBytes(101), 'a'), call('ping', ofBytes(100), 'b')], {
      limits: { maxInputBytes: 100 },
    });
    expect(prepared).toMatchObject([
      {
        status: 'refused',
        failure: {
          class: 'input_too_large',
          effectState: 'none',
          reason: 'they have 101 bytes, and at most 100 are accepted; nothing was executed.',
        },
      },
      { status: 'ready' },
    ]);
  });

  it('that are equally unreadable have one digest', async () => {
    const { prepared } = await prepare([call('ping', '{"a":\ud800', 'a'), call('ping', '{"a":\ud800', 'b')]);
    const [first, second] = prepared.map((each) => (each.status === 'refused' ? each.digest : ''));
    expect(first).toMatch(/^[0-9a-f]{64}$/);
    expect(second).toBe(first);
  });
});

describe('provider ids', () => {
  const idsOf = async (ids: (string | null | undefined)[], more: Partial<PrepareCallsInput> = {}) =>
    (
      await prepare(
        ids.map((id) => ({ modelName: 'ping', rawArguments: '{}', providerCallId: id })),
        more,
      )
    ).recorded.map(({ providerCallId }) => providerCallId);

  it('are kept where the provider gave good ones', async () => {
    expect(await idsOf(['call_a', 'call_b'])).toEqual(['call_a', 'call_b']);
  });

  it('are made up where they are missing, empty or blank: the same in every replay, different in other turns', async () => {
    const ids = await idsOf([undefined, '', null, ' ']);
    expect(new Set(ids).size).toBe(4);
    for (const id of ids) expect(id).toMatch(/^call_[0-9a-f]{24}$/);
    expect(await idsOf([undefined, '', null, ' '])).toEqual(ids);
    expect(await idsOf([undefined], { step: 4 })).not.toContain(ids[0]);
    expect(await idsOf([undefined], { runKey: 'run-2' })).not.toContain(ids[0]);
  });

  it('are made up where they repeat in the turn or in the conversation', async () => {
    const ids = await idsOf(['call_0', 'call_0', 'old'], { isUsedProviderId: (id) => id === 'old' });
    expect(ids[0]).toBe('call_0');
    expect(new Set([...ids, 'old']).size).toBe(4);
  });

  it('that are made up do not meet one that is used already', async () => {
    const [madeUp] = await idsOf([undefined]);
    const ids = await idsOf([undefined, madeUp]);
    expect(ids[1]).toBe(madeUp);
    expect(ids[0]).not.toBe(madeUp);
    expect(await idsOf([undefined], { isUsedProviderId: (id) => id === madeUp })).not.toContain(madeUp);
  });
});

describe('an unknown tool', () => {
  it('is refused with the nearest names and the list of tools', async () => {
    const { recorded, prepared } = await prepare([call('order_get', '{"id":"7"}')]);
    expect(recorded[0]).toMatchObject({ tool: 'order_get', modelName: 'order_get' });
    expect(prepared).toMatchObject([
      {
        status: 'refused',
        tool: 'order_get',
        failure: {
          class: 'unknown_tool',
          effectState: 'none',
          reason: 'There is no tool named "order_get", so nothing was executed. The nearest names are orders_get.',
          hint: 'These are the tools: orders_get, ping.',
          alternatives: ['orders_get'],
        },
      },
    ]);
  });

  it('is named in a bounded list', async () => {
    const many = Array.from({ length: 100 }, (_, i) => manifestTool(`tool_${i}`, `tool_${i}`, {}));
    const { prepared } = await prepare([call('x'.repeat(5000), '{}')], { manifest: { hash: 'h', tools: many } });
    const failure = prepared[0]?.status === 'refused' ? prepared[0].failure : undefined;
    expect(failure?.hint).toMatch(/tool_29 and 70 more\.$/);
    expect(JSON.stringify(failure).length).toBeLessThan(1000);
  });
});
