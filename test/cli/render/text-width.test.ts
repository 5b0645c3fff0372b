import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  cutToWidth,
  displayWidth,
  oneLine,
  padToWidth,
  printable,
  wrapToWidth,
} from '../../../src/cli/render/text-width.js';

describe('displayWidth', () => {
  it.each([
    ['', 0],
    ['abc', 3],
    ['é', 1],
    ['e\u0301', 1],
    ['返金', 4],
    ['한글', 4],
    ['ｆｕｌｌ', 8],
    ['👍🏽', 2],
    ['👩‍👩‍👧', 2],
    ['❤️', 2],
    ['→ ✓ …', 5],
    ['\u200b', 0],
  ])('of %j is %i', (text, width) => {
    expect(displayWidth(text)).toBe(width);
  });
});

describe('printable', () => {
  it('makes an escape sequence visible', () => {
    expect(printable('\u001b]0;title\u0007red')).toBe('␛]0;title␇red');
  });

  it('keeps line breaks and tabs, and takes Windows line ends for line breaks', () => {
    expect(printable('a\r\nb\tc\n')).toBe('a\nb\tc\n');
  });

  it('shows a lone carriage return, which would overwrite the line', () => {
    expect(printable('paid\rnot paid')).toBe('paid␍not paid');
  });

  it('replaces marks that turn the direction of writing', () => {
    expect(printable('a\u202eb')).toBe('a\ufffdb');
  });
});

describe('oneLine', () => {
  it('folds white space and line breaks', () => {
    expect(oneLine('  a\n\n b\t c ')).toBe('a b c');
  });
});

describe('cutToWidth', () => {
  it('leaves what fits', () => {
    expect(cutToWidth('abc', 3)).toBe('abc');
  });

  it('ends what it cut with an ellipsis', () => {
    expect(cutToWidth('abcdef', 4)).toBe('abc…');
  });

  it('never cuts a wide character in half', () => {
    expect(cutToWidth('返金する', 6)).toBe('返金…');
  });

  it('is never wider than asked for', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.integer({ min: 0, max: 30 }), (text, columns) => {
        expect(displayWidth(cutToWidth(oneLine(text), columns))).toBeLessThanOrEqual(columns);
      }),
    );
  });
});

describe('padToWidth', () => {
  it('counts columns, not characters', () => {
    expect(padToWidth('返金', 6)).toBe('返金  ');
  });
});

describe('wrapToWidth', () => {
  it('breaks at spaces', () => {
    expect(wrapToWidth('one two three', 8)).toEqual(['one two', 'three']);
  });

  it('breaks a word that is longer than a line', () => {
    expect(wrapToWidth('abcdefgh ij', 3)).toEqual(['abc', 'def', 'gh', 'ij']);
  });

  it('keeps empty lines', () => {
    expect(wrapToWidth('a\n\nb', 10)).toEqual(['a', '', 'b']);
  });

  it('never makes a line wider than asked for and loses nothing but white space', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.integer({ min: 2, max: 30 }), (text, columns) => {
        const lines = wrapToWidth(text, columns);
        for (const line of lines) expect(displayWidth(line)).toBeLessThanOrEqual(columns);
        const bare = (value: string): string => value.replace(/\s/g, '');
        expect(bare(lines.join(''))).toBe(bare(printable(text)));
      }),
    );
  });
});
