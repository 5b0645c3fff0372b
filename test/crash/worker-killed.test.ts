import { describe, expect, it } from 'vitest';
import { CrashBench } from './support/crash-bench.js';
import { callEnd, ending } from './support/endings.js';
import type { Moment } from './support/failpoints.js';

interface Case {
  tool: string;
  at: Moment;
  ended: string;
  starts: number;
  /** Requests that the backend worked off, and those of them that had an effect. */
  arrivals: number;
  effects: number;
}

const withEffect = ['keyed', 'nature', 'once', 'once_found', 'once_fenced'];
const ranOnce = { ended: 'succeeded', starts: 1, arrivals: 1, effects: 1 };

describe.concurrent('a worker killed', { timeout: 60_000 }, () => {
  it.each<Case>([
    // Nothing was sent, so another worker runs the call as though nothing had been.
    ...withEffect.map((tool): Case => ({ at: 'before-claim', tool, ...ranOnce })),
    ...withEffect.map((tool): Case => ({ at: 'claimed', tool, ...ranOnce })),
    // The outcome is stored, so it is returned and nothing is run.
    ...['read', ...withEffect].map((tool): Case => ({ at: 'settled', tool, ...ranOnce })),
    { at: 'begun', tool: 'read', ended: 'succeeded', starts: 2, arrivals: 1, effects: 1 },
    { at: 'begun', tool: 'keyed', ended: 'succeeded', starts: 2, arrivals: 1, effects: 1 },
    { at: 'begun', tool: 'nature', ended: 'succeeded', starts: 2, arrivals: 1, effects: 1 },
    { at: 'begun', tool: 'once', ended: 'outcome_unknown', starts: 1, arrivals: 0, effects: 0 },
    { at: 'begun', tool: 'once_found', ended: 'outcome_unknown', starts: 1, arrivals: 0, effects: 0 },
    { at: 'begun', tool: 'once_fenced', ended: 'succeeded', starts: 2, arrivals: 1, effects: 1 },
    { at: 'answered', tool: 'read', ended: 'succeeded', starts: 2, arrivals: 2, effects: 2 },
    { at: 'answered', tool: 'keyed', ended: 'succeeded', starts: 2, arrivals: 2, effects: 1 },
    { at: 'answered', tool: 'nature', ended: 'succeeded', starts: 2, arrivals: 2, effects: 2 },
    { at: 'answered', tool: 'once', ended: 'outcome_unknown', starts: 1, arrivals: 1, effects: 1 },
    { at: 'answered', tool: 'once_found', ended: 'succeeded', starts: 1, arrivals: 1, effects: 1 },
    { at: 'answered', tool: 'once_fenced', ended: 'succeeded', starts: 1, arrivals: 1, effects: 1 },
  ])('$at, calling $tool: $ended with $effects effects', async ({ tool, at, ended, starts, arrivals, effects }) => {
    await using bench = await CrashBench.open();
    const doomed = await bench.worker([{ at, tool, action: 'kill' }]);
    const heir = bench.worker([], {}, doomed.ended());
    const run = await bench.runCalls(tool);
    expect((await run.result()).status).toBe('completed');
    expect(doomed.isAlive).toBe(false);
    await heir;
    expect(await callEnd(run)).toEqual(ending(ended, starts));
    const arrived = await bench.oracle.arrivals(tool);
    expect({ arrivals: arrived.length, effects: await bench.oracle.effects(tool) }).toEqual({ arrivals, effects });
    expect(new Set(arrived.map(({ key }) => key)).size).toBe(Math.min(1, arrivals));
  });

  it.each([
    { tool: 'read', ended: 'timeout', starts: 2 },
    { tool: 'keyed', ended: 'timeout', starts: 2 },
    { tool: 'once', ended: 'outcome_unknown', starts: 1 },
    { tool: 'once_fenced', ended: 'timeout', starts: 2 },
  ])('by $tool itself each time: the call ends after $starts starts', async ({ tool, ended, starts }) => {
    await using bench = await CrashBench.open();
    const run = await bench.runCalls({ tool, input: { kills: true } });
    for (let start = 0; start < starts; start += 1) await (await bench.worker()).ended();
    await bench.worker();
    expect((await run.result()).status).toBe('completed');
    expect(await callEnd(run)).toEqual(ending(ended, starts));
  });

  it.each([
    { at: 'answered', tool: 'once', ended: 'outcome_unknown' },
    { at: 'answered', tool: 'keyed', ended: 'outcome_unknown' },
    { at: 'settled', tool: 'once', ended: 'succeeded' },
    { at: 'claimed', tool: 'once', ended: 'misconfigured' },
  ] as const)('$at, and only workers without $tool left: $ended', async ({ at, tool, ended }) => {
    await using bench = await CrashBench.open();
    const run = await bench.runCalls(tool);
    await (await bench.worker([{ at, tool, action: 'kill' }])).ended();
    await bench.worker([], { withoutTools: [tool] });
    expect((await run.result()).status).toBe('completed');
    expect(await callEnd(run)).toEqual(ending(ended, at === 'claimed' ? 0 : 1));
    expect(await bench.oracle.effects(tool)).toBe(at === 'claimed' ? 0 : 1);
  });

  it('again between taking a lost call over and deciding on it: no start more than its class has', async () => {
    await using bench = await CrashBench.open();
    const run = await bench.runCalls({ tool: 'keyed', input: { kills: true } });
    await (await bench.worker()).ended();
    await (await bench.worker()).ended();
    await (await bench.worker([{ at: 'claimed', tool: 'keyed', action: 'kill' }])).ended();
    const last = await bench.worker();
    expect((await run.result()).status).toBe('completed');
    expect(last.isAlive).toBe(true);
    expect(await callEnd(run)).toEqual(ending('timeout', 2));
  });
});
