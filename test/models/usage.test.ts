import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ModelReply } from '../../src/models/model.js';
import { usageOf } from '../../src/models/usage.js';
import { aTool, assistant, requestOf, toolResult } from './requests.js';

const reply = (usage?: ModelReply['usage']): ModelReply => ({
  text: 'x'.repeat(7),
  calls: [{ providerCallId: 'a', modelName: 'get', rawArguments: '{"k":1}' }],
  finishReason: 'tool-calls',
  ...(usage && { usage }),
});
const request = requestOf({ system: 'x'.repeat(40), messages: [{ role: 'user', text: 'x'.repeat(41) }] });

describe('usageOf', () => {
  it('takes what was reported, zero as well', () => {
    const prices = { inputPerMillion: 3, outputPerMillion: 15 };
    expect(usageOf(reply({ inputTokens: 1000, outputTokens: 0 }), request, prices)).toEqual({
      inputTokens: 1000,
      outputTokens: 0,
      costUsd: 0.003,
    });
  });

  it.each([undefined, {}, { inputTokens: NaN, outputTokens: Infinity }, { inputTokens: -1, outputTokens: -5 }])(
    'estimates four characters a token where %o was reported',
    (usage) => {
      // 81 characters in; 7 of text, 3 of the name and 7 of arguments out.
      const expected = { inputTokens: 21, outputTokens: 5, costUsd: 0, estimated: true };
      expect(usageOf(reply(usage), request, undefined)).toEqual(expected);
    },
  );

  it('estimates only the number that is missing', () => {
    expect(usageOf(reply({ inputTokens: 9 }), request, undefined)).toMatchObject({
      inputTokens: 9,
      outputTokens: 5,
      estimated: true,
    });
  });

  it('counts tools, calls and results in an estimate', () => {
    const bare = usageOf(reply(), request, undefined).inputTokens;
    const messages = [...request.messages, assistant([{ callId: 'c1.0' }]), toolResult('c1.0', 'x'.repeat(400))];
    const full = usageOf(reply(), requestOf({ ...request, messages, tools: [aTool] }), undefined).inputTokens;
    expect(full).toBeGreaterThan(bare + 100);
  });

  it('never gives a number that a budget cannot add up', () => {
    fc.assert(
      fc.property(fc.double(), fc.double(), (inputTokens, outputTokens) => {
        const prices = { inputPerMillion: 1, outputPerMillion: 2 };
        const usage = usageOf(reply({ inputTokens, outputTokens }), request, prices);
        for (const number of [usage.inputTokens, usage.outputTokens]) {
          expect(Number.isFinite(number) && number >= 0).toBe(true);
        }
      }),
    );
  });
});
