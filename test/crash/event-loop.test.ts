import { describe, expect, it } from 'vitest';
import { CrashBench } from './support/crash-bench.js';
import { callEnd, ending } from './support/endings.js';

const blocked = { blockMs: 4_500 };

describe('an event loop blocked for longer than the lease', { timeout: 60_000 }, () => {
  it.each([
    { tool: 'keyed', at: 'claimed', ended: 'succeeded', starts: 1 },
    { tool: 'once', at: 'claimed', ended: 'succeeded', starts: 1 },
    // The start was counted, and is void: nothing was sent, which its worker says when it can.
    { tool: 'keyed', at: 'begun', ended: 'succeeded', starts: 2 },
    { tool: 'once', at: 'begun', ended: 'succeeded', starts: 2 },
  ] as const)('$at: a $tool body does not begin, and the call runs later', async ({ tool, at, ended, starts }) => {
    await using bench = await CrashBench.open();
    await bench.worker([{ at, tool, action: blocked }]);
    const run = await bench.runCalls(tool);
    expect(await run.result()).toMatchObject({ status: 'completed' });
    expect(await callEnd(run)).toEqual(ending(ended, starts));
    expect(await bench.oracle.arrivals(tool)).toHaveLength(1);
  });

  it.each(['keyed', 'once'])('in the body of a %s call that nobody took over: its result counts', async (tool) => {
    await using bench = await CrashBench.open();
    await bench.worker([{ at: 'answered', tool, action: blocked }]);
    const run = await bench.runCalls(tool);
    expect(await run.result()).toMatchObject({ status: 'completed' });
    expect(await callEnd(run)).toEqual(ending('succeeded', 1));
    expect(await bench.oracle.arrivals(tool)).toHaveLength(1);
  });

  it('by the body of one call: another that began with it does not run late', async () => {
    await using bench = await CrashBench.open();
    const worker = await bench.worker([{ at: 'in-body', tool: 'keyed', action: blocked }]);
    const run = await bench.runCalls('keyed', 'nature', 'nature', 'nature');
    expect(await run.result()).toMatchObject({ status: 'completed' });
    expect(await bench.oracle.effects('keyed')).toBe(1);
    for (const { row } of await run.calls()) expect(row.outcome?.status).toBe('succeeded');
    expect(worker.isAlive).toBe(true);
  });
});
