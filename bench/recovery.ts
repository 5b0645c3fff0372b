import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { taskOf } from './perdure/task.ts';
import { StepCounter } from './step-counter.ts';
import type { Stage } from './stage.ts';
import { median, table } from './statistics.ts';
import { waitsOf } from './waits.ts';
import type { WorkerProcess } from './worker-process.ts';

const heartbeatTimeoutMs = 2_000;
const pollMs = 20;

/**
 * From the SIGKILL of a worker to the next step that another worker completes: by where the worker was hit, the heartbeat's
 * timeout (in a tool), the sticky queue's (between tasks), or the workflow task's (in one) is what has to pass.
 */
export async function measureRecovery(stage: Stage, kills: number): Promise<void> {
  const rows: string[][] = [];
  for (const [words, tool, workflowTaskTimeoutMs] of [
    ['inside a tool of 1 s', 'slow', 10_000],
    ['anywhere, steps without waiting', 'look_up', 10_000],
    ['anywhere, steps without waiting', 'look_up', 2_000],
  ] as const) {
    const seconds = await killAgainAndAgain(stage, { tool, workflowTaskTimeoutMs, kills });
    rows.push([
      words,
      String(workflowTaskTimeoutMs / 1_000),
      median(seconds).toFixed(1),
      Math.max(...seconds).toFixed(1),
      String(seconds.length),
    ]);
  }
  console.log(
    `\n### From SIGKILL to the next step, heartbeat timeout ${heartbeatTimeoutMs / 1_000} s\n\n` +
      table(['killed', 'workflow task timeout, s', 'median, s', 'worst, s', 'kills'], rows),
  );
}

async function killAgainAndAgain(
  stage: Stage,
  of: { tool: 'slow' | 'look_up'; workflowTaskTimeoutMs: number; kills: number },
): Promise<number[]> {
  let worker = await stage.startPerdure({ heartbeatTimeoutMs });
  const workflowId = `killed-${randomUUID()}`;
  const handle = await stage.client.workflow.start('agentRun', {
    workflowId,
    taskQueue: worker.taskQueue,
    workflowTaskTimeout: of.workflowTaskTimeoutMs,
    args: [{ runKey: workflowId, task: taskOf(of.tool, 1_000_000) }],
  });
  const counter = await StepCounter.open(stage.storePath, workflowId);
  const seconds: number[] = [];
  for (let kill = 0; kill < of.kills; kill += 1) {
    await counter.reach(counter.turns() + 3, pollMs);
    const successor: WorkerProcess = await stage.startPerdure({ heartbeatTimeoutMs });
    // The cached run stays with the first worker; the second one only takes activities until then.
    await sleep(500 + Math.random() * 1_000);
    const before = counter.turns();
    worker.kill('SIGKILL');
    const killedAtMs = Date.now();
    // One turn may have been answered but not reported: the next one proves that the run goes on.
    await counter.reach(before + 2, pollMs);
    const goesOnAtMs = Date.now();
    seconds.push((goesOnAtMs - killedAtMs) / 1_000);
    worker = successor;
    const waits = await waitsOf(stage.client, workflowId, { fromMs: killedAtMs, toMs: goesOnAtMs, atLeastMs: 500 });
    console.error(`kill ${kill + 1} of ${of.kills} (${of.tool}): ${seconds.at(-1)?.toFixed(1)} s; ${waits.join(', ')}`);
  }
  counter.close();
  await handle.terminate('measured');
  await worker.stop();
  return seconds;
}
