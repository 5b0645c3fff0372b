import { describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { cutText } from '../../src/results/cut-text.js';

describe('cutText', () => {
  it('leaves a text that fits', () => {
    expect(cutText('grüße', 7)).toEqual({ text: 'grüße', shown: 5, total: 5 });
  });

  it('cuts on line ends where one is near', () => {
    const text = Array.from({ length: 100 }, (_, line) => `line ${String(line)}`).join('\n');
    expect(cutText(text, 40).text).toBe('line 0\nline 1\nline 2\n… (754 characters omitted) …\nline 98\nline 99');
  });

  it('never cuts within a character and counts bytes', () => {
    expect(cutText('😀'.repeat(100), 18)).toEqual({
      text: '😀😀\n… (192 characters omitted) …\n😀😀',
      shown: 8,
      total: 200,
    });
  });

  it('stays within its bytes and is well formed, for any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 300 }), fc.integer({ min: 0, max: 200 }), (text, maxBytes) => {
        const cut = cutText(text, maxBytes);
        expect(cut.text.isWellFormed()).toBe(true);
        expect(cut.shown).toBeLessThanOrEqual(cut.total);
        expect(Buffer.byteLength(cut.text)).toBeLessThanOrEqual(Math.max(maxBytes + 60, 0));
      }),
    );
  });
});
