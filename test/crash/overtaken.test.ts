/**
 * Executions of a run that another has followed (a reset, a retry), and activities that still run for them somewhere: what they
 * ask for late changes nothing. And what a reset carries over to the newest execution, old as it may look, is not taken for that.
 */
import { describe, expect, it } from 'vitest';
import { setTimeout as sleep } from 'node:timers/promises';
import { WorkflowFailedError } from '@temporalio/client';
import type { TranscriptMessage } from '../../src/contract/transcript.js';
import { perdureOf } from '../support/perdure-of.js';
import { resetWorkflow } from '../support/reset-workflow.js';
import { CrashBench, until, type CrashRun, type CrashWorker } from './support/crash-bench.js';

const refusal = 'this execution is over';

/** Woken up, it has been refused, or it has gone on to ask its model. */
async function woken(sleeper: CrashWorker): Promise<void> {
  const asked = sleeper.asked.length;
  sleeper.signal('SIGCONT');
  await until(
    () => sleeper.log.includes(refusal) || sleeper.asked.length > asked,
    'the sleeper has gone on or given up',
  );
}

/** The end of the newest execution. */
async function lastEnd(bench: CrashBench, { handle }: CrashRun): Promise<unknown> {
  return await bench.client.workflow.getHandle(handle.workflowId).result();
}

async function conversation(bench: CrashBench, run: CrashRun): Promise<TranscriptMessage[]> {
  const { head } = (await bench.store.getRun(run.runKey)) ?? { head: '' };
  return (await bench.store.getChain(head)).map(({ message }) => message);
}

/** A `once` call whose worker dies in its body's first moment, so that nobody knows, and another that is skipped for that. */
async function runWithSkippedCall(bench: CrashBench): Promise<CrashRun> {
  const doomed = await bench.worker([{ at: 'begun', tool: 'once', action: 'kill' }]);
  const run = await bench.runCalls('once', 'once');
  await doomed.ended();
  return run;
}

async function ends(run: CrashRun): Promise<unknown[]> {
  return (await run.calls()).map(({ row: { outcome } }) =>
    outcome && 'failure' in outcome ? outcome.failure.class : outcome?.status,
  );
}

