import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { BreakerLimits } from '../../src/contract/shared-limits.js';
import { breakerTransition, type BreakerEvent, type BreakerState } from '../../src/policy/breaker.js';

const limits: BreakerLimits = { failures: 5, windowMs: 600_000, coolDownMs: 30_000 };
const leaseMs = 10_000;

const admit = (token: string): BreakerEvent => ({ kind: 'breaker', type: 'admit', token, leaseMs });
const failed = (token = 'x', counts = { attempts: 0, calls: 1 }, over: Partial<BreakerLimits> = {}): BreakerEvent => ({
  kind: 'breaker',
  type: 'failed',
  token,
  ...counts,
  limits: { ...limits, ...over },
});
const answered: BreakerEvent = { kind: 'breaker', type: 'answered' };
const released = (token: string): BreakerEvent => ({ kind: 'breaker', type: 'released', token });

/** One breaker with its clock. */
class Bench {
  state: BreakerState | undefined;
  nowMs = 1_000_000;

  send(...events: BreakerEvent[]): ReturnType<typeof breakerTransition>['verdict'] {
    let verdict: ReturnType<typeof breakerTransition>['verdict'] = { type: 'closed' };
    for (const event of events) ({ state: this.state, verdict } = breakerTransition(this.state, event, this.nowMs));
    return verdict;
  }

  opened(): this {
    this.send(failed(), failed(), failed(), failed(), failed());
    return this;
  }

  after(ms: number): this {
    this.nowMs += ms;
    return this;
  }
}

describe('closed', () => {
  test('opens on the fifth failed call in a row', () => {
    const bench = new Bench();
    expect(bench.send(failed(), failed(), failed(), failed())).toEqual({ type: 'closed' });
    expect(bench.send(failed())).toEqual({ type: 'open', retryAfterMs: 30_000 });
    expect(bench.send(admit('a'))).toEqual({ type: 'open', retryAfterMs: 30_000 });
  });

  test('opens on the tenth failed attempt in a row', () => {
    const bench = new Bench();
    const attempt = failed('x', { attempts: 1, calls: 0 });
    for (let number = 1; number < 10; number += 1) expect(bench.send(attempt)).toEqual({ type: 'closed' });
    expect(bench.send(attempt).type).toBe('open');
  });

  test('an answer in between starts the count anew', () => {
    const bench = new Bench();
    bench.send(failed(), failed(), failed(), failed(), answered);
    expect(bench.state).toBeUndefined();
    expect(bench.send(failed(), failed(), failed(), failed())).toEqual({ type: 'closed' });
  });

  test('a pause longer than the window starts the count anew', () => {
    const bench = new Bench();
    bench.send(failed(), failed(), failed(), failed());
    expect(bench.after(limits.windowMs).send(failed()).type).toBe('open');
    const other = new Bench();
    other.send(failed(), failed(), failed(), failed());
    expect(other.after(limits.windowMs + 1).send(failed())).toEqual({ type: 'closed' });
  });

  test('takes each event with its own limits', () => {
    expect(new Bench().send(failed('x', { attempts: 1, calls: 0 }, { failures: 1 }))).toEqual({ type: 'closed' });
    expect(new Bench().send(failed('x', { attempts: 0, calls: 1 }, { failures: 1 })).type).toBe('open');
  });
});

describe('open', () => {
  test('lets one probe through once the cool-down is over', () => {
    const bench = new Bench().opened();
    expect(bench.after(29_999).send(admit('a'))).toEqual({ type: 'open', retryAfterMs: 1 });
    expect(bench.after(1).send(admit('a'))).toEqual({ type: 'probe' });
    expect(bench.send(admit('b'))).toEqual({ type: 'open', retryAfterMs: 1_000 });
    expect(bench.send(admit('a'))).toEqual({ type: 'probe' });
  });

  test('failures of calls that were under way do not put off half-open', () => {
    const bench = new Bench().opened();
    for (let number = 0; number < 50; number += 1) bench.after(500).send(failed('late'));
    expect(bench.after(5_000).send(admit('a'))).toEqual({ type: 'probe' });
    expect(bench.send(failed('late'))).toMatchObject({ type: 'open', retryAfterMs: 1_000 });
    expect(bench.send(admit('a'))).toEqual({ type: 'probe' });
  });

  test('an answer closes it, whoever got it', () => {
    const bench = new Bench().opened();
    expect(bench.send(answered, admit('a'))).toEqual({ type: 'closed' });
  });
});

