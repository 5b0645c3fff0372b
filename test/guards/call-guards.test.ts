import { describe, expect, test, vi } from 'vitest';
import { Breakers } from '../../src/guards/breakers.js';
import { CallGuards, type GuardedCall } from '../../src/guards/call-guards.js';
import { Limiters } from '../../src/guards/limiters.js';
import { MemoryShared } from './memory-shared.js';

const never = new AbortController().signal;

function workplace() {
  const shared = new MemoryShared();
  const warn = vi.fn();
  const worker = {
    shared,
    breakers: new Breakers(shared, { monotonicMs: () => shared.nowMs }),
    limiters: new Limiters(shared, () => shared.nowMs),
  };
  const log = { debug: () => undefined, info: () => undefined, warn, error: () => undefined };
  let calls = 0;
  const guard = (over: Partial<GuardedCall> = {}, leaseMs = 10_000) =>
    new CallGuards(
      worker,
      {
        tool: 'search',
        policy: { breaker: null, limiter: null, retryBudget: null },
        key: `k${String(++calls)}`,
        breakerKey: undefined,
        lockKey: undefined,
        tokens: 0,
        ...over,
      },
      { leaseMs, random: () => 0, log },
    );
  return { shared, guard, warn };
}

describe('an exclusive lock', () => {
  test('holds up the next call with its key, of any tool, until the first has ended', async () => {
    const { guard } = workplace();
    const first = guard({ lockKey: 'account:42' });
    expect(await first.enter(never)).toBeUndefined();
    const other = guard({ tool: 'refund', lockKey: 'account:42' });
    expect(await other.enter(never)).toMatchObject({
      failure: { class: 'conflict_in_progress', effectState: 'none', retryAfterMs: 250 },
      waitMs: 250,
    });
    expect(await guard({ lockKey: 'account:43' }).enter(never)).toBeUndefined();
    await first.leave();
    expect(await other.enter(never)).toBeUndefined();
    expect(other.fencingToken).toBeGreaterThan(0);
    await other.leave();
  });

  test('is renewed while the body runs, and its loss is told to the body', async () => {
    vi.useFakeTimers();
    try {
      const { shared, guard } = workplace();
      const guards = guard({ lockKey: 'account:42' }, 9_000);
      await guards.enter(never);
      for (let number = 0; number < 10; number += 1) {
        shared.nowMs += 3_000;
        await vi.advanceTimersByTimeAsync(3_000);
      }
      expect(guards.lost.aborted).toBe(false);
      shared.nowMs += 9_000;
      await vi.advanceTimersByTimeAsync(3_000);
      expect(guards.lost.aborted).toBe(true);
      await guards.leave();
    } finally {
      vi.useRealTimers();
    }
  });

  test('that cannot be given back is logged, and lapses', async () => {
    const { shared, guard, warn } = workplace();
    const guards = guard({ lockKey: 'account:42' });
    await guards.enter(never);
    shared.down = new Error('the store is away');
    await guards.leave();
    expect(warn).toHaveBeenCalledOnce();
    shared.down = undefined;
    shared.nowMs += 10_000;
    expect(await guard({ lockKey: 'account:42' }).enter(never)).toBeUndefined();
  });
});

describe('a limiter', () => {
  const policy = (limiter: object): GuardedCall['policy'] => ({ breaker: null, limiter, retryBudget: null });

  test('holds a call up as rate_limit once the minute is used up', async () => {
    const { guard } = workplace();
    const limited = { policy: policy({ requestsPerMinute: 3 }) };
    const first = guard(limited);
    expect(await first.enter(never)).toBeUndefined();
    first.begin();
    await first.leave();
    expect(await guard(limited).enter(never)).toEqual({
      failure: {
        class: 'rate_limit',
        effectState: 'none',
        retryAfterMs: 20_000,
        reason: 'its limit for a minute is used up',
        public: true,
      },
      waitMs: 20_250,
    });
  });

  test('is slept for only while that fits between two heartbeats', async () => {
    const { guard } = workplace();
    const limited = { policy: policy({ requestsPerMinute: 66 }) };
    for (let number = 0; number < 6; number += 1) {
      const guards = guard(limited, 900);
      expect(await guards.enter(never)).toBeUndefined();
      guards.begin();
    }
    expect((await guard(limited, 900).enter(never))?.failure).toMatchObject({ class: 'rate_limit', retryAfterMs: 984 });
    const startedAt = performance.now();
    expect(await guard(limited, 10_000).enter(never)).toBeUndefined();
    expect(performance.now() - startedAt).toBeGreaterThan(900);
  });

  test('takes back what a call did not use that never began', async () => {
    const { guard } = workplace();
    const limited = { policy: policy({ requestsPerMinute: 3 }) };
    for (let number = 0; number < 5; number += 1) {
      const guards = guard(limited);
      expect(await guards.enter(never)).toBeUndefined();
      await guards.leave();
    }
  });

  test('is not charged by a call that waits for its lock', async () => {
    const { guard } = workplace();
    const holder = guard({ lockKey: 'x' });
    await holder.enter(never);
    const limited = { policy: policy({ requestsPerMinute: 3 }), lockKey: 'x' };
    for (let number = 0; number < 5; number += 1) {
      expect((await guard(limited).enter(never))?.failure.class).toBe('conflict_in_progress');
    }
    await holder.leave();
    expect(await guard(limited).enter(never)).toBeUndefined();
  });

  test('bounds calls at once, and lets the next one in when one ends', async () => {
    const { guard } = workplace();
    const limited = { policy: policy({ concurrency: 2 }) };
    const [one, two, three] = [guard(limited), guard(limited), guard(limited)];
    expect([await one.enter(never), await two.enter(never)]).toEqual([undefined, undefined]);
    expect((await three.enter(never))?.failure).toMatchObject({ class: 'rate_limit', retryAfterMs: 250 });
    await one.leave();
    expect(await three.enter(never)).toBeUndefined();
    await Promise.all([two.leave(), three.leave()]);
  });

  test('charges what a result has on top of the estimate', async () => {
    const { shared, guard } = workplace();
    const limited = { policy: policy({ tokensPerMinute: 1_000 }), tokens: 40 };
    const guards = guard(limited);
    await guards.enter(never);
    guards.begin();
    await guards.succeeded('x'.repeat(398));
    await guards.leave();
    expect(shared.states.get('limiter/search')).toMatchObject({ tokens: { level: 100 - 40 - 100 } });
  });
});

describe('waits and retries', () => {
  test('waits are counted together against the budget, and only where they are granted', async () => {
    const { guard } = workplace();
    const guards = guard();
    expect(await guards.waitedMs()).toBe(0);
    expect(await guards.mayWait(600, 1_000)).toBe(true);
    expect(await guards.mayWait(500, 1_000)).toBe(false);
    expect(await guards.mayWait(400, 1_000)).toBe(true);
    expect(await guards.waitedMs()).toBe(1_000);
  });

  test('a retry takes a token of its tool, which successes put back', async () => {
    const { guard } = workplace();
    const policy = { breaker: null, limiter: null, retryBudget: { tokens: 2, perSuccess: 0.5, perMinute: 0 } };
    const taken = [];
    for (let number = 0; number < 3; number += 1) taken.push(await guard({ policy }).takeRetry());
    expect(taken).toEqual([true, true, false]);
    for (let number = 0; number < 2; number += 1) await guard({ policy }).succeeded(null);
    expect(await guard({ policy }).takeRetry()).toBe(true);
    expect(await guard({ policy, tool: 'other' }).takeRetry()).toBe(true);
  });
});
