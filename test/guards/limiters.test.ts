import { expect, test } from 'vitest';
import { Limiters } from '../../src/guards/limiters.js';
import { MemoryShared } from './memory-shared.js';

const limits = { requestsPerMinute: 600 };

function worker(shared: MemoryShared): Limiters {
  return new Limiters(shared, () => shared.nowMs);
}

async function granted(limiters: Limiters, times: number): Promise<number> {
  let count = 0;
  for (let number = 0; number < times; number += 1) {
    const pass = await limiters.take('api', limits, 0);
    if (pass.type === 'granted' && pass.waitMs === 0) count += 1;
  }
  return count;
}

test('a burst is granted ahead, so that not every call asks the store', async () => {
  const shared = new MemoryShared();
  expect(await granted(worker(shared), 60)).toBe(60);
  expect(shared.asked).toBeLessThan(10);
});

test('two workers together get no more than one bucket holds', async () => {
  const shared = new MemoryShared();
  const [one, other] = [worker(shared), worker(shared)];
  let together = 0;
  for (let round = 0; round < 60; round += 1) together += (await granted(one, 1)) + (await granted(other, 1));
  expect(together).toBeGreaterThanOrEqual(50);
  expect(together).toBeLessThanOrEqual(60);
});

test('what was granted ahead lapses after a second and is given back', async () => {
  const shared = new MemoryShared();
  const limiters = worker(shared);
  await granted(limiters, 3);
  shared.nowMs += 10_000;
  expect(await granted(limiters, 60)).toBe(60);
});

test('a wait of more than a second is refused, a shorter one is left to the caller', async () => {
  const shared = new MemoryShared();
  const limiters = worker(shared);
  const slow = { requestsPerMinute: 30 };
  const passes = [];
  for (let number = 0; number < 5; number += 1) passes.push(await limiters.take('slow', slow, 0));
  expect(passes.slice(0, 3)).toEqual([1, 2, 3].map(() => ({ type: 'granted', waitMs: 0 })));
  expect(passes[3]).toEqual({ type: 'refused', retryAfterMs: 2_143 });
});

test('tokens are charged by the estimate and corrected', async () => {
  const shared = new MemoryShared();
  const limiters = worker(shared);
  const perToken = { tokensPerMinute: 1_000 };
  expect((await limiters.take('model', perToken, 90)).type).toBe('granted');
  await limiters.correct('model', perToken, { requests: 0, tokens: 500 });
  expect((await limiters.take('model', perToken, 1)).type).toBe('refused');
  await limiters.correct('model', perToken, { requests: 0, tokens: -550 });
  expect((await limiters.take('model', perToken, 10)).type).toBe('granted');
});
