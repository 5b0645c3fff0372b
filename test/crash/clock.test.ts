import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { bucketOf } from '../../src/policy/token-bucket.js';
import { CrashBench, until } from './support/crash-bench.js';
import { callEnd, ending } from './support/endings.js';

const hourMs = 3_600_000;
const coolDownMs = 3_000;
const readsPerMinute = 60;

/** A machine whose clock can be set: all of its workers, their threads and so the store's clock follow it. */
function machineOf(bench: CrashBench) {
  const path = join(bench.rootDir, 'clock');
  writeFileSync(path, '0');
  return {
    set: (offsetMs: number): void => writeFileSync(path, String(offsetMs)),
    options: {
      execArgv: ['--import', new URL('./support/shifted-clock.ts', import.meta.url).href],
      env: { PERDURE_CRASH_CLOCK: path },
    },
  };
}

describe.concurrent('a clock that is set', { timeout: 120_000 }, () => {
  it.each([
    { tool: 'keyed', byMs: hourMs },
    { tool: 'keyed', byMs: -hourMs },
    { tool: 'once', byMs: hourMs },
    { tool: 'once', byMs: -hourMs },
  ])('by $byMs ms while a $tool body runs: its end counts, and nothing runs twice', async ({ tool, byMs }) => {
    await using bench = await CrashBench.open();
    const machine = machineOf(bench);
    await bench.oracle.mode(tool, { type: 'commit-then-hold' });
    const options = { ...machine.options, toolTimeoutMs: 30_000 };
    await bench.worker([], options);
    await bench.worker([], options);
    const run = await bench.runCalls(tool);
    await until(async () => (await bench.oracle.held()) === 1, 'the backend holds the call');
    machine.set(byMs);
    await sleep(3_500);
    await bench.oracle.release();
    expect(await run.result()).toMatchObject({ status: 'completed' });
    expect(await callEnd(run)).toEqual(ending('succeeded', 1));
    expect(await bench.oracle.arrivals(tool)).toHaveLength(1);
  });

  it.each([
    { tool: 'keyed', ended: 'succeeded', starts: 2 },
    { tool: 'once', ended: 'outcome_unknown', starts: 1 },
  ])('one hour forward at the death of its worker: a $tool call ends as $ended', async ({ tool, ended, starts }) => {
    await using bench = await CrashBench.open();
    const machine = machineOf(bench);
    const doomed = await bench.worker([{ at: 'answered', tool, action: 'kill' }], machine.options);
    const run = await bench.runCalls(tool);
    await doomed.ended();
    machine.set(hourMs);
    await bench.worker([], machine.options);
    expect(await run.result()).toMatchObject({ status: 'completed' });
    expect(await callEnd(run)).toEqual(ending(ended, starts));
    expect(await bench.oracle.effects(tool)).toBe(1);
  });

  it.each([
    { byMs: hourMs, then: 0 },
    { byMs: -hourMs, then: 0 },
    { byMs: hourMs, then: -hourMs },
  ])(
    'by $byMs ms, later by $then, with a breaker open and a bucket half empty: no flood, no wait of an hour',
    async ({ byMs, then }) => {
      await using bench = await CrashBench.open();
      const machine = machineOf(bench);
      const options = { ...machine.options, breakerCoolDownMs: coolDownMs, readsPerMinute };
      await bench.worker([], options);
      await bench.worker([], options);
      await bench.oracle.mode('once', { type: 'down', untilMs: Date.now() + 600_000 });
      // Five failures in a row open the breaker, and three reads of six are gone.
      const first = await Promise.all(
        Array.from({ length: 5 }, (_, index) => bench.runCalls('once', ...(index < 3 ? ['read'] : []))),
      );
      for (const run of first) expect(await run.result()).toMatchObject({ status: 'completed' });

      const startedAt = Date.now();
      const asked = async (): Promise<number> =>
        (await bench.oracle.requests()).filter(({ tool }) => tool === 'once').length;
      const askedBefore = await asked();
      machine.set(byMs);
      const next = await Promise.all(Array.from({ length: 10 }, () => bench.runCalls('once', 'read')));
      // Down still: whatever the clock says, there is one probe at a time, and a rest after each.
      await until(async () => (await asked()) > askedBefore, 'a probe has met the backend');
      await until(async () => (await bench.oracle.arrivals('read')).length >= 8, 'half of the reads are done');
      expect((await asked()) - askedBefore).toBeLessThanOrEqual(1 + (Date.now() - startedAt) / coolDownMs);
      machine.set(then);
      await bench.oracle.mode('once', { type: 'answer' });
      for (const run of next) expect(await run.result()).toMatchObject({ status: 'completed' });
      expect(Date.now() - startedAt).toBeLessThan(40_000);
      // Each was sent, the probes that found the backend down among them, and none of them twice.
      expect((await asked()) - askedBefore).toBe(10);

      const reads = (await bench.oracle.arrivals('read')).map(({ atMs }) => atMs).slice(3);
      expect(reads).toHaveLength(10);
      // A clock that is set forward fills the bucket once more; from then on its rate holds.
      const bucket = bucketOf(readsPerMinute);
      reads.forEach((atMs, index) => {
        expect(index + 1).toBeLessThanOrEqual(bucket.capacity + (atMs - startedAt) * bucket.perMs + 1);
      });
    },
  );

  it.each([hourMs, -hourMs])(
    'by %d ms while a body runs that then fails: its next start has all of its time',
    async (byMs) => {
      await using bench = await CrashBench.open();
      const machine = machineOf(bench);
      await bench.oracle.mode('keyed', { type: 'hold-then-503', times: 1 });
      await bench.worker([], { ...machine.options, toolTimeoutMs: 20_000 });
      const run = await bench.runCalls({ tool: 'keyed', input: { backend: [{ answer: 'ok', afterMs: 500 }] } });
      await until(async () => (await bench.oracle.held()) === 1, 'the backend holds the call');
      machine.set(byMs);
      const isRenewed = async (): Promise<boolean> => {
        const [call] = await run.calls();
        return Math.abs((call?.row.leaseUntilMs ?? 0) - Date.now()) > hourMs / 2;
      };
      await until(isRenewed, 'the claim was renewed by the new clock');
      await bench.oracle.release();
      expect(await run.result()).toMatchObject({ status: 'completed' });
      expect(await callEnd(run)).toEqual(ending('succeeded', 2));
      expect(await bench.oracle.effects('keyed')).toBe(1);
    },
  );
});