describe('half-open', () => {
  test('a failed attempt of the probe opens it for another cool-down', () => {
    const bench = new Bench().opened().after(30_000);
    bench.send(admit('a'));
    expect(bench.after(2_000).send(failed('a', { attempts: 1, calls: 0 }))).toEqual({
      type: 'open',
      retryAfterMs: 30_000,
    });
    expect(bench.after(29_999).send(admit('b')).type).toBe('open');
    expect(bench.after(1).send(admit('b'))).toEqual({ type: 'probe' });
  });

  test('an answer to the probe closes it, and the next failures are counted from 1', () => {
    const bench = new Bench().opened().after(30_000);
    bench.send(admit('a'), answered);
    expect(bench.send(failed(), failed(), failed(), failed())).toEqual({ type: 'closed' });
    expect(bench.send(failed()).type).toBe('open');
  });

  test('a probe that is given back, or whose worker is lost, makes room for another', () => {
    const bench = new Bench().opened().after(30_000);
    bench.send(admit('a'), released('a'));
    expect(bench.send(admit('b'))).toEqual({ type: 'probe' });
    expect(bench.after(leaseMs - 1).send(admit('c'))).toEqual({ type: 'open', retryAfterMs: 1 });
    expect(bench.after(1).send(admit('c'))).toEqual({ type: 'probe' });
    expect(bench.send(failed('b'), admit('c'))).toEqual({ type: 'probe' });
  });

  test('somebody else cannot give the probe back', () => {
    const bench = new Bench().opened().after(30_000);
    bench.send(admit('a'), released('b'));
    expect(bench.send(admit('b')).type).toBe('open');
  });
});

describe('the clock', () => {
  test('set back by an hour, it keeps nothing open for longer than a cool-down', () => {
    const bench = new Bench().opened();
    expect(bench.after(-3_600_000).send(admit('a'))).toEqual({ type: 'open', retryAfterMs: 30_000 });
    expect(bench.after(30_000).send(admit('a'))).toEqual({ type: 'probe' });
    expect(bench.after(-3_600_000).send(admit('b')).type).toBe('open');
    expect(bench.after(30_000).send(admit('b'))).toEqual({ type: 'probe' });
  });
});

/** Several workers, each with a call under way now and then, and a clock that jumps. */
const tokens = ['a', 'b', 'c', 'd'];
const step = fc.oneof(
  { weight: 10, arbitrary: fc.constantFrom(...tokens).map((token) => admit(token)) },
  { weight: 10, arbitrary: fc.constantFrom(...tokens).map((token) => failed(token, { attempts: 1, calls: 1 })) },
  { weight: 1, arbitrary: fc.constant(answered) },
  { weight: 2, arbitrary: fc.constantFrom(...tokens).map((token) => released(token)) },
  { weight: 8, arbitrary: fc.integer({ min: 0, max: 20_000 }) },
  { weight: 1, arbitrary: fc.integer({ min: -1_000_000, max: 1_000_000 }) },
);

describe('in any order of events', () => {
  test('a probe is out at most once within its lease, while the clock runs forward', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
        const bench = new Bench();
        let probe: { token: string; untilMs: number } | undefined;
        for (const one of steps) {
          if (typeof one === 'number') {
            bench.after(Math.abs(one));
            continue;
          }
          const verdict = bench.send(one);
          if (one.type === 'answered') probe = undefined;
          if (one.type === 'failed' && one.token === probe?.token) probe = undefined;
          if (one.type === 'released' && one.token === probe?.token) probe = undefined;
          if (verdict.type !== 'probe' || one.type !== 'admit') continue;
          if (probe && probe.token !== one.token) expect(bench.nowMs).toBeGreaterThanOrEqual(probe.untilMs);
          probe = { token: one.token, untilMs: bench.nowMs + leaseMs };
        }
      }),
    );
  });

  test('it is never stuck: a cool-down and a lease later, a call is let through', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
        const bench = new Bench();
        for (const one of steps) {
          if (typeof one === 'number') bench.after(one);
          else bench.send(one);
        }
        // The first look after a jump of the clock is where the rest is counted from.
        bench.send(admit('z1'));
        expect(bench.after(limits.coolDownMs + leaseMs).send(admit('z2')).type).not.toBe('open');
        bench.send(answered);
        expect(bench.send(admit('z3'))).toEqual({ type: 'closed' });
      }),
    );
  });

  test('it opens only where the last five failures had no answer between them, and nobody waits longer than a cool-down', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
        const bench = new Bench();
        let sinceAnswer = 0;
        for (const one of steps) {
          if (typeof one === 'number') {
            bench.after(one);
            continue;
          }
          if (one.type === 'answered') sinceAnswer = 0;
          if (one.type === 'failed') sinceAnswer += 1;
          const verdict = bench.send(one);
          if (verdict.type === 'closed') continue;
          expect(sinceAnswer).toBeGreaterThanOrEqual(5);
          if (verdict.type === 'open') expect(verdict.retryAfterMs).toBeLessThanOrEqual(limits.coolDownMs);
          if (verdict.type === 'open') expect(verdict.retryAfterMs).toBeGreaterThan(0);
        }
      }),
    );
  });

  test('its state is JSON and small', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
        const bench = new Bench();
        for (const one of steps) {
          if (typeof one === 'number') bench.after(one);
          else bench.send(one);
        }
        const text = JSON.stringify(bench.state ?? null);
        expect(JSON.parse(text)).toEqual(bench.state ?? null);
        expect(text.length).toBeLessThan(300);
      }),
    );
  });
});
