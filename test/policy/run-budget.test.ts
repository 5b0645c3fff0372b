import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RunCounters } from '../../src/contract/run.js';
import type { RunLimits } from '../../src/contract/run-limits.js';
import { admitCalls, describeCap, noCounters, reachedCap } from '../../src/policy/run-budget.js';

const unlimited: RunLimits = {
  steps: null,
  calls: null,
  tokens: null,
  costUsd: null,
  wallTimeMs: null,
  failures: null,
};

const counters = fc.record<RunCounters>({
  steps: fc.nat(50),
  calls: fc.nat(50),
  inputTokens: fc.nat(1_000),
  outputTokens: fc.nat(1_000),
  costUsd: fc.float({ min: 0, max: 10, noNaN: true }),
  failures: fc.nat(50),
});

describe('a run without limits', () => {
  it('reaches no cap, whatever it has used, and admits every call', () => {
    fc.assert(
      fc.property(counters, fc.nat(), fc.nat(100), (used, elapsedMs, wanted) => {
        expect(reachedCap(used, unlimited, elapsedMs)).toBeUndefined();
        expect(admitCalls(used, unlimited, wanted)).toBe(wanted);
      }),
    );
  });
});

describe('a cap', () => {
  it.each([
    ['steps_cap', { steps: 3 }, { steps: 3 }, 0],
    ['calls_cap', { calls: 3 }, { calls: 3 }, 0],
    ['tokens_cap', { tokens: 10 }, { inputTokens: 4, outputTokens: 6 }, 0],
    ['cost_cap', { costUsd: 1 }, { costUsd: 1 }, 0],
    ['wall_time_cap', { wallTimeMs: 1_000 }, {}, 1_000],
    ['failures_cap', { failures: 2 }, { failures: 2 }, 0],
  ] as const)('%s is reached at its limit and not before', (reason, limits, used, elapsedMs) => {
    expect(reachedCap({ ...noCounters, ...used }, { ...unlimited, ...limits }, elapsedMs)).toBe(reason);
    const less = Object.fromEntries(Object.entries(used).map(([name, value]) => [name, value - 1]));
    expect(reachedCap({ ...noCounters, ...less }, { ...unlimited, ...limits }, elapsedMs - 1)).toBeUndefined();
  });

  it.each(['steps', 'calls', 'tokens', 'costUsd', 'wallTimeMs'] as const)('of 0 %s leaves none', (limit) => {
    expect(reachedCap(noCounters, { ...unlimited, [limit]: 0 }, 0)).toBeDefined();
  });

  it('of 0 failures is reached by the first failure, not by the start', () => {
    expect(reachedCap(noCounters, { ...unlimited, failures: 0 }, 0)).toBeUndefined();
    expect(reachedCap({ ...noCounters, failures: 1 }, { ...unlimited, failures: 0 }, 0)).toBe('failures_cap');
  });

  it('is told in words with its limit', () => {
    expect(describeCap('wall_time_cap', { ...unlimited, wallTimeMs: 90_000 })).toBe(
      "the run's limit of 90 s is used up",
    );
    expect(describeCap('steps_cap', { ...unlimited, steps: 1 })).toBe("the run's limit of 1 step is used up");
    expect(describeCap('calls_cap', { ...unlimited, calls: 2 })).toBe("the run's limit of 2 tool calls is used up");
    expect(describeCap('cost_cap', { ...unlimited, costUsd: 1.5 })).toBe("the run's limit of $1.5 is used up");
  });
});

describe('admitting calls', () => {
  it('never lets a run exceed its calls, however its steps are cut', () => {
    fc.assert(
      fc.property(fc.nat(40), fc.array(fc.nat(15), { maxLength: 30 }), (limit, steps) => {
        const limits = { ...unlimited, calls: limit };
        let used: RunCounters = { ...noCounters };
        for (const wanted of steps) {
          const admitted = admitCalls(used, limits, wanted);
          expect(admitted).toBeGreaterThanOrEqual(0);
          expect(admitted).toBeLessThanOrEqual(wanted);
          // Nothing is held back while there is room.
          expect(admitted === wanted || used.calls + admitted === limit).toBe(true);
          used = { ...used, calls: used.calls + admitted };
        }
        expect(used.calls).toBe(
          Math.min(
            limit,
            steps.reduce((sum, wanted) => sum + wanted, 0),
          ),
        );
      }),
    );
  });

  it('admits none where more were used than a limit that was lowered later allows', () => {
    expect(admitCalls({ ...noCounters, calls: 9 }, { ...unlimited, calls: 3 }, 5)).toBe(0);
  });
});
