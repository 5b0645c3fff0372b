import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { CrashBench, until } from './support/crash-bench.js';
import { callEnd, ending } from './support/endings.js';

describe.concurrent('a worker told to stop (SIGTERM) with a call in flight', { timeout: 60_000 }, () => {
  it.each(['keyed', 'once'])('lets a %s call end within its grace', async (tool) => {
    await using bench = await CrashBench.open();
    await bench.oracle.mode(tool, { type: 'hold' });
    const stopping = await bench.worker([], { shutdownGraceMs: 10_000 });
    const run = await bench.runCalls(tool);
    await until(async () => (await bench.oracle.held()) === 1, 'the backend holds the call');
    stopping.signal('SIGTERM');
    await bench.oracle.release();
    await stopping.ended();
    expect(await callEnd(run)).toEqual(ending('succeeded', 1));
    await bench.worker();
    expect(await run.result()).toMatchObject({ status: 'completed' });
    expect(await bench.oracle.arrivals(tool)).toHaveLength(1);
  });

  it.each([
    { tool: 'keyed', ended: 'succeeded', starts: 2, effects: 1 },
    { tool: 'once', ended: 'outcome_unknown', starts: 1, effects: 1 },
    // Another worker asks what became of it: this one has no time left to.
    { tool: 'once_found', ended: 'succeeded', starts: 1, effects: 1 },
  ])(
    'stops a $tool call at the end of its grace, which then ends as $ended',
    async ({ tool, ended, starts, effects }) => {
      await using bench = await CrashBench.open();
      await bench.oracle.mode(tool, { type: 'commit-then-hold', times: 1 });
      const stopping = await bench.worker([], { shutdownGraceMs: 500 });
      const run = await bench.runCalls(tool);
      await until(async () => (await bench.oracle.held()) === 1, 'the backend holds the call');
      stopping.signal('SIGTERM');
      await stopping.ended();
      await bench.worker();
      expect(await run.result()).toMatchObject({ status: 'completed' });
      expect(await callEnd(run)).toEqual(ending(ended, starts));
      expect(await bench.oracle.effects(tool)).toBe(effects);
    },
  );

  it('gives back a claim while its start is being counted', async () => {
    await using bench = await CrashBench.open();
    const options = { heartbeatTimeoutMs: 8_000 };
    const stopping = await bench.worker([{ at: 'confirmed', tool: 'once', action: 'pause' }], {
      ...options,
      shutdownGraceMs: 100,
    });
    const run = await bench.runCalls('once');
    await stopping.reached('failpoint confirmed');
    const other = new DatabaseSync(bench.storePath);
    other.exec('BEGIN IMMEDIATE');
    stopping.resume();
    await sleep(300);
    stopping.signal('SIGTERM');
    await sleep(1_500);
    other.exec('ROLLBACK');
    other.close();
    await stopping.ended();
    await bench.worker([], options);
    expect(await run.result()).toMatchObject({ status: 'completed' });
    expect(await callEnd(run)).toEqual(ending('succeeded', 2));
    expect(await bench.oracle.arrivals('once')).toHaveLength(1);
  });
});
