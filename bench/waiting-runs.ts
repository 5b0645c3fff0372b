import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { taskOf } from './perdure/task.ts';
import { StepCounter } from './step-counter.ts';
import type { Stage } from './stage.ts';
import { table } from './statistics.ts';
import { usageOf } from './usage.ts';

/** So many runs open at once on one worker, each in the wait before its call's second start; then all go on. */
export async function measureWaitingRuns(stage: Stage, runs: number): Promise<void> {
  // Long enough that the last run begins to wait before the first one goes on, on a slow machine too.
  const waitMs = 60_000 + runs * 150;
  const worker = await stage.startPerdure({ env: { BENCH_WAIT_MS: String(waitMs) } });
  const start = (tool: 'look_up' | 'throttled', workflowId: string, steps: number) =>
    stage.client.workflow.start('agentRun', {
      workflowId,
      taskQueue: worker.taskQueue,
      args: [{ runKey: workflowId, task: taskOf(tool, steps) }],
    });
  // Compiled code and open connections are no run's memory.
  await Promise.all(
    Array.from({ length: 20 }, async () => {
      const handle = await start('look_up', randomUUID(), 10);
      await handle.result();
    }),
  );
  await sleep(5_000);
  const counter = await StepCounter.open(stage.storePath, '');
  const startedBefore = counter.startedCalls();
  const emptyMb = usageOf(worker.pid).memoryMb;

  const startedAt = performance.now();
  const handles = await Promise.all(
    Array.from({ length: runs }, () => start('throttled', `waiting-${randomUUID()}`, 1)),
  );
  while (counter.startedCalls() < startedBefore + runs) await sleep(200);
  const allWaitAfterMs = performance.now() - startedAt;
  if (allWaitAfterMs > waitMs)
    throw new Error('the first run went on before the last one waited: the machine is too slow');
  await sleep(5_000);
  const waitingMb = usageOf(worker.pid).memoryMb;
  counter.close();

  const results = (await Promise.all(handles.map((handle) => handle.result()))) as { status: string }[];
  const completed = results.filter(({ status }) => status === 'completed').length;
  const endedAfterMs = performance.now() - startedAt;
  console.log(
    `\n### ${runs} runs that wait at once on one worker\n\n` +
      table(
        ['', ''],
        [
          ['worker memory without runs, MB', emptyMb.toFixed(0)],
          [`worker memory with ${runs} waiting runs, MB`, waitingMb.toFixed(0)],
          ['memory of a waiting run, KB', (((waitingMb - emptyMb) * 1_024) / runs).toFixed(0)],
          ['from the first start until all wait, s', (allWaitAfterMs / 1_000).toFixed(1)],
          ['wait that each was told, s', (waitMs / 1_000).toFixed(0)],
          ['from the first start until all have ended, s', (endedAfterMs / 1_000).toFixed(1)],
          ['runs completed', `${completed} of ${runs}`],
        ],
      ),
  );
}
