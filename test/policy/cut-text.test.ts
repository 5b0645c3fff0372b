import fc from 'fast-check';
import { expect, test } from 'vitest';
import { cutText, printable } from '../../src/policy/cut-text.js';

test('a text that fits is unchanged', () => {
  expect(cutText('abc', 3)).toBe('abc');
});

test('head and tail are kept, with the number of characters between them', () => {
  const cut = cutText(`${'a'.repeat(500)}${'z'.repeat(500)}`, 130);
  expect(cut).toBe(`${'a'.repeat(68)}\n… 899 characters omitted …\n${'z'.repeat(33)}`);
});

test('no pair is split, no limit exceeded, and the count is true', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'grapheme', minLength: 100, maxLength: 400 }),
      fc.integer({ min: 60, max: 300 }),
      (text, max) => {
        const cut = cutText(text, max);
        expect(cut.length).toBeLessThanOrEqual(Math.max(max, 0));
        expect(cut.isWellFormed()).toBe(true);
        const notice = /\n… (\d+) characters omitted …\n/.exec(cut);
        if (notice) expect(cut.length - notice[0].length + Number(notice[1])).toBe(text.length);
      },
    ),
  );
});

test('control characters, terminal colours and lone surrogates go; tabs and newlines stay', () => {
  expect(printable('\u001b[1;31mred\u001b[0m\t\u0000x\r\ny\u001b]8;;http://a\u0007link\u001b]8;;\u0007 \ud800!')).toBe(
    'red\t x\nylink \ufffd!',
  );
});
