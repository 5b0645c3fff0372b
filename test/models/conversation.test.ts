import { describe, expect, it } from 'vitest';
import type { TranscriptMessage } from '../../src/contract/transcript.js';
import { turnsOf } from '../../src/models/conversation.js';
import { assistant, toolResult } from './requests.js';

const user = (text: string): TranscriptMessage => ({ role: 'user', text });

describe('turnsOf', () => {
  it('puts each result beside its call, in the order of the calls', () => {
    const turns = turnsOf([
      user('hi'),
      assistant([{ callId: 'c1.0' }, { callId: 'c1.1' }], { text: 'Looking.' }),
      toolResult('c1.1', 'second'),
      toolResult('c1.0', 'first'),
    ]);
    expect(turns).toHaveLength(2);
    expect(turns[1]).toMatchObject({
      role: 'assistant',
      text: 'Looking.',
      calls: [{ result: { content: 'first' } }, { result: { content: 'second' } }],
    });
  });

  it('pairs by our own ids, so that calls with equal provider ids keep their results', () => {
    const turns = turnsOf([
      assistant([
        { callId: 'c1.0', providerCallId: 'call_0' },
        { callId: 'c1.1', providerCallId: 'call_0' },
      ]),
      toolResult('c1.0', 'first'),
      toolResult('c1.1', 'second'),
      assistant([{ callId: 'c2.0', providerCallId: 'call_0' }]),
      toolResult('c2.0', 'third'),
    ]);
    const contents = turns.flatMap((turn) =>
      turn.role === 'assistant' ? turn.calls.map((call) => call.result.content) : [],
    );
    expect(contents).toEqual(['first', 'second', 'third']);
  });

  it('joins neighbours of one role, and leaves empty assistant messages out', () => {
    expect(
      turnsOf([user('a'), assistant([]), user('b'), assistant([], { text: 'c' }), assistant([], { text: 'd' })]),
    ).toEqual([
      { role: 'user', text: 'a\n\nb' },
      { role: 'assistant', text: 'c\n\nd', calls: [] },
    ]);
  });

  it('keeps an empty message that carries provider data, and joins nothing to it', () => {
    const providerData = { kind: 'x' };
    expect(turnsOf([assistant([], { providerData }), assistant([], { text: 'd' })])).toEqual([
      { role: 'assistant', text: '', calls: [], providerData },
      { role: 'assistant', text: 'd', calls: [] },
    ]);
  });

  it('does not change the messages that it was given', () => {
    const messages = [user('a'), user('b')];
    turnsOf(messages);
    expect(messages).toEqual([user('a'), user('b')]);
  });

  it.each<[string, TranscriptMessage[], string]>([
    ['a call without a result', [assistant([{ callId: 'c1.0' }]), user('go on')], 'call c1.0 (get) has no result'],
    [
      'a result without a call',
      [user('a'), toolResult('c1.0', 'x')],
      'message 1: the result of c1.0 has no call before it',
    ],
    [
      'a result of another call',
      [assistant([{ callId: 'c1.0' }]), toolResult('c1.0', 'x'), toolResult('c9.0', 'y')],
      'the result of c9.0',
    ],
    [
      'two results of a call',
      [assistant([{ callId: 'c1.0' }]), toolResult('c1.0', 'x'), toolResult('c1.0', 'y')],
      'more than one result',
    ],
    ['a system message', [{ role: 'system', text: 'x' }], 'message 0: a system message'],
  ])('refuses %s', (_, messages, words) => {
    expect(() => turnsOf(messages)).toThrow(words);
  });
});
