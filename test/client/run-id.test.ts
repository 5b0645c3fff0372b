import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkRunId, makeRunId } from '../../src/client/run-id.js';

describe('makeRunId', () => {
  it('is run- and six characters that nobody confuses', () => {
    const numbers = [0, 0.999, 0.5, 0.1, 0.25, 0.75];
    const next = (): number => {
      const number = numbers.shift();
      if (number === undefined) throw new Error('out of numbers');
      return number;
    };
    expect(makeRunId(next)).toBe('run-2zh48r');
  });

  it('is always an id that checkRunId takes', () => {
    fc.assert(
      fc.property(fc.infiniteStream(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })), (numbers) => {
        const id = makeRunId(() => numbers.next().value);
        expect(id).toMatch(/^run-[2-9b-df-hjkmnp-tv-xz]{6}$/);
        expect(checkRunId(id)).toBe(id);
      }),
    );
  });
});

describe('checkRunId', () => {
  it.each(['refund-1042', 'a', 'shop/orders:7', 'müller_3', '2024.01'])('takes %s', (id) => {
    expect(checkRunId(id)).toBe(id);
  });

  it.each(['', ' ', '-x', 'a b', 'a\nb', '\u001b[31m', 'x'.repeat(201), '../up'])('refuses %j', (id) => {
    expect(() => checkRunId(id)).toThrow('cannot be the id of a run');
  });
});
