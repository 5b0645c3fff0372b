import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RunCounters } from '../../src/contract/run.js';
import type { RunLimits } from '../../src/contract/run-limits.js';
import {
  carveLimits,
  chargeAgent,
  childRunKey,
  takeBackAgent,
  type AgentShare,
} from '../../src/policy/agent-budget.js';
import { noCounters } from '../../src/policy/run-budget.js';

const noLimits: RunLimits = { steps: 25, calls: null, tokens: null, costUsd: null, wallTimeMs: null, failures: null };
const budgetOf = (limits: Partial<RunLimits>, counters: Partial<RunCounters> = {}) => ({
  limits: { ...noLimits, ...limits },
  counters: { ...noCounters, ...counters },
  startedAtMs: 1_000,
});

describe('carveLimits', () => {
  it('divides what is left among the agents that have not begun', () => {
    const budget = budgetOf(
      { tokens: 1_000, calls: 21, costUsd: 3 },
      { inputTokens: 300, outputTokens: 100, calls: 1 },
    );
    const carved = carveLimits({ own: {}, budget, nowMs: 1_000, reserved: [], waiting: 2 });
    expect(carved).toEqual({
      limits: { tokens: 300, calls: 10, costUsd: 1.5 },
      share: { tokens: 300, calls: 10, costUsd: 1.5 },
    });
  });

  it('never gives more than the agent’s own caps, and keeps the others as they are', () => {
    const budget = budgetOf({ tokens: 1_000 });
    const own = { tokens: 50, steps: 4, failures: 1 };
    expect(carveLimits({ own, budget, nowMs: 1_000, reserved: [], waiting: 1 })?.limits).toEqual(own);
  });

  it('leaves out what running agents may still use', () => {
    const budget = budgetOf({ tokens: 100 });
    const reserved = [{ tokens: 60, calls: null, costUsd: null }];
    expect(carveLimits({ own: {}, budget, nowMs: 1_000, reserved, waiting: 1 })?.share.tokens).toBe(40);
  });

  it('gives the time that the parent has left, undivided', () => {
    const budget = budgetOf({ wallTimeMs: 10_000 });
    expect(carveLimits({ own: {}, budget, nowMs: 4_000, reserved: [], waiting: 5 })?.limits).toEqual({
      wallTimeMs: 7_000,
    });
  });

  it.each<[string, Partial<RunLimits>, Partial<RunCounters>, number]>([
    ['tokens', { tokens: 10 }, { inputTokens: 10 }, 1_000],
    ['money', { costUsd: 1 }, { costUsd: 1.2 }, 1_000],
    ['time', { wallTimeMs: 500 }, {}, 1_500],
  ])('gives nothing where there is no %s left', (_name, limits, counters, nowMs) => {
    const budget = budgetOf(limits, counters);
    expect(carveLimits({ own: {}, budget, nowMs, reserved: [], waiting: 1 })).toBeUndefined();
  });

  it('never lets all agents of a step have more than is left, in whatever order they begin and end', () => {
    const run = fc.record({
      tokens: fc.integer({ min: 0, max: 5_000 }),
      agents: fc.array(fc.record({ uses: fc.double({ min: 0, max: 1, noNaN: true }), endsFirst: fc.boolean() }), {
        maxLength: 8,
      }),
    });
    fc.assert(
      fc.property(run, ({ tokens, agents }) => {
        let budget = budgetOf({ tokens });
        const running: { share: AgentShare; uses: number }[] = [];
        const end = (): void => {
          const ended = running.shift();
          if (!ended) return;
          const inputTokens = Math.floor((ended.share.tokens ?? 0) * ended.uses);
          budget = { ...budget, counters: chargeAgent(budget.counters, { ...noCounters, inputTokens }) };
        };
        agents.forEach(({ uses, endsFirst }, index) => {
          if (endsFirst) end();
          const reserved = running.map(({ share }) => share);
          const carved = carveLimits({ own: {}, budget, nowMs: 1_000, reserved, waiting: agents.length - index });
          if (carved) running.push({ share: carved.share, uses });
          const promised = running.reduce((sum, { share }) => sum + (share.tokens ?? 0), budget.counters.inputTokens);
          expect(promised).toBeLessThanOrEqual(tokens);
        });
      }),
    );
  });
});

describe('takeBackAgent', () => {
  it('undoes the charge of a child, whatever it had used, and takes nothing else back', () => {
    const amount = fc.integer({ min: 0, max: 1_000 });
    const counters = fc.record({
      ...{ steps: amount, calls: amount, inputTokens: amount, outputTokens: amount, failures: amount },
      costUsd: amount,
    });
    fc.assert(
      fc.property(counters, counters, (before, used) => {
        expect(takeBackAgent(chargeAgent(before, used), used)).toEqual(before);
      }),
    );
  });
});

describe('childRunKey', () => {
  it('is the same for the same call, and no other’s', () => {
    expect(childRunKey('r', 'c1.0')).toBe(childRunKey('r', 'c1.0'));
    expect(new Set([childRunKey('r', 'c1.0'), childRunKey('r', 'c1.1'), childRunKey('s', 'c1.0')]).size).toBe(3);
  });
});
