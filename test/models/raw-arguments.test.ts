import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseKeepingDigits, replayedArguments } from '../../src/models/raw-arguments.js';

describe('replayedArguments', () => {
  it.each([
    '{"id":2512292042121000001}',
    '{"a":1e999,"b":0.1}',
    '{ "a" : [12345678901234567890, 1] }',
    '{"__proto__":1}',
  ])('keeps %s: byte for byte as text, digit for digit as a value', (raw) => {
    const { text, value } = replayedArguments(raw);
    expect(text).toBe(raw);
    expect(JSON.stringify(value)).toBe(raw.replaceAll(' ', ''));
  });

  it.each(['{"a":tr', '```json\n{}\n```', '"{\\"a\\":1}"', '[1]', 'null', '12345678901234567890', '{}{}'])(
    'wraps %s, which is not an object, whole',
    (raw) => {
      const { text, value } = replayedArguments(raw);
      expect(value).toEqual({ raw_arguments: raw });
      expect(JSON.parse(text)).toEqual({ raw_arguments: raw });
    },
  );

  it('makes an empty text an empty object', () => {
    expect(replayedArguments(' \n')).toEqual({ text: '{}', value: {} });
  });

  it('always gives the JSON text of an object', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (raw) => {
        const { text, value } = replayedArguments(raw);
        expect(Array.isArray(value) || typeof value !== 'object').toBe(false);
        expect(text.trimStart().startsWith('{')).toBe(true);
        expect(() => JSON.parse(text) as unknown).not.toThrow();
      }),
    );
  });
});

describe('parseKeepingDigits', () => {
  it('equals JSON.parse where no number is rounded', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(JSON.stringify(parseKeepingDigits(text))).toBe(JSON.stringify(JSON.parse(text)));
      }),
    );
  });

  it('keeps every integer', () => {
    fc.assert(
      fc.property(fc.bigInt(), (number) => {
        expect(JSON.stringify(parseKeepingDigits(`[${number}]`))).toBe(`[${number}]`);
      }),
    );
  });
});
