import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { cutToBytes, cutToChars } from '../../src/policy/cut-text.js';

test('a text that fits is unchanged', () => {
  expect(cutToChars('abc', 3)).toBe('abc');
});

test('head and tail are kept, with the number of characters between them', () => {
  const cut = cutToChars(`${'a'.repeat(500)}${'z'.repeat(500)}`, 130);
  expect(cut).toBe(`${'a'.repeat(68)}\n… 899 characters omitted …\n${'z'.repeat(33)}`);
});

test('no pair is split, no limit exceeded, and the count is true', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'grapheme', minLength: 100, maxLength: 400 }),
      fc.integer({ min: 60, max: 300 }),
      (text, max) => {
        const cut = cutToChars(text, max);
        expect(cut.length).toBeLessThanOrEqual(Math.max(max, 0));
        expect(cut.isWellFormed()).toBe(true);
        const notice = /\n… (\d+) characters omitted …\n/.exec(cut);
        if (notice) expect(cut.length - notice[0].length + Number(notice[1])).toBe(text.length);
      },
    ),
  );
});

describe('cut to bytes', () => {
  it('leaves a text that fits', () => {
    expect(cutToBytes('grüße', 7)).toEqual({ text: 'grüße', shown: 5, total: 5 });
  });

  it('cuts on line ends where one is near', () => {
    const text = Array.from({ length: 100 }, (_, line) => `line ${String(line)}`).join('\n');
    expect(cutToBytes(text, 40).text).toBe('line 0\nline 1\nline 2\n… (754 characters omitted) …\nline 98\nline 99');
  });

  it('never cuts within a character and counts bytes', () => {
    expect(cutToBytes('😀'.repeat(100), 18)).toEqual({
      text: '😀😀\n… (192 characters omitted) …\n😀😀',
      shown: 8,
      total: 200,
    });
  });

  it('stays within its bytes and is well formed, for any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 300 }), fc.integer({ min: 0, max: 200 }), (text, maxBytes) => {
        const cut = cutToBytes(text, maxBytes);
        expect(cut.text.isWellFormed()).toBe(true);
        expect(cut.shown).toBeLessThanOrEqual(cut.total);
        expect(Buffer.byteLength(cut.text)).toBeLessThanOrEqual(Math.max(maxBytes + 60, 0));
      }),
    );
  });
});
