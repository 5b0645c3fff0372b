import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { lockTransition, type LockEvent, type LockState, type LockVerdict } from '../../src/policy/exclusive-lock.js';

const leaseMs = 10_000;
const take = (token: string, permits = 1): LockEvent => ({ kind: 'lock', type: 'take', token, leaseMs, permits });
const release = (token: string): LockEvent => ({ kind: 'lock', type: 'release', token });

class Bench {
  state: LockState | undefined;
  nowMs = 1_000_000;

  send(event: LockEvent): LockVerdict {
    const { state, verdict } = lockTransition(this.state, event, this.nowMs);
    this.state = state;
    return verdict;
  }
}

describe('a lock', () => {
  test('has one holder until it is released', () => {
    const bench = new Bench();
    expect(bench.send(take('a'))).toMatchObject({ type: 'held', renewed: false });
    bench.nowMs += 4_000;
    expect(bench.send(take('b'))).toEqual({ type: 'busy', leaseRestMs: 6_000 });
    bench.send(release('b'));
    expect(bench.send(take('b')).type).toBe('busy');
    bench.send(release('a'));
    expect(bench.send(take('b')).type).toBe('held');
  });

  test('is kept by renewing, and lost where that comes too late', () => {
    const bench = new Bench();
    const first = bench.send(take('a'));
    bench.nowMs += leaseMs - 1;
    expect(bench.send(take('a'))).toEqual({ ...first, renewed: true });
    bench.nowMs += leaseMs;
    expect(bench.send(take('a'))).toMatchObject({ type: 'held', renewed: false });
  });

  test('as many hold a place as there are permits', () => {
    const bench = new Bench();
    expect(['a', 'b', 'c', 'd'].map((token) => bench.send(take(token, 3)).type)).toEqual([
      'held',
      'held',
      'held',
      'busy',
    ]);
  });

  test('a later holder has a higher fence, also after the state was swept away', () => {
    const bench = new Bench();
    const first = bench.send(take('a'));
    bench.state = undefined;
    bench.nowMs += 24 * 3_600_000;
    const later = bench.send(take('b'));
    expect(later.type === 'held' && first.type === 'held' && later.fence > first.fence).toBe(true);
  });
});

describe('in any order of events', () => {
  const tokens = fc.constantFrom('a', 'b', 'c', 'd');
  const step = fc.oneof(
    { weight: 6, arbitrary: tokens.map((token) => ({ token, type: 'take' as const })) },
    { weight: 2, arbitrary: tokens.map((token) => ({ token, type: 'release' as const })) },
    { weight: 4, arbitrary: fc.integer({ min: 0, max: 8_000 }) },
    { weight: 1, arbitrary: fc.integer({ min: -100_000, max: 100_000 }) },
  );

  test('no more hold it than there are permits, and fences only grow', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 100 }), fc.integer({ min: 1, max: 3 }), (steps, permits) => {
        const bench = new Bench();
        const held = new Map<string, number>();
        let highest = 0;
        for (const one of steps) {
          if (typeof one === 'number') {
            bench.nowMs += Math.abs(one);
            continue;
          }
          for (const [token, untilMs] of held) if (untilMs <= bench.nowMs) held.delete(token);
          const verdict = bench.send(one.type === 'take' ? take(one.token, permits) : release(one.token));
          if (one.type === 'release') held.delete(one.token);
          if (verdict.type !== 'held') continue;
          if (!verdict.renewed) expect(verdict.fence).toBeGreaterThan(highest);
          expect(verdict.renewed).toBe(held.has(one.token));
          highest = Math.max(highest, verdict.fence);
          held.set(one.token, bench.nowMs + leaseMs);
          expect(held.size).toBeLessThanOrEqual(permits);
        }
      }),
    );
  });

  test('nobody holds it for ever, whatever the clock did', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
        const bench = new Bench();
        for (const one of steps) {
          if (typeof one === 'number') bench.nowMs += one;
          else bench.send(one.type === 'take' ? take(one.token) : release(one.token));
        }
        bench.send(take('z'));
        bench.nowMs += leaseMs;
        expect(bench.send(take('y')).type).toBe('held');
      }),
    );
  });
});
