import { expect, test } from 'vitest';
import { Breakers } from '../../src/guards/breakers.js';
import { MemoryShared } from './memory-shared.js';

const limits = { failures: 2, windowMs: 60_000, coolDownMs: 30_000 };
const leaseMs = 10_000;

function workers() {
  const shared = new MemoryShared();
  return {
    shared,
    one: new Breakers(shared, { monotonicMs: () => shared.nowMs }),
    other: new Breakers(shared, { monotonicMs: () => shared.nowMs }),
  };
}

const failed = (token: string) => ({ token, attempts: 1, calls: 1, limits });

test('asks the store at most once a second while all is well', async () => {
  const { shared, one } = workers();
  for (let number = 0; number < 10; number += 1) {
    expect(await one.admit('search', `c${String(number)}`, leaseMs)).toEqual({ type: 'closed' });
  }
  expect(shared.asked).toBe(1);
  shared.nowMs += 1_000;
  await one.admit('search', 'c', leaseMs);
  expect(shared.asked).toBe(2);
});

test('its own discovery counts at once, and another worker knows within a second', async () => {
  const { shared, one, other } = workers();
  expect(await other.admit('search', 'x', leaseMs)).toEqual({ type: 'closed' });
  await one.failed('search', failed('a'));
  await one.failed('search', failed('b'));
  expect(await one.admit('search', 'c', leaseMs)).toEqual({ type: 'open', retryAfterMs: 30_000 });
  shared.nowMs += 999;
  expect(await other.admit('search', 'y', leaseMs)).toEqual({ type: 'closed' });
  shared.nowMs += 1;
  expect(await other.admit('search', 'z', leaseMs)).toEqual({ type: 'open', retryAfterMs: 29_000 });
});

test('counts the rest of a cool-down down without asking, and asks when it is over', async () => {
  const { shared, one } = workers();
  await one.failed('search', failed('a'));
  await one.failed('search', failed('b'));
  shared.nowMs += 400;
  expect(await one.admit('search', 'c', leaseMs)).toEqual({ type: 'open', retryAfterMs: 29_600 });
  expect(shared.asked).toBe(2);
  shared.nowMs += 29_600;
  expect(await one.admit('search', 'd', leaseMs)).toEqual({ type: 'probe' });
});

test('only one of two workers gets the probe, and neither takes it from its own memory', async () => {
  const { shared, one, other } = workers();
  await one.failed('search', failed('a'));
  await one.failed('search', failed('b'));
  shared.nowMs += 30_000;
  expect(await one.admit('search', 'c', leaseMs)).toEqual({ type: 'probe' });
  expect((await one.admit('search', 'd', leaseMs)).type).toBe('open');
  expect((await other.admit('search', 'e', leaseMs)).type).toBe('open');
  await one.answered('search');
  expect(await one.admit('search', 'd', leaseMs)).toEqual({ type: 'closed' });
});

test('forgets the breaker it heard of longest ago when there are too many', async () => {
  const { shared, one } = workers();
  for (let number = 0; number <= 1_000; number += 1) await one.admit(`b${String(number)}`, 'c', leaseMs);
  expect(shared.asked).toBe(1_001);
  await one.admit('b1000', 'c', leaseMs);
  expect(shared.asked).toBe(1_001);
  await one.admit('b0', 'c', leaseMs);
  expect(shared.asked).toBe(1_002);
});
