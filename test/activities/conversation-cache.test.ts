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
    const list = await cache.upTo('a');
    expect(list).toEqual([said('a')]);
    list.push(said('b'), said('c'));
    cache.extend('a', list, 'c');
    const next = await cache.upTo('c');
    next.push(said('d'));
    cache.extend('c', next, 'd');
    expect(await cache.upTo('d')).toEqual(['a', 'b', 'c', 'd'].map(said));
    expect(reads).toEqual(['a']);
  });

  it('lends the list to the first that asks, and gives the others copies', async () => {
    const { cache } = chains({ a: ['a'] });
    const lent = await cache.upTo('a');
    lent.push(said('b'));
    cache.extend('a', lent, 'b');
    expect(await cache.upTo('b')).toBe(lent);
    const copy = await cache.upTo('b');
    expect(copy).not.toBe(lent);
    expect(copy).toEqual(lent);
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
    const [one, other] = [await cache.upTo('a'), await cache.upTo('a')];
    one.push(asked('one'));
    cache.extend('a', one, 'b');
    other.push(asked('other'));
    cache.extend('a', other, 'x');
    const two = await cache.upTo('b');
    two.push(asked('two'));
    cache.extend('b', two, 'c');
    const used = (head: string) => ['one', 'two', 'other'].filter(cache.usedProviderIds(head, []));
    expect(used('c')).toEqual(['one', 'two']);
    expect(used('x')).toEqual(['other']);
  });

  it('vouches for a minute for what the store was seen to hold', async () => {
    let nowMs = 0;
    const { cache } = chains({ a: ['a'] }, () => nowMs);
    expect(cache.wasSeen('a')).toBe(false);
    const list = await cache.upTo('a');
    expect(cache.wasSeen('a')).toBe(true);
    list.push(said('b'));
    cache.extend('a', list, 'b');
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

  it('keeps two turns apart that ask at the same time after the same head', async () => {
    const { cache } = chains({ a: ['a'] });
    const [first, second] = [await cache.upTo('a'), await cache.upTo('a')];
    first.push(said('left'));
    second.push(said('right'), said('answer'));
    cache.extend('a', second, 'right');
    expect(first).toEqual(['a', 'left'].map(said));
    expect(await cache.upTo('right')).toEqual(['a', 'right', 'answer'].map(said));
    cache.extend('a', first, 'left');
    expect(await cache.upTo('left')).toEqual(['a', 'left'].map(said));
  });

  it('keeps two runs apart that share their first head and append nothing to it before they answer', async () => {
    const { cache } = chains({ a: ['a'] });
    const [slow, quick] = [await cache.upTo('a'), await cache.upTo('a')];
    quick.push(said('the quick one'));
    cache.extend('a', quick, 'quick');
    expect(slow).toEqual([said('a')]);
    expect(await cache.upTo('quick')).toEqual(['a', 'the quick one'].map(said));
  });

  it('keeps two branches of one head apart', async () => {
    const { cache } = chains({ a: ['a'] });
    const left = await cache.upTo('a');
    left.push(said('left'));
    cache.extend('a', left, 'left');
    // After a reset the same head is followed once more, and the cache does not know it any longer.
    const right = await cache.upTo('a');
    right.push(said('right'));
    cache.extend('a', right, 'right');
    const further = await cache.upTo('left');
    further.push(said('further'));
    cache.extend('left', further, 'further');
    expect(await cache.upTo('further')).toEqual(['a', 'left', 'further'].map(said));
    expect(await cache.upTo('right')).toEqual(['a', 'right'].map(said));
  });

  it('remembers what follows a head that it has forgotten, and which call ids that used', async () => {
    const { cache, reads } = chains({ a: ['a'] });
    const list = await cache.upTo('a');
    const other = await cache.upTo('a');
    other.push(said('other'));
    cache.extend('a', other, 'other');
    list.push(said('b'));
    cache.extend('a', list, 'b');
    expect(await cache.upTo('b')).toBe(list);
    expect(reads).toEqual(['a']);
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
