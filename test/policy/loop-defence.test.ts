import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { LoopState } from '../../src/contract/guard-state.js';
import {
  admitCall,
  isStuck,
  loopLimits,
  loopLimitsOf,
  noLoop,
  observeCall,
  observeRefusal,
} from '../../src/policy/loop-defence.js';

type Made = { tool?: string; args?: string; result?: string; effect?: 'read' | 'once'; succeeded?: boolean };

let keys = 0;
const call = ({ tool = 'search', args = 'x' }: Made) => ({ digest: `${tool}:${args}`, tool });

/** Admits a call and, where it may run, observes its end. */
function make(state: LoopState, made: Made = {}): { state: LoopState; verdict: string } {
  const { result = 'same', effect = 'read', succeeded = true } = made;
  const verdict = admitCall(state, { ...call(made), pendingEqual: 0, polling: false });
  if (verdict.type === 'refuse') return { state: observeRefusal(state, call(made)), verdict: verdict.type };
  const observed = observeCall(state, { ...call(made), key: `k${(keys += 1)}`, result, effect, succeeded });
  return { state: observed, verdict: verdict.type };
}

function verdicts(...calls: Made[]): string[] {
  let state = noLoop;
  return calls.map((made) => {
    const next = make(state, made);
    state = next.state;
    return next.verdict;
  });
}

describe('equal calls with equal results', () => {
  it('run, run with a hint, and are refused the third time', () => {
    expect(verdicts({}, {}, {}, {})).toEqual(['run', 'hint', 'refuse', 'refuse']);
  });

  it('start anew after a changed result', () => {
    // The second call ran and said something else, so the third is only its first repetition.
    expect(verdicts({ result: 'a' }, { result: 'b' }, { result: 'b' }, { result: 'b' })).toEqual([
      'run',
      'hint',
      'hint',
      'refuse',
    ]);
  });

  it('start anew after an effect of another tool, and not after a read or a failed effect', () => {
    const other = { tool: 'write', args: '1', effect: 'once' } as const;
    expect(verdicts({}, {}, other, {}, {})).toEqual(['run', 'hint', 'run', 'run', 'hint']);
    expect(verdicts({}, {}, { ...other, succeeded: false }, {})).toEqual(['run', 'hint', 'run', 'refuse']);
    expect(verdicts({}, {}, { tool: 'other', args: '1' }, {})).toEqual(['run', 'hint', 'run', 'refuse']);
  });

  it('with effects of their own do not reset themselves', () => {
    const write = { tool: 'write', effect: 'once' } as const;
    expect(verdicts(write, write, write)).toEqual(['run', 'hint', 'refuse']);
  });

  it('are counted for a tool of any name', () => {
    const write = { tool: 'constructor', effect: 'once' } as const;
    expect(verdicts(write, write, write)).toEqual(['run', 'hint', 'refuse']);
  });

  it('in one step count before their results are known', () => {
    const asked = { ...call({}), polling: false };
    expect([0, 1, 2, 3].map((pendingEqual) => admitCall(noLoop, { ...asked, pendingEqual }).type)).toEqual([
      'run',
      'run',
      'refuse',
      'refuse',
    ]);
  });

  it('of a polling tool always run', () => {
    const stuck = make(make(make(noLoop).state).state).state;
    expect(admitCall(stuck, { ...call({}), pendingEqual: 9, polling: true })).toEqual({ type: 'run' });
  });

  it('name the first call of the row, whose result is quoted', () => {
    const observe = (state: LoopState, key: string) =>
      observeCall(state, { ...call({}), key, result: 'same', effect: 'read', succeeded: true });
    const twice = observe(observe(noLoop, 'first'), 'second');
    expect(admitCall(twice, { ...call({}), pendingEqual: 0, polling: false })).toEqual({
      type: 'refuse',
      times: 2,
      earlierKey: 'first',
    });
  });
});

