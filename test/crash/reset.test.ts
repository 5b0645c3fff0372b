import { describe, expect, it } from 'vitest';
import { WorkflowFailedError } from '@temporalio/client';
import { setTimeout as sleep } from 'node:timers/promises';
import { resetWorkflow } from '../support/reset-workflow.js';
import { CrashBench, until, type CrashRun } from './support/crash-bench.js';
import { callEnd, ending } from './support/endings.js';

/** Resets to the workflow task that scheduled the activity. Returns the new execution's result. */
async function resetTo(bench: CrashBench, run: CrashRun, activityId: string): Promise<unknown> {
  const { workflowId } = run.handle;
  const runId = await resetWorkflow(bench.client, workflowId, activityId);
  return bench.client.workflow.getHandle(workflowId, runId).result();
}

describe('a workflow reset', { timeout: 60_000 }, () => {
  it.each([
    { tool: 'keyed', ended: 'succeeded', starts: 2 },
    { tool: 'once', ended: 'outcome_unknown', starts: 1 },
    { tool: 'once_fenced', ended: 'succeeded', starts: 1 },
  ])('while a $tool call runs: $ended, and one effect', async ({ tool, ended, starts }) => {
    await using bench = await CrashBench.open();
    await bench.oracle.mode(tool, { type: 'commit-then-hold' });
    await bench.worker();
    const run = await bench.runCalls(tool);
    await until(async () => (await bench.oracle.held()) === 1, 'the backend holds the call');
    const reset = resetTo(bench, run, 'c1.0');
    await sleep(500);
    await bench.oracle.mode(tool, { type: 'answer' });
    expect(await reset).toMatchObject({ status: 'completed' });
    expect(await callEnd(run)).toEqual(ending(ended, starts));
    expect(await bench.oracle.effects(tool)).toBe(1);
  });

  it.each(['read', 'keyed', 'once'])(
    'after a %s call has ended: its outcome is returned and nothing runs',
    async (tool) => {
      await using bench = await CrashBench.open();
      const worker = await bench.worker();
      const run = await bench.runCalls(tool);
      await run.result();
      const asked = worker.asked.length;
      expect(await resetTo(bench, run, 'c1.0')).toMatchObject({ status: 'completed', answer: 'all done' });
      expect(await callEnd(run)).toEqual(ending('succeeded', 1));
      expect(await bench.oracle.arrivals(tool)).toHaveLength(1);
      expect(worker.asked).toHaveLength(asked);
    },
  );

  it('to before the first turn: the model is not asked again and the calls keep their keys', async () => {
    await using bench = await CrashBench.open();
    const worker = await bench.worker();
    const run = await bench.runCalls('once', 'keyed');
    await run.result();
    const asked = [...worker.asked];
    expect(await resetTo(bench, run, 'turn-1')).toMatchObject({ status: 'completed', answer: 'all done' });
    expect(worker.asked).toEqual(asked);
    expect(await run.calls()).toHaveLength(2);
    expect([await bench.oracle.effects('once'), await bench.oracle.effects('keyed')]).toEqual([1, 1]);
  });

  it('of a cancelled run: a call that was refused unexecuted keeps its answer', async () => {
    await using bench = await CrashBench.open();
    await bench.oracle.mode('once', { type: 'hold' });
    await bench.worker();
    const run = await bench.runCalls('once', 'once');
    await until(async () => (await bench.oracle.held()) === 1, 'the backend holds the first call');
    await run.handle.cancel();
    await expect(run.result()).rejects.toBeInstanceOf(WorkflowFailedError);
    await bench.oracle.release();
    expect(await resetTo(bench, run, 'c1.0')).toMatchObject({ status: 'completed' });
    const { events } = await bench.client.workflow.getHandle(run.handle.workflowId).fetchHistory();
    const failures = events?.flatMap((event) => event.activityTaskFailedEventAttributes?.failure ?? []) ?? [];
    expect(failures.map(({ applicationFailureInfo }) => applicationFailureInfo?.type)).toEqual([
      'cancelled',
      'cancelled',
    ]);
    const ends = (await run.calls()).map(({ row }) => row.outcome);
    expect(ends).toMatchObject([{ failure: { class: 'cancelled' } }, { failure: { class: 'cancelled' } }]);
  });
});

describe('an activity that is reset or paused', { timeout: 60_000 }, () => {
  it.each(['keyed', 'once'])('in the body of a %s call: it runs to its end, which is recorded', async (tool) => {
    await using bench = await CrashBench.open();
    await bench.oracle.mode(tool, { type: 'commit-then-hold' });
    await bench.worker();
    const run = await bench.runCalls(tool);
    await until(async () => (await bench.oracle.held()) === 1, 'the backend holds the call');
    await bench.client.workflowService.resetActivity({
      namespace: bench.client.options.namespace,
      execution: { workflowId: run.handle.workflowId },
      id: 'c1.0',
    });
    await sleep(2_500);
    await bench.oracle.release();
    expect(await run.result()).toMatchObject({ status: 'completed' });
    expect(await callEnd(run)).toEqual(ending('succeeded', 1));
    expect(await bench.oracle.arrivals(tool)).toHaveLength(1);
  });

  it('paused in the body of a once call: it runs to its end, which is recorded', async () => {
    await using bench = await CrashBench.open();
    await bench.oracle.mode('once', { type: 'commit-then-hold' });
    await bench.worker();
    const run = await bench.runCalls('once');
    await until(async () => (await bench.oracle.held()) === 1, 'the backend holds the call');
    await bench.client.workflowService.pauseActivity({
      namespace: bench.client.options.namespace,
      execution: { workflowId: run.handle.workflowId },
      id: 'c1.0',
    });
    await sleep(2_500);
    await bench.oracle.release();
    expect(await run.result()).toMatchObject({ status: 'completed' });
    expect(await callEnd(run)).toEqual(ending('succeeded', 1));
  });
});

describe('a workflow that is terminated', { timeout: 60_000 }, () => {
  it('stops the body, records no end that nobody saw, and leaves the worker well', async () => {
    await using bench = await CrashBench.open();
    await bench.oracle.mode('once', { type: 'commit-then-hold' });
    await bench.worker();
    const run = await bench.runCalls('once');
    await until(async () => (await bench.oracle.held()) === 1, 'the backend holds the call');
    await run.handle.terminate('a crash test');
    await sleep(3_500);
    expect((await run.calls())[0]?.row).toMatchObject({ state: 'started', begun: true, starts: 1 });
    await bench.oracle.release();
    const next = await bench.runCalls('once');
    expect(await next.result()).toMatchObject({ status: 'completed' });
    expect(await bench.oracle.effects('once')).toBe(2);
  });
});
