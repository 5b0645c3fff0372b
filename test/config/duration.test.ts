import { describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { parseDuration } from '../../src/config/duration.js';

describe('parseDuration', () => {
  it.each([
    [250, 250],
    ['250ms', 250],
    ['30s', 30_000],
    ['1.5s', 1500],
    ['5m', 300_000],
    ['2h', 7_200_000],
    ['7d', 604_800_000],
    [' 30 s ', 30_000],
  ])('reads %j as %d ms', (value, ms) => {
    expect(parseDuration('timeoutMs', value)).toBe(ms);
  });

  it.each([
    ['30', "timeoutMs: expected milliseconds or a text such as '30s' or '5m', got '30'"],
    ['soon', "timeoutMs: expected milliseconds or a text such as '30s' or '5m', got 'soon'"],
    ['-3s', "timeoutMs: expected milliseconds or a text such as '30s' or '5m', got '-3s'"],
    [NaN, "timeoutMs: expected milliseconds or a text such as '30s' or '5m', got NaN"],
    [Infinity, "timeoutMs: expected milliseconds or a text such as '30s' or '5m', got Infinity"],
    [null, "timeoutMs: expected milliseconds or a text such as '30s' or '5m', got null"],
    [0, 'timeoutMs: expected 1 ms or more, got 0'],
    [-5, 'timeoutMs: expected 1 ms or more, got -5'],
    ['30d', "timeoutMs: expected at most 24 days, got '30d'"],
  ])('refuses %j', (value, message) => {
    expect(() => parseDuration('timeoutMs', value)).toThrow(message);
  });

  it('gives a whole number of at least the least, or throws, whatever it is given', () => {
    fc.assert(
      fc.property(fc.anything(), (value) => {
        try {
          const ms = parseDuration('x', value);
          expect(Number.isSafeInteger(ms) && ms >= 1).toBe(true);
        } catch (error) {
          expect((error as Error).name).toBe('ConfigError');
        }
      }),
    );
  });
});
