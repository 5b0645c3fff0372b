import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatAgo, formatDuration, formatMoment } from '../../../src/cli/render/duration.js';

describe('formatDuration', () => {
  it.each([
    [-5, '0 ms'],
    [0, '0 ms'],
    [999, '999 ms'],
    [1_000, '1.0 s'],
    [12_440, '12.4 s'],
    [59_949, '59.9 s'],
    [59_950, '1 min 00 s'],
    [185_000, '3 min 05 s'],
    [3_599_600, '1 h 00 min'],
    [7_620_000, '2 h 07 min'],
    [172_800_000, '2 d 0 h'],
    [273_600_000, '3 d 4 h'],
  ])('of %i ms is %s', (ms, text) => {
    expect(formatDuration(ms)).toBe(text);
  });

  it('never shows sixty of a unit', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 1e9 }), (ms) => {
        expect(formatDuration(ms)).not.toMatch(/\b60(\.0)? (s|min)\b/);
      }),
    );
  });
});

describe('formatAgo', () => {
  it.each([
    [-1_000, 'just now'],
    [4_999, 'just now'],
    [40_000, '40 s ago'],
    [119_000, '1 min ago'],
    [7_200_000, '2 h ago'],
    [400_000_000, '4 d ago'],
  ])('of %i ms is %s', (ms, text) => {
    expect(formatAgo(1e12 - ms, 1e12)).toBe(text);
  });
});

describe('formatMoment', () => {
  it('is UTC to the millisecond', () => {
    expect(formatMoment(0)).toBe('1970-01-01T00:00:00.000Z');
  });
});
