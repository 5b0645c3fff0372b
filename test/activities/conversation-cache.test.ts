import { describe, expect, it } from 'vitest';
import { ConversationCache } from '../../src/activities/conversation-cache.js';
import type { TranscriptMessage, TranscriptNode } from '../../src/contract/transcript.js';
import type { Store } from '../../src/store/store.js';

const said = (text: string): TranscriptMessage => ({ role: 'user', text });

/** A store that holds chains only, and counts how often one is read. */
function chains(held: Record<string, string[]>, monotonicMs?: () => number) {
  const reads: string[] = [];
  const store = {
    async getChain(head: string): Promise<TranscriptNode[]> {
      reads.push(head);
      const texts = held[head];
      if (!texts) throw new Error(`no node ${head}`);
      return texts.map((text) => ({ id: text, parent: '', message: said(text) }));
    },
  };
  return { cache: new ConversationCache(store as unknown as Store, monotonicMs), reads };
}

describe('the conversation cache', () => {
  it('reads a chain once, and then follows what is added', async () => {
    const { cache, reads } = chains({ a: ['a'] });
    expect(await cache.upTo('a')).toEqual([said('a')]);
    cache.extend('a', [said('b'), said('c')], 'c');
    cache.extend('c', [said('d')], 'd');
    expect(await cache.upTo('d')).toEqual(['a', 'b', 'c', 'd'].map(said));
    expect(reads).toEqual(['a']);
  });

  it('knows the call ids that were used up to a head, on each of its branches', async () => {
    const asked = (providerCallId: string): TranscriptMessage => ({
      role: 'assistant',
      text: '',
      calls: [{ callId: 'c1.0', providerCallId, tool: 't', modelName: 't', rawArguments: '{}' }],
      finishReason: 'tool_calls',
      usage: { inputTokens: 1, outputTokens: 1, costUsd: 0 },
    });
    const { cache } = chains({ a: ['a'] });
    await cache.upTo('a');
    cache.extend('a', [asked('one')], 'b');
    await cache.upTo('a');
    cache.extend('a', [asked('other')], 'x');
    cache.extend('b', [asked('two')], 'c');
    const used = (head: string) => ['one', 'two', 'other'].filter(cache.usedProviderIds(head, []));
    expect(used('c')).toEqual(['one', 'two']);
    expect(used('x')).toEqual(['other']);
  });

  it('vouches for a minute for what the store was seen to hold', async () => {
    let nowMs = 0;
    const { cache } = chains({ a: ['a'] }, () => nowMs);
    expect(cache.wasSeen('a')).toBe(false);
    await cache.upTo('a');
    expect(cache.wasSeen('a')).toBe(true);
    cache.extend('a', [said('b')], 'b');
    expect(cache.wasSeen('a')).toBe(false);
    nowMs = 59_999;
    expect(cache.wasSeen('b')).toBe(true);
    nowMs = 60_000;
    expect(cache.wasSeen('b')).toBe(false);
  });

  it('gives lists that their reader may change', async () => {
    const { cache } = chains({ a: ['a'] });
    (await cache.upTo('a')).push(said('mine'));
    expect(await cache.upTo('a')).toEqual([said('a')]);
  });

  it('takes up what the turn that borrowed a list has appended to it', async () => {
    const { cache, reads } = chains({ a: ['a'] });
    const borrowed = await cache.upTo('a');
    const result = said('result');
    borrowed.push(result);
    cache.extend('a', [result, said('answer')], 'b');
    expect(await cache.upTo('b')).toEqual(['a', 'result', 'answer'].map(said));
    expect(reads).toEqual(['a']);
  });

  it('keeps two turns apart that ask at the same time after the same head', async () => {
    const { cache } = chains({ a: ['a'] });
    const [first, second] = [await cache.upTo('a'), await cache.upTo('a')];
    first.push(said('left'));
    const right = said('right');
    second.push(right);
    cache.extend('a', [right, said('answer')], 'right');
    expect(first).toEqual(['a', 'left'].map(said));
    expect(await cache.upTo('right')).toEqual(['a', 'right', 'answer'].map(said));
  });

  it('keeps two runs apart that share their first head and append nothing to it before they answer', async () => {
    const { cache } = chains({ a: ['a'] });
    const [slow] = [await cache.upTo('a'), await cache.upTo('a')];
    cache.extend('a', [said('the quick one')], 'quick');
    expect(slow).toEqual([said('a')]);
    expect(await cache.upTo('quick')).toEqual(['a', 'the quick one'].map(said));
  });

  it('keeps two branches of one head apart', async () => {
    const { cache } = chains({ a: ['a'] });
    await cache.upTo('a');
    cache.extend('a', [said('left')], 'left');
    // After a reset the same head is followed once more, and the cache does not know it any longer.
    await cache.upTo('a');
    cache.extend('a', [said('right')], 'right');
    cache.extend('left', [said('further')], 'further');
    expect(await cache.upTo('further')).toEqual(['a', 'left', 'further'].map(said));
    expect(await cache.upTo('right')).toEqual(['a', 'right'].map(said));
  });

  it('ignores what follows a head that it does not hold', async () => {
    const { cache, reads } = chains({ b: ['a', 'b'] });
    cache.extend('a', [said('b')], 'b');
    expect(await cache.upTo('b')).toEqual(['a', 'b'].map(said));
    expect(reads).toEqual(['b']);
  });

  it('forgets the conversation that was used longest ago, and reads it again', async () => {
    const heads = Array.from({ length: 201 }, (_, n) => `h${n}`);
    const { cache, reads } = chains(Object.fromEntries(heads.map((head) => [head, [head]])));
    for (const head of heads) await cache.upTo(head);
    await cache.upTo('h200');
    expect(reads).toHaveLength(201);
    expect(await cache.upTo('h0')).toEqual([said('h0')]);
    expect(reads.at(-1)).toBe('h0');
  });

  it('passes on what the store says of a missing node', async () => {
    const { cache } = chains({});
    await expect(cache.upTo('gone')).rejects.toThrow('no node gone');
  });
});
