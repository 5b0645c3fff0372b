import { describe, expect, it } from 'vitest';
import { CrashBench } from './support/crash-bench.js';
import { callEnd, ending } from './support/endings.js';

/** Enough for a worker (60 MB here), and used up within a second. */
const small = { execArgv: ['--max-old-space-size=150'] };

describe('a tool that takes all memory, so that Node.js ends its worker', { timeout: 120_000 }, () => {
  it.each([
    { tool: 'keyed', ended: 'timeout', starts: 2 },
    { tool: 'once', ended: 'outcome_unknown', starts: 1 },
  ])('$tool: the call ends after $starts starts, and the run goes on', async ({ tool, ended, starts }) => {
    await using bench = await CrashBench.open();
    const run = await bench.runCalls({ tool, input: { hoards: true } });
    for (let start = 0; start < starts; start += 1) {
      const doomed = await bench.worker([], small);
      await doomed.ended();
      await doomed.reached('heap out of memory');
    }
    await bench.worker([], small);
    expect(await run.result()).toMatchObject({ status: 'completed', answer: 'all done' });
    expect(await callEnd(run)).toEqual(ending(ended, starts));
    expect(await bench.oracle.arrivals(tool)).toEqual([]);
  });
});
