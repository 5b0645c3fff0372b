import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isSameNumber, numberFate } from '../../src/arguments/json-number.js';

describe('the fate of a JSON number', () => {
  it.each([
    ['0', 'kept'],
    ['-0.0e5', 'kept'],
    ['9007199254740991', 'kept'],
    ['1e21', 'kept'],
    ['100000000000000000000', 'kept'],
    ['0.1', 'kept'],
    ['0.1000000000000000055511151231257827', 'kept'],
    ['9007199254740993', 'digits_lost'],
    ['9007199254740993.0', 'digits_lost'],
    ['9.007199254740993e15', 'digits_lost'],
    ['9007199254740993.5', 'digits_lost'],
    ['1e309', 'out_of_range'],
    ['-1e309', 'out_of_range'],
    ['1e-400', 'out_of_range'],
    ['0e999', 'kept'],
  ])('%s is %s', (text, fate) => {
    expect(numberFate(text)).toBe(fate);
  });

  it('is to be kept for whatever JavaScript itself prints', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        expect(numberFate(JSON.stringify(value))).toBe('kept');
      }),
    );
  });

  it('loses digits exactly where a whole number comes back as another', () => {
    fc.assert(
      fc.property(fc.bigInt(-(2n ** 70n), 2n ** 70n), (integer) => {
        const printed = BigInt(
          Number(integer).toLocaleString('en', { useGrouping: false, maximumSignificantDigits: 17 }),
        );
        const isKept = numberFate(String(integer)) === 'kept';
        if (isKept) expect(isSameNumber(String(integer), String(Number(integer)))).toBe(true);
        else expect(Number.isSafeInteger(Number(integer)) && printed === integer).toBe(false);
      }),
    );
  });
});

describe('two spellings', () => {
  it.each([
    ['10', '1e1', true],
    ['1.50', '1.5', true],
    ['-0', '0', true],
    ['0.10', '1e-1', true],
    ['10', '-10', false],
    ['10', '100', false],
  ])('%s and %s are one number: %s', (a, b, same) => {
    expect(isSameNumber(a, b)).toBe(same);
  });
});
