import fc from 'fast-check';
import { expect, test } from 'vitest';
import { machineClock } from '../../src/store/machine-clock.js';

function clockOver(times: number[]): () => number {
  const rest = [...times];
  return machineClock(() => {
    const next = rest.shift();
    if (next === undefined) throw new Error('the clock was read too often');
    return next;
  });
}

test('waits out a small step back', () => {
  const now = clockOver([5_000, 4_999, 4_000, 5_001]);
  expect([now(), now(), now(), now()]).toEqual([5_000, 5_000, 5_000, 5_001]);
});

test('follows a large step back, so that all processes of the machine agree', () => {
  const now = clockOver([3_600_000, 10_000, 10_001]);
  expect([now(), now(), now()]).toEqual([3_600_000, 10_000, 10_001]);
});

test('is never more than a second ahead of the machine, and never behind it', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 10_000 })), (times) => {
      const now = clockOver(times);
      for (const time of times) {
        const ahead = now() - time;
        expect(ahead).toBeGreaterThanOrEqual(0);
        expect(ahead).toBeLessThanOrEqual(1_000);
      }
    }),
  );
});
