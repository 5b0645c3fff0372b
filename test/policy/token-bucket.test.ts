import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  bucketOf,
  limiterTransition,
  type LimiterEvent,
  type LimiterState,
  type LimiterVerdict,
} from '../../src/policy/token-bucket.js';

const none = { requests: 0, tokens: 0 };

function take(perMinute: { requests?: number; tokens?: number }, over: Partial<LimiterEvent & { type: 'take' }> = {}) {
  return {
    kind: 'limiter',
    type: 'take',
    limits: {
      ...(perMinute.requests === undefined ? {} : { requestsPerMinute: perMinute.requests }),
      ...(perMinute.tokens === undefined ? {} : { tokensPerMinute: perMinute.tokens }),
    },
    charge: { requests: 1, tokens: 0 },
    maxWaitMs: 0,
    spare: 0,
    returned: none,
    ...over,
  } satisfies LimiterEvent;
}

class Bench {
  state: LimiterState | undefined;
  nowMs = 1_000_000;

  send(event: LimiterEvent): LimiterVerdict {
    const { state, verdict } = limiterTransition(this.state, event, this.nowMs);
    this.state = state;
    return verdict;
  }

  /** How many of the events are granted at once. */
  granted(event: LimiterEvent, times: number): number {
    let granted = 0;
    for (let number = 0; number < times; number += 1) if (this.send(event).type === 'granted') granted += 1;
    return granted;
  }
}

test('a bucket holds a tenth of its minute and fills in the rest', () => {
  expect(bucketOf(60)).toEqual({ capacity: 6, perMs: 55 / 60_000 });
  expect(bucketOf(3)).toEqual({ capacity: 1, perMs: 3 / 60_000 });
  expect(bucketOf(1)).toEqual({ capacity: 1, perMs: 1 / 60_000 });
});

describe('requests', () => {
  test('as many as the bucket holds pass at once, and the next one is told when', () => {
    const bench = new Bench();
    expect(bench.granted(take({ requests: 60 }), 10)).toBe(6);
    expect(bench.send(take({ requests: 60 }))).toEqual({ type: 'refused', retryAfterMs: 1_091 });
    bench.nowMs += 1_091;
    expect(bench.granted(take({ requests: 60 }), 10)).toBe(1);
  });

  test('calls that wait keep their order: each is charged at once and waits for its own turn', () => {
    const bench = new Bench();
    const patient = take({ requests: 60 }, { maxWaitMs: 5_000 });
    bench.granted(take({ requests: 60 }), 6);
    const waits = [bench.send(patient), bench.send(patient), bench.send(patient)];
    expect(waits.map((verdict) => verdict.type === 'granted' && verdict.waitMs)).toEqual([1_091, 2_182, 3_273]);
  });

  test('spare calls are granted ahead where the bucket holds them, and can be given back', () => {
    const bench = new Bench();
    expect(bench.send(take({ requests: 600 }, { spare: 9 }))).toEqual({ type: 'granted', waitMs: 0, spare: 9 });
    expect(bench.granted(take({ requests: 600 }), 100)).toBe(50);
    expect(bench.send(take({ requests: 600 }, { returned: { requests: 9, tokens: 0 } }))).toMatchObject({
      type: 'granted',
    });
    expect(bench.granted(take({ requests: 600 }), 100)).toBe(8);
  });
});

describe('tokens', () => {
  const ask = (tokens: number) => take({ tokens: 1_000 }, { charge: { requests: 1, tokens } });

  test('are charged by the estimate and corrected by what was used', () => {
    const bench = new Bench();
    const { limits } = ask(0);
    expect(bench.send(ask(60)).type).toBe('granted');
    bench.send({ kind: 'limiter', type: 'correct', limits, charge: { requests: 0, tokens: 40 } });
    expect(bench.send(ask(1))).toMatchObject({ type: 'refused' });
    bench.send({ kind: 'limiter', type: 'correct', limits, charge: { requests: 0, tokens: -30 } });
    expect(bench.send(ask(30)).type).toBe('granted');
  });

  test('one request larger than the bucket passes when it is full, and is paid off afterwards', () => {
    const bench = new Bench();
    expect(bench.send(ask(5_000)).type).toBe('granted');
    const next = bench.send(ask(1));
    expect(next).toMatchObject({ type: 'refused' });
    expect(next.type === 'refused' && next.retryAfterMs).toBeGreaterThan(300_000);
  });

  test('both buckets have to have room, and neither is charged where one has none', () => {
    const bench = new Bench();
    const both = (tokens: number) => take({ requests: 600, tokens: 1_000 }, { charge: { requests: 1, tokens } });
    expect(bench.send(both(100)).type).toBe('granted');
    expect(bench.granted(both(100), 10)).toBe(0);
    expect(bench.state?.requests?.level).toBe(59);
  });
});

const perMinutes = fc.constantFrom(1, 2, 3, 7, 10, 60, 600, 6_000);
const steps = fc.array(
  fc.record({
    passMs: fc.oneof(fc.integer({ min: 0, max: 2_000 }), fc.integer({ min: 0, max: 90_000 })),
    asks: fc.integer({ min: 0, max: 40 }),
  }),
  { maxLength: 60 },
);

describe('in any order of events', () => {
  test('no minute sees more requests than the limit, wherever it begins', () => {
    fc.assert(
      fc.property(perMinutes, steps, fc.integer({ min: 0, max: 1_000 }), (perMinute, walk, maxWaitMs) => {
        const bench = new Bench();
        const sentAt: number[] = [];
        for (const { passMs, asks } of walk) {
          bench.nowMs += passMs;
          for (let number = 0; number < asks; number += 1) {
            const verdict = bench.send(take({ requests: perMinute }, { maxWaitMs }));
            if (verdict.type === 'granted') sentAt.push(bench.nowMs + verdict.waitMs);
          }
        }
        sentAt.sort((a, b) => a - b);
        sentAt.forEach((at, index) => {
          const next = sentAt[index + perMinute];
          if (next !== undefined) expect(next - at).toBeGreaterThanOrEqual(60_000 - 1);
        });
      }),
    );
  });

  test('a clock that is set back mints nothing, and does not stop the refill', () => {
    const jumps = fc.array(fc.integer({ min: -5_000_000, max: 100_000 }), { maxLength: 60 });
    fc.assert(
      fc.property(perMinutes, jumps, (perMinute, walk) => {
        const bench = new Bench();
        const event = take({ requests: perMinute });
        const { capacity, perMs } = bucketOf(perMinute);
        let forwardMs = 0;
        let granted = 0;
        for (const jump of walk) {
          bench.nowMs += jump;
          forwardMs += Math.max(0, jump);
          granted += bench.granted(event, 5);
          expect(granted).toBeLessThanOrEqual(capacity + forwardMs * perMs + 1e-6);
        }
        bench.nowMs += 60_000;
        expect(bench.granted(event, 1)).toBe(1);
      }),
    );
  });

  test('whoever is refused and waits as told is not refused for the same reason, if nobody else comes', () => {
    fc.assert(
      fc.property(perMinutes, steps, (perMinute, walk) => {
        const bench = new Bench();
        for (const { passMs, asks } of walk) {
          bench.nowMs += passMs;
          bench.granted(take({ requests: perMinute }), asks);
        }
        const verdict = bench.send(take({ requests: perMinute }));
        if (verdict.type !== 'refused') return;
        bench.nowMs += verdict.retryAfterMs;
        expect(bench.send(take({ requests: perMinute })).type).toBe('granted');
      }),
    );
  });
});
