import { describe, expect, it } from 'vitest';
import { WorkflowFailedError } from '@temporalio/client';
import { CancelledFailure } from '@temporalio/common';
import { CrashBench, until, type CrashRun } from './support/crash-bench.js';
import { callEnd, ending } from './support/endings.js';

/** Cancels, and waits for the run's end; it must be that of a cancelled run, in Temporal and in the store. */
async function cancelled(bench: CrashBench, run: CrashRun): Promise<void> {
  await run.handle.cancel();
  await endsAsCancelled(bench, run);
}

async function endsAsCancelled(bench: CrashBench, run: CrashRun): Promise<void> {
  const end = await run.result().then(
    (result) => result,
    (error: unknown) => error,
  );
  expect(end).toBeInstanceOf(WorkflowFailedError);
  expect((end as WorkflowFailedError).cause).toBeInstanceOf(CancelledFailure);
  expect((await bench.store.getRun(run.runKey))?.status).toBe('cancelled');
}

describe.concurrent('a run that is cancelled', { timeout: 60_000 }, () => {
  it('before a worker took the call: nothing runs', async () => {
    await using bench = await CrashBench.open();
    await bench.worker();
    const run = await bench.runCalls('elsewhere');
    await scheduled(run);
    await cancelled(bench, run);
    expect(await callEnd(run)).toEqual(ending('cancelled', 0));
    expect((await run.calls())[0]?.row).toMatchObject({ state: 'sealed', mayHaveHappened: false });
  });

  it('while the call waits for its next attempt: it is sealed as what its starts left behind', async () => {
    await using bench = await CrashBench.open();
    await bench.oracle.mode('keyed', { type: 'down', untilMs: Date.now() + 60_000 });
    const worker = await bench.worker();
    // The second wait is up to two seconds long.
    const run = await bench.runCalls('keyed');
    await until(async () => isWaiting(run, 1), 'the first attempt has failed');
    await cancelled(bench, run);
    const [call] = await run.calls();
    expect(call?.row.outcome).toMatchObject({
      status: 'aborted',
      failure: { class: 'cancelled', effectState: 'unknown' },
    });
    expect(call?.row.outcome?.attempts).toBe(call?.row.starts);
    expect(worker.isAlive).toBe(true);
  });

  it.each(['keyed', 'once'])(
    'while the body of a %s call runs: it is stopped, and the call ends as cancelled',
    async (tool) => {
      await using bench = await CrashBench.open();
      await bench.oracle.mode(tool, { type: 'hold' });
      await bench.worker();
      const run = await bench.runCalls(tool);
      await until(async () => (await bench.oracle.held()) === 1, 'the backend holds the call');
      await cancelled(bench, run);
      expect(await callEnd(run)).toEqual(ending('cancelled', 1));
      expect((await run.calls())[0]?.row.outcome).toMatchObject({ failure: { effectState: 'unknown' } });
    },
  );

  it('between the claim and the body: nothing runs', async () => {
    await using bench = await CrashBench.open();
    const worker = await bench.worker([{ at: 'claimed', tool: 'once', action: 'pause' }], {
      heartbeatTimeoutMs: 8_000,
    });
    const run = await bench.runCalls('once');
    await worker.reached('failpoint claimed');
    await run.handle.cancel();
    await cancelRequested(run);
    worker.resume();
    await endsAsCancelled(bench, run);
    expect(await callEnd(run)).toEqual(ending('cancelled', 0));
    expect(await bench.oracle.arrivals('once')).toEqual([]);
  });

  it('while an attempt is just failing: the retry that never comes does not fail the run', async () => {
    await using bench = await CrashBench.open();
    await bench.oracle.mode('keyed', { type: 'hold-then-503' });
    await bench.worker();
    const run = await bench.runCalls('keyed');
    await until(async () => (await bench.oracle.held()) === 1, 'the backend holds the call');
    await run.handle.cancel();
    await cancelRequested(run);
    await bench.oracle.release();
    await endsAsCancelled(bench, run);
    expect(await callEnd(run)).toEqual(ending('cancelled', 1));
  });

  it.each(['keyed', 'once'])('while its worker is dead with a %s call in its body', async (tool) => {
    await using bench = await CrashBench.open();
    // Longer than the next worker takes to start: the run hears of its cancellation before the server offers the call again.
    const options = { heartbeatTimeoutMs: 8_000 };
    const doomed = await bench.worker([{ at: 'answered', tool, action: 'kill' }], options);
    const run = await bench.runCalls(tool);
    await doomed.ended();
    await run.handle.cancel();
    await bench.worker([], options);
    await endsAsCancelled(bench, run);
    const { ended, starts } = await callEnd(run);
    // On a slow machine the server may offer the call again before the run has heard of its cancellation: then the next
    // start tells how the call ended. Either way its effect happened once, and nobody claims that it did not.
    const late = tool === 'keyed' ? { ended: 'succeeded', starts: 2 } : { ended: 'outcome_unknown', starts: 1 };
    expect([{ ended: 'cancelled', starts: 1 }, late]).toContainEqual({ ended, starts });
    const outcome = (await run.calls())[0]?.row.outcome;
    if (outcome?.status !== 'succeeded') expect(outcome).toMatchObject({ failure: { effectState: 'unknown' } });
    expect(await bench.oracle.effects(tool)).toBe(1);
  });

  it('while the model is asked', async () => {
    await using bench = await CrashBench.open();
    await bench.worker();
    const run = await bench.run([{ delayMs: 20_000, text: 'late' }]);
    await until(
      async () => (await run.handle.describe()).raw.pendingActivities?.[0]?.lastStartedTime != null,
      'the model is asked',
    );
    await cancelled(bench, run);
    expect(await run.calls()).toEqual([]);
  });
});

async function scheduled(run: CrashRun): Promise<void> {
  await until(
    async () =>
      ((await run.handle.describe()).raw.pendingActivities ?? []).some(({ activityId }) => activityId === 'c1.0'),
    'the call is scheduled',
  );
}

/** The run has heard of its cancellation and has passed it on to the call. */
async function cancelRequested(run: CrashRun): Promise<void> {
  await until(async () => {
    const { events } = await run.handle.fetchHistory();
    return events?.some((event) => event.activityTaskCancelRequestedEventAttributes != null) ?? false;
  }, 'the activity is asked to cancel');
}

async function isWaiting(run: CrashRun, starts: number): Promise<boolean> {
  const row = (await run.calls())[0]?.row;
  return row?.starts === starts && row.token === undefined;
}
