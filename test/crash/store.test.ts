import { cp, rename, rm } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { WorkflowFailedError } from '@temporalio/client';
import { CrashBench, until, type CrashRun } from './support/crash-bench.js';
import { callEnd, ending } from './support/endings.js';

/** The message of the last failure of an activity that keeps being offered. */
async function refusal(run: CrashRun, activityId: string): Promise<string> {
  let message = '';
  await until(async () => {
    const { raw } = await run.handle.describe();
    const pending = raw.pendingActivities?.find((activity) => activity.activityId === activityId);
    message = pending?.lastFailure?.message ?? '';
    return message !== '' && !message.includes('eartbeat');
  }, `${activityId} is refused`);
  return message;
}

async function removeStore(path: string): Promise<void> {
  for (const suffix of ['', '-wal', '-shm']) await rm(path + suffix, { force: true });
}

describe('a store file', { timeout: 90_000 }, () => {
  it('replaced by an empty one: the worker refuses, nothing runs twice, and a cancelled run ends once it is back', async () => {
    await using bench = await CrashBench.open();
    const doomed = await bench.worker([{ at: 'answered', tool: 'once', action: 'kill' }]);
    const run = await bench.runCalls('once');
    await doomed.ended();
    const elsewhere = `${bench.storePath}.kept`;
    for (const suffix of ['', '-wal', '-shm']) await rename(bench.storePath + suffix, elsewhere + suffix);
    const stranger = await bench.worker();
    expect(await refusal(run, 'c1.0')).toMatch(/this worker's store \(\w+\) is not the run's \(\w+\). Nothing was run/);
    stranger.signal('SIGKILL');
    await stranger.ended();
    await bench.worker([], { storePath: elsewhere });
    expect(await run.result()).toMatchObject({ status: 'completed' });
    expect(await callEnd(run)).toEqual(ending('outcome_unknown', 1));
    expect(await bench.oracle.effects('once')).toBe(1);
  });

  it('put back from a copy made before the step: the worker refuses, and the run can still be cancelled', async () => {
    await using bench = await CrashBench.open();
    const copy = `${bench.storePath}.copy`;
    await cp(bench.storePath, copy);
    for (const suffix of ['-wal', '-shm']) await cp(bench.storePath + suffix, copy + suffix);
    const doomed = await bench.worker([{ at: 'answered', tool: 'once', action: 'kill' }]);
    const run = await bench.runCalls('once');
    await doomed.ended();
    await bench.worker([], { storePath: copy });
    expect(await refusal(run, 'c1.0')).toMatch(/the store does not hold node \w+, which asked for this call/);
    expect(await bench.oracle.effects('once')).toBe(1);
    await run.handle.cancel();
    await expect(run.result()).rejects.toBeInstanceOf(WorkflowFailedError);
    expect(await bench.oracle.effects('once')).toBe(1);
    await removeStore(copy);
  });

  it('locked for longer than a request waits, while a once body runs: the known end is recorded', async () => {
    await using bench = await CrashBench.open();
    await bench.oracle.mode('once', { type: 'hold' });
    const worker = await bench.worker();
    const run = await bench.runCalls('once');
    await until(async () => (await bench.oracle.held()) === 1, 'the backend holds the call');
    const other = new DatabaseSync(bench.storePath);
    other.exec('BEGIN IMMEDIATE');
    await bench.oracle.release();
    await sleep(14_000);
    other.exec('ROLLBACK');
    other.close();
    expect(await run.result()).toMatchObject({ status: 'completed' });
    expect(await callEnd(run)).toEqual(ending('succeeded', 1));
    expect(await bench.oracle.arrivals('once')).toHaveLength(1);
    expect(worker.isAlive).toBe(true);
  });
});
