import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ProgressState } from '../../src/contract/guard-state.js';
import { isStalled, observeProgress } from '../../src/policy/progress.js';

const after = (...measures: number[]): ProgressState =>
  measures.reduce<ProgressState>((state, measure) => observeProgress(state, 'tests', [measure]), {});
/** After how many rounds the run is ended; `undefined` where it goes on. */
const endsAfter = (...measures: number[]): number | undefined => {
  const at = measures.findIndex((_, n) => isStalled(after(...measures.slice(0, n + 1)), 2));
  return at < 0 ? undefined : at + 1;
};

describe('a measure of progress', () => {
  it('that does not fall for two rounds ends the run', () => {
    expect(endsAfter(7, 7, 7)).toBe(3);
    expect(endsAfter(7, 8, 9)).toBe(3);
    expect(endsAfter(7, 5, 3, 3, 2, 2, 2)).toBe(7);
  });

  it('that falls goes on, after a setback too', () => {
    expect(endsAfter(9, 8, 7, 6, 5, 4, 3, 2, 1, 0)).toBeUndefined();
    expect(endsAfter(4, 9, 8, 7, 3, 2)).toBeUndefined();
  });

  it('that goes up and down ends the run after three times as many rounds', () => {
    expect(endsAfter(4, 9, 4, 9, 4, 9, 4, 9)).toBe(7);
  });

  it('of 0 is done, and what comes later is measured anew', () => {
    expect(endsAfter(3, 0, 0, 0, 0, 0, 0, 0)).toBeUndefined();
    expect(endsAfter(3, 0, 5, 4, 3)).toBeUndefined();
    expect(endsAfter(0, 5, 5, 5)).toBe(4);
  });

  it('counts once a turn, at its lowest', () => {
    expect(observeProgress({}, 'tests', [9, 4, 7])).toEqual(after(4));
    expect(observeProgress({}, 'tests', [])).toEqual({});
  });

  it('of one tool says nothing of another', () => {
    const state = observeProgress(after(7, 7), 'constructor', [7]);
    expect(isStalled(state, 2)).toBe(false);
    expect(isStalled(observeProgress(state, 'tests', [7]), 2)).toBe(true);
  });

  it('is no matter where there is no bound', () => {
    for (const bound of [null, undefined]) expect(isStalled(after(7, 7, 7, 7), bound)).toBe(false);
  });

  it('never ends a run whose every round falls, and always one whose rounds reach no new lowest', () => {
    const measures = fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 30 });
    fc.assert(
      fc.property(measures, fc.integer({ min: 1, max: 5 }), (given, bound) => {
        const falling = [...new Set(given)].sort((a, b) => b - a);
        expect(isStalled(after(...falling), bound)).toBe(false);
        const endless = [
          Math.min(...given),
          ...Array.from({ length: 3 * bound }, (_, n) => given[n % given.length] ?? 1),
        ];
        expect(endless.some((_, n) => isStalled(after(...endless.slice(0, n + 1)), bound))).toBe(true);
      }),
    );
  });
});
