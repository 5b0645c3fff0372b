import { describe, expect, it } from 'vitest';
import { classifyTurn } from '../../src/arguments/classify-turn.js';

const call = { modelName: 'get_traffic', rawArguments: '{}', providerCallId: '1' };

describe('a turn', () => {
  it('with calls is calls, whatever its text says', () => {
    expect(classifyTurn({ text: '', calls: [call] })).toBe('calls');
    expect(classifyTurn({ text: '{"name":"x","arguments":{}}', calls: [call] })).toBe('calls');
  });

  it.each(['', '  \n', '\u200b', '\ufeff \u2060'])('with neither calls nor text is empty: %j', (text) => {
    expect(classifyTurn({ text, calls: [] })).toBe('empty');
  });

  it.each([
    '{"type":"function","function":{"name":"get_traffic","parameters":{"location":"Sydney"}}}',
    '{"function":{"name":"unheard_of","arguments":"{}"}}',
    '{"name":"get_traffic","arguments":{"location":"Sydney"}}',
    '```json\n{"name":"get_traffic","parameters":{}}\n```',
    '[{"name":"get_traffic","arguments":{}},{"name":"get_traffic","arguments":{}}]',
    '{"tool_calls":[{"id":"1","function":{"name":"get_traffic","arguments":"{}"}}]}',
    '{"function":"get_traffic","parameters":{}}',
    '<tool_call>{"name":"get_traffic"}</tool_call>',
    '<function=get_traffic><parameter=location>Sydney</parameter></function>',
    '[TOOL_CALLS][{"name":"get_traffic"}]',
    '<|python_tag|>get_traffic(location="Sydney")',
    '[get_traffic(location="Sydney"), get_traffic(location="Perth")]',
    '<|channel|>commentary to=functions.get_traffic <|message|>{"location":"Sydney"}',
    'Let me look.\n```json\n{"name":"get_traffic","arguments":{"location":"Sydney"}}\n```',
  ])('with a call written as text is a textual call: %j', (text) => {
    expect(classifyTurn({ text, calls: [] }, ['get_traffic'])).toBe('textual-call');
  });

  it.each([
    'There is heavy traffic in Sydney.',
    '{"name":"Ada","input":"x"}',
    '{"location":"Sydney","minutes":12}',
    'Call it like this: {"name":"get_traffic","arguments":{}}',
    '[]',
    '[see(1)]',
    'For example:\n```json\n{"name":"get_traffic","arguments":{}}\n```\nThat is how.',
    'As JSON:\n```json\n{"location":"Sydney"}\n```',
    '[1,2]',
    '"get_traffic"',
    '{"name":"get_traffic"',
  ])('with any other text is an answer: %j', (text) => {
    expect(classifyTurn({ text, calls: [] }, ['get_traffic'])).toBe('answer');
  });
});
