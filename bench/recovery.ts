import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { taskOf } from './perdure/task.ts';
import { StepCounter } from './step-counter.ts';
import type { Stage } from './stage.ts';
import { median, table } from './statistics.ts';
import { inWords, waitsOf } from './waits.ts';
import type { WorkerProcess } from './worker-process.ts';

const heartbeatTimeoutMs = 2_000;
/** As perdure's worker sets it. */
const stickyTimeoutMs = 2_000;
const slowToolMs = 1_000;
const pollMs = 20;

/** One kill: until the run had gone on, and how much of that neither a timeout in force nor the tool's own work explains. */
interface Recovery {
  ms: number;
  restMs: number;
}

/**
 * From the SIGKILL of a worker until another one has gone two turns further: by where the worker was hit, the heartbeat's
 * timeout (in an activity), the sticky queue's (between tasks), or the workflow task's (in one) is what has to pass. What the
 * history shows to have waited for those, and the tool's own second, is taken off: the rest is polls, the wait before the
 * next attempt, and reading the run anew from its history.
 */
export async function measureRecovery(stage: Stage, kills: number): Promise<void> {
  const rows: string[][] = [];
  for (const [words, tool, workflowTaskTimeoutMs] of [
    ['inside a tool of 1 s', 'slow', 10_000],
    ['anywhere, steps without waiting', 'look_up', 10_000],
    ['anywhere, steps without waiting', 'look_up', 2_000],
  ] as const) {
    const recoveries = await killAgainAndAgain(stage, { tool, workflowTaskTimeoutMs, kills });
    const [all, rest] = [recoveries.map(({ ms }) => ms / 1_000), recoveries.map(({ restMs }) => restMs / 1_000)];
    rows.push([
      words,
      String(workflowTaskTimeoutMs / 1_000),
      ...[median(all), Math.max(...all), median(rest), Math.max(...rest)].map((seconds) => seconds.toFixed(1)),
      String(recoveries.length),
    ]);
  }
  const columns = [
    'killed',
    'workflow task timeout, s',
    'median, s',
    'worst, s',
    'beyond timeouts and tool: median, s',
  ];
  console.log(
    `\n### From SIGKILL until the run has gone on, heartbeat timeout ${heartbeatTimeoutMs / 1_000} s\n\n` +
      table([...columns, 'worst, s', 'kills'], rows),
  );
}

async function killAgainAndAgain(
  stage: Stage,
  of: { tool: 'slow' | 'look_up'; workflowTaskTimeoutMs: number; kills: number },
): Promise<Recovery[]> {
  let worker = await stage.startPerdure({ heartbeatTimeoutMs });
  const workflowId = `killed-${randomUUID()}`;
  const handle = await stage.client.workflow.start('agentRun', {
    workflowId,
    taskQueue: worker.taskQueue,
    workflowTaskTimeout: of.workflowTaskTimeoutMs,
    args: [{ runKey: workflowId, task: taskOf(of.tool, 1_000_000) }],
  });
  const counter = await StepCounter.open(stage.storePath, workflowId);
  const recoveries: Recovery[] = [];
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
    const waits = await waitsOf(stage.client, workflowId, { fromMs: killedAtMs, toMs: goesOnAtMs, atLeastMs: 300 });
    const lengthsMs = {
      heartbeat: heartbeatTimeoutMs,
      'sticky queue': stickyTimeoutMs,
      'workflow task': of.workflowTaskTimeoutMs,
    };
    const explained = waits.map(({ ms, until, timeout }) => {
      if (timeout) return Math.min(ms, lengthsMs[timeout]);
      return of.tool === 'slow' && until === 'activity task completed' ? Math.min(ms, slowToolMs) : 0;
    });
    const ms = goesOnAtMs - killedAtMs;
    recoveries.push({ ms, restMs: ms - explained.reduce((sum, each) => sum + each, 0) });
    worker = successor;
    console.error(
      `kill ${kill + 1} of ${of.kills} (${of.tool}): ${(ms / 1_000).toFixed(1)} s; ${waits.map(inWords).join('; ')}`,
    );
  }
  counter.close();
  await handle.terminate('measured');
  await worker.stop();
  return recoveries;
}
