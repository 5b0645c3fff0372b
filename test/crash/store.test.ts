import { cp, open, rename, rm } from 'node:fs/promises';
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
    await bench.worker([], { store: { path: elsewhere } });
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
    await bench.worker([], { store: { path: copy } });
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

describe('a store file that was damaged while its worker was dead', { timeout: 90_000 }, () => {
  it('a node is missing: the worker says which, nothing runs, and the run ends once it is back', async () => {
    await using bench = await CrashBench.open();
    const doomed = await bench.worker([{ at: 'begun', tool: 'keyed', action: 'kill' }]);
    const run = await bench.runCalls('keyed');
    await doomed.ended();
    const kept = `${bench.storePath}.node`;
    const db = new DatabaseSync(bench.storePath, { enableForeignKeyConstraints: false });
    db.exec(`ATTACH '${kept}' AS kept; CREATE TABLE kept.nodes AS SELECT * FROM nodes WHERE parent IS NOT NULL`);
    db.exec('DELETE FROM nodes WHERE parent IS NOT NULL');
    await bench.worker();
    expect(await refusal(run, 'c1.0')).toMatch(/the store does not hold node \w+, which asked for this call/);
    expect(await bench.oracle.arrivals('keyed')).toEqual([]);
    db.exec('INSERT INTO nodes SELECT * FROM kept.nodes');
    db.close();
    expect(await run.result()).toMatchObject({ status: 'completed' });
    expect(await callEnd(run)).toEqual(ending('succeeded', 2));
    expect(await bench.oracle.effects('keyed')).toBe(1);
  });

  it('a newer perdure has raised its schema: the worker does not start and says so, and the run ends under the newer', async () => {
    await using bench = await CrashBench.open();
    const doomed = await bench.worker([{ at: 'answered', tool: 'once', action: 'kill' }]);
    const run = await bench.runCalls('once');
    await doomed.ended();
    const db = new DatabaseSync(bench.storePath);
    const version = db.prepare("SELECT value FROM meta WHERE name = 'schema_version'").get()?.['value'];
    db.exec("UPDATE meta SET value = 99 WHERE name = 'schema_version'");
    await expect(bench.worker()).rejects.toThrow(/its schema has version 99, this perdure knows versions up to/);
    db.prepare("UPDATE meta SET value = ? WHERE name = 'schema_version'").run(version ?? 0);
    db.close();
    await bench.worker();
    expect(await run.result()).toMatchObject({ status: 'completed' });
    expect(await callEnd(run)).toEqual(ending('outcome_unknown', 1));
    expect(await bench.oracle.effects('once')).toBe(1);
  });

  it('pages are overwritten: the worker calls the file damaged, runs nothing, and goes on from a backup made at that moment', async () => {
    await using bench = await CrashBench.open();
    const doomed = await bench.worker([{ at: 'begun', tool: 'once', action: 'kill' }]);
    const run = await bench.runCalls('once');
    await doomed.ended();
    const restored = `${bench.storePath}.restored`;
    const db = new DatabaseSync(bench.storePath);
    db.exec(`VACUUM INTO '${restored}'`);
    const broken = `${bench.storePath}.broken`;
    db.exec(`VACUUM INTO '${broken}'`);
    db.close();
    const file = await open(broken, 'r+');
    const { size } = await file.stat();
    // The first page, which says what the file is, stays.
    await file.write(Buffer.alloc(size - 4_096, 0xa5), 0, size - 4_096, 4_096);
    await file.close();
    await expect(bench.worker([], { store: { path: broken } })).rejects.toThrow(/damaged/);
    expect(await bench.oracle.arrivals('once')).toEqual([]);
    await bench.worker([], { store: { path: restored } });
    expect(await run.result()).toMatchObject({ status: 'completed' });
    expect(await bench.oracle.arrivals('once')).toEqual([]);
  });
});

describe('a key that the backend has forgotten', { timeout: 60_000 }, () => {
  it('after keyTtlMs a lost answer is unknown, as for a once tool: the effect happens once', async () => {
    await using bench = await CrashBench.open();
    const options = { keyTtlMs: 1_000 };
    const doomed = await bench.worker([{ at: 'answered', tool: 'keyed', action: 'kill' }], options);
    const run = await bench.runCalls('keyed');
    await doomed.ended();
    await bench.oracle.forgetKeys();
    await bench.worker([], options);
    expect(await run.result()).toMatchObject({ status: 'completed' });
    expect(await callEnd(run)).toEqual(ending('outcome_unknown', 1));
    expect(await bench.oracle.effects('keyed')).toBe(1);
  });
});