describe.concurrent('an execution that another has followed', { timeout: 90_000 }, () => {
  it('starts no turn any more: the conversation is the newest one’s', async () => {
    await using bench = await CrashBench.open();
    const sleeper = await bench.sleeper({ at: 'activity', tool: 'callModel', action: 'stop' }, { says: 'as it was' });
    const run = await bench.run([{ text: 'all done' }]);
    await sleeper.stopped();
    await run.handle.terminate('the test wants it');
    // With other tools the retried run asks another question, so that there are two answers.
    const heir = await bench.worker([{ at: 'model-asked', action: 'pause' }], {
      says: 'as it is',
      withoutTools: ['nature'],
    });
    const perdure = perdureOf(bench);
    await perdure.retry(await perdure.get(run.runKey));
    await heir.reached('failpoint model-asked');
    await woken(sleeper);
    await until(
      async () => sleeper.log.includes(refusal) || (await bench.store.listTurns(run.runKey)).length > 0,
      'the sleeper has given up, or its answer is stored',
    );
    heir.resume();
    expect(await lastEnd(bench, run)).toMatchObject({ status: 'completed', answer: 'as it is' });
    expect((await conversation(bench, run)).at(-1)).toMatchObject({ role: 'assistant', text: 'as it is' });
    expect(await bench.store.listTurns(run.runKey)).toHaveLength(1);
    expect(sleeper.isAlive).toBe(true);
  });

  it('ends no call that the newest one runs, although the run never ended in between', async () => {
    await using bench = await CrashBench.open();
    const run = await runWithSkippedCall(bench);
    const sleeper = await bench.sleeper({ at: 'activity', tool: 'callModel', action: 'stop' });
    await sleeper.stopped();
    const perdure = perdureOf(bench);
    await perdure.resolve(await perdure.get(run.runKey), 'c1.0', { happened: true });
    await bench.oracle.mode('once', { type: 'commit-then-hold' });
    // This time the first call is known to have happened, so the second is not skipped. No worker before that: it would be
    // given the sleeper's turn.
    await resetWorkflow(bench.client, run.handle.workflowId, 'c1.0');
    await bench.worker();
    await until(async () => (await bench.oracle.held()) === 1, 'the backend holds the second call');
    await woken(sleeper);
    expect(await ends(run)).toEqual(['succeeded', undefined]);
    await bench.oracle.release();
    expect(await lastEnd(bench, run)).toMatchObject({ status: 'completed', answer: 'all done' });
    expect(await ends(run)).toEqual(['succeeded', 'succeeded']);
    expect(await bench.oracle.effects('once')).toBe(1);
    expect(sleeper.isAlive).toBe(true);
  });

  it('gives no call the end of its own cancelling that the newest one runs', async () => {
    await using bench = await CrashBench.open();
    await bench.oracle.mode('elsewhere', { type: 'commit-then-hold' });
    const worker = await bench.worker([{ at: 'activity', tool: 'settleCall', action: 'pause' }]);
    // Nobody takes the call, so that its activity ends without an outcome when the run is cancelled.
    const run = await bench.runCalls('elsewhere');
    const isWaiting = async (): Promise<boolean> =>
      (await run.handle.describe()).raw.pendingActivities?.some(({ activityId }) => activityId === 'c1.0') === true;
    await until(isWaiting, 'the call waits for a worker');
    await run.handle.cancel();
    await worker.reached('failpoint activity settleCall');
    await run.handle.terminate('the test wants it');
    const perdure = perdureOf(bench);
    await perdure.retry(await perdure.get(run.runKey));
    await bench.worker([], { taskQueue: `${bench.taskQueue}-elsewhere` });
    await until(async () => (await bench.oracle.held()) === 1, 'the backend holds the call');
    worker.resume();
    const hasEnded = async (): Promise<boolean> => (await ends(run)).some((end) => end !== undefined);
    await until(async () => worker.log.includes(refusal) || (await hasEnded()), 'it has ended the call or given up');
    await bench.oracle.release();
    expect(await lastEnd(bench, run)).toMatchObject({ status: 'completed', answer: 'all done' });
    expect(await ends(run)).toEqual(['succeeded']);
    expect(await bench.oracle.effects('elsewhere')).toBe(1);
  });

  it('does not cancel the agent that the newest one has started', async () => {
    await using bench = await CrashBench.open();
    await bench.oracle.mode('read', { type: 'hold' });
    const worker = await bench.worker([{ at: 'activity', tool: 'endFormerAgent', action: 'pause' }]);
    const child = [{ calls: [{ tool: 'read', input: { of: 'the child' } }] }, { text: 'the child is done' }];
    const run = await bench.run([
      { calls: [{ tool: 'agent', input: { task: JSON.stringify(child) } }] },
      { text: 'all done' },
    ]);
    const { workflowId } = run.handle;
    await until(async () => (await bench.oracle.held()) === 1, 'the first child waits for the backend');
    await resetWorkflow(bench.client, workflowId, 'turn-1');
    await worker.reached('failpoint activity endFormerAgent');
    await resetWorkflow(bench.client, workflowId, 'turn-1');
    const hasBegunAnew = async (): Promise<boolean> => {
      const [agent] = await bench.store.listRuns({ workflowIdPrefix: `${workflowId}/`, limit: 1 });
      const [call] = await bench.store.listCalls(agent?.runKey ?? '');
      return call?.row.begun === true && call.row.starts === 2;
    };
    await until(hasBegunAnew, 'the newest child waits for the backend');
    const cancelling = 'the agent of an earlier course of the run is cancelled';
    const asked = worker.log.split(cancelling).length;
    worker.resume();
    const hasGoneOn = (): boolean => worker.log.includes(refusal) || worker.log.split(cancelling).length > asked;
    await until(hasGoneOn, 'the one that is left over has gone on or given up');
    // As long as the newest child would need to hear of it.
    await sleep(1_500);
    await bench.oracle.release();
    expect(await lastEnd(bench, run)).toMatchObject({ status: 'completed', answer: 'all done' });
    expect(await ends(run)).toEqual(['succeeded']);
  });
});

describe.concurrent('a turn that a reset carries over', { timeout: 90_000 }, () => {
  it.each(['once', 'twice'])(
    'is not taken for one of the execution that ended, although it was scheduled before that: reset %s',
    async (often) => {
      await using bench = await CrashBench.open();
      const run = await runWithSkippedCall(bench);
      const heir = await bench.worker([{ at: 'model-asked', action: 'pause' }]);
      const { workflowId } = run.handle;
      await heir.reached('failpoint model-asked');
      await run.handle.signal('nothing that it knows');
      const hasHandled = async (): Promise<boolean> => {
        const events = (await run.handle.fetchHistory()).events ?? [];
        const signal = events.findIndex((event) => event.workflowExecutionSignaledEventAttributes);
        return events.slice(signal).some((event) => event.workflowTaskCompletedEventAttributes);
      };
      await until(hasHandled, 'the workflow has seen the signal');
      await run.handle.cancel();
      await expect(run.result()).rejects.toBeInstanceOf(WorkflowFailedError);
      expect(await bench.store.getRun(run.runKey)).toMatchObject({ status: 'cancelled' });

      if (often === 'twice') {
        heir.arm([{ at: 'model-asked', action: 'pause' }]);
        await resetWorkflow(bench.client, workflowId, 'signal');
        await until(async () => (await bench.store.getRun(run.runKey))?.status === 'running', 'the turn has started');
        await until(hasHandled, 'the next workflow has seen the signal');
      }
      await resetWorkflow(bench.client, workflowId, 'signal');
      expect(await lastEnd(bench, run)).toMatchObject({ status: 'completed', answer: 'all done' });
      expect(await bench.store.getRun(run.runKey)).toMatchObject({ status: 'completed' });
      expect(await ends(run)).toEqual(['outcome_unknown', 'skipped']);
      heir.resume();
    },
  );
});