describe('cycles', () => {
  it('of calls whose effects hide them from each other are found by their results', () => {
    const a = { tool: 'open', effect: 'once', result: 'opened' } as const;
    const b = { tool: 'close', effect: 'once', result: 'closed' } as const;
    expect(verdicts(a, b, a, b, a)).toEqual(['run', 'run', 'run', 'run', 'refuse']);
  });

  it('of up to six calls are found, whatever their length', () => {
    for (let period = 2; period <= 6; period += 1) {
      const round = Array.from({ length: period }, (_, n) => ({
        tool: `t${n}`,
        effect: 'once' as const,
        result: `r${n}`,
      }));
      const seen = verdicts(...round, ...round, ...round);
      expect([period, seen.indexOf('refuse')]).toEqual([period, 2 * period]);
    }
  });

  it('in no order at all are found by bringing nothing new', () => {
    const writes = ['open', 'close', 'note'].map((tool) => ({ tool, effect: 'once', result: tool }) as const);
    const order = '012010212012021020121020'.split('').map((n) => writes[Number(n)] ?? {});
    const limits = loopLimitsOf({ equalCalls: 2, equalAnswers: 5, onExhausted: 'stop' });
    const refusedAt = verdicts(...order).indexOf('refuse');
    expect(refusedAt).toBeGreaterThan(0);
    expect(refusedAt).toBeLessThanOrEqual(writes.length + limits.staleCalls);
  });

  it('in no order are let go on in a run that was started before there was a rule for them', () => {
    const limits = loopLimitsOf({ equalCalls: 2, onExhausted: 'stop' });
    const stale: LoopState = { ...noLoop, stale: 99, tail: [{ digest: 'search:x', result: 'same' }] };
    const asked = { ...call({}), pendingEqual: 0, polling: false };
    expect(admitCall(stale, asked, limits).type).toBe('run');
    expect(admitCall(stale, asked).type).toBe('refuse');
    expect(admitCall(stale, { ...asked, digest: 'search:new' }).type).toBe('run');
  });

  it('whose results change are none', () => {
    const round = (n: number): Made[] => [
      { tool: 'open', effect: 'once', result: `${n}` },
      { tool: 'close', effect: 'once', result: 'closed' },
    ];
    expect(verdicts(...[1, 2, 3, 4].flatMap(round))).not.toContain('refuse');
  });
});

describe('a run is stuck', () => {
  it('after two refusals of one call', () => {
    let state = make(make(noLoop).state).state;
    state = make(state).state;
    expect(isStuck(state)).toBe(false);
    expect(isStuck(make(state).state)).toBe(true);
  });

  it('after five refusals of different calls, unless an effect came in between', () => {
    let state = noLoop;
    const refuse = (n: number) => (state = observeRefusal(state, call({ args: `${n}` })));
    for (let n = 0; n < 4; n += 1) refuse(n);
    expect(isStuck(state)).toBe(false);
    const progressed = make(state, { tool: 'write', effect: 'once' }).state;
    expect(isStuck(observeRefusal(progressed, call({ args: 'next' })))).toBe(false);
    expect(isStuck(observeRefusal(state, call({ args: 'next' })))).toBe(true);
  });
});

describe('whatever a model does', () => {
  const made = fc.record<Made>({
    tool: fc.constantFrom('a', 'b', 'c'),
    args: fc.constantFrom('1', '2', '3'),
    result: fc.constantFrom('x', 'y'),
    effect: fc.constantFrom('read', 'once'),
    succeeded: fc.boolean(),
  });

  it('no equal call with an equal result runs more than twice without an effect of another tool', () => {
    fc.assert(
      fc.property(fc.array(made, { maxLength: 60 }), (calls) => {
        let state = noLoop;
        const rows = new Map<string, { result: string; times: number }>();
        for (const each of calls) {
          const { digest, tool } = call(each);
          const next = make(state, each);
          if (next.verdict !== 'refuse') {
            const row = rows.get(digest);
            const times = row && row.result === each.result ? row.times + 1 : 1;
            expect(times).toBeLessThanOrEqual(loopLimits.equalCalls);
            rows.set(digest, { result: each.result ?? '', times });
            if (each.effect === 'once' && each.succeeded) {
              for (const other of rows.keys()) if (!other.startsWith(`${tool}:`)) rows.delete(other);
            }
          }
          state = next.state;
        }
      }),
    );
  });

  it('the state stays bounded, survives JSON, and is never changed in place', () => {
    const wide = fc.record<Made>({ tool: fc.constantFrom('a', 'b'), args: fc.nat(10_000).map(String) });
    fc.assert(
      fc.property(fc.array(wide, { minLength: 100, maxLength: 200 }), (calls) => {
        let state = noLoop;
        for (const each of calls) {
          const before = JSON.stringify(state);
          const next = make(state, each).state;
          expect(JSON.stringify(state)).toBe(before);
          state = JSON.parse(JSON.stringify(next)) as LoopState;
          expect(state).toEqual(next);
        }
        expect(state.seen.length).toBeLessThanOrEqual(64);
        expect(state.tail.length).toBeLessThanOrEqual(48);
      }),
      { numRuns: 20 },
    );
  });
});
