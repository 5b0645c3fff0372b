/** At the boundary where a run continues as new: workers that die there, and messages that come just then. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { temporal } from '@temporalio/proto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startDevServer, type DevServer } from '../../src/server/dev-server.js';
import type { Execution } from './harness/evidence.js';
import { judge } from './harness/judge.js';
import { programOf, type Program } from './harness/program.js';
import { CrashBench, until, workflowBundle, type CrashRun } from './support/crash-bench.js';
import '../support/quiet-runtime.js';

let rootDir: string;
let server: DevServer;
beforeAll(async () => {
  rootDir = await mkdtemp(join(tmpdir(), 'perdure-boundary-server-'));
  server = await startDevServer({ rootDir, dynamicConfig: { 'limit.historyCount.suggestContinueAsNew': 30 } });
});
afterAll(async () => {
  await server.stop();
  await rm(rootDir, { recursive: true, force: true });
});

/** Steps that leave something to be shown to the model at each boundary. */
function makeProgram(bench: CrashBench): Program {
  const once = { starts: 1, effects: 1, ended: 'succeeded' } as const;
  const step = [
    { tool: 'keyed', ...once },
    { tool: 'once', ...once },
  ] as const;
  return programOf(
    `boundary-${bench.taskQueue}`,
    Array.from({ length: 5 }, () => [...step]),
  );
}

/**
 * Slow enough that while a dead worker has the workflow task, for 2 s, fewer than 100 come: from that number of waiting events on
 * the server fails the task, and after some of those it offers the next one later and later (seen with 1.29).
 */
const signalEveryMs = 30;

/** Sends the run what it has no handler for, one after another, until it has ended or `stop` is called. */
function keepSignalling({ handle }: CrashRun): { sent(): number; stop(): Promise<void> } {
  let [sent, isOver] = [0, false];
  const sending = (async () => {
    while (!isOver) {
      try {
        await handle.signal('nobodys', sent);
        sent += 1;
      } catch (error) {
        if ((error as Error).name !== 'WorkflowNotFoundError') throw error;
        isOver = true;
      }
      await sleep(signalEveryMs);
    }
  })();
  // Told by `stop`; a test that has failed before does not come to it.
  sending.catch(() => undefined);
  return {
    sent: () => sent,
    stop: async () => {
      isOver = true;
      await sending;
    },
  };
}

async function judgeRun(bench: CrashBench, program: Program, cancelled: boolean): ReturnType<typeof judge> {
  return await judge(bench, { program, workflowId: program.name, cancelled }, await workflowBundle());
}

async function hasClosed(bench: CrashBench, { name }: Program): Promise<boolean> {
  const { status } = await bench.client.workflow.getHandle(name).describe();
  return status.name !== 'RUNNING' && status.name !== 'CONTINUED_AS_NEW';
}

/** Workflow tasks that came to nothing because a message had come meanwhile. */
function overtaken({ history }: Execution): number {
  const unhandled = temporal.api.enums.v1.WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND;
  return (history.events ?? []).filter((event) => event.workflowTaskFailedEventAttributes?.cause === unhandled).length;
}

const diesThere = [{ at: 'continue-as-new', action: 'kill' }] as const;
const stopsThere = [{ at: 'continue-as-new', action: 'stop' }] as const;

describe.concurrent('a run whose workers die as it continues as new', { timeout: 120_000 }, () => {
  it('among signals without end that nobody handles: it continues, and nothing is lost', async () => {
    await using bench = await CrashBench.open({ server });
    const program = makeProgram(bench);
    const doomed = await bench.worker([...diesThere]);
    const run = await bench.start(program.name, program.script);
    const signals = keepSignalling(run);
    await doomed.ended();
    await (await bench.worker([...diesThere])).ended();
    const last = await bench.worker([...stopsThere]);
    await last.reached('failpoint continue-as-new');
    const before = signals.sent();
    await until(() => signals.sent() > before + 5, 'signals have come while the boundary is being crossed');
    last.signal('SIGCONT');
    await until(() => hasClosed(bench, program), 'the run has ended', 60_000);
    await signals.stop();
    const { evidence, violations } = await judgeRun(bench, program, false);
    expect(violations).toEqual([]);
    expect(evidence.executions.map(({ closed }) => closed)).toEqual([
      ...evidence.executions.slice(1).map(() => 'continued'),
      'completed',
    ]);
    expect(evidence.executions.length).toBeGreaterThan(1);
    // The boundary was crossed although a message stood in the way.
    expect(evidence.executions.reduce((sum, execution) => sum + overtaken(execution), 0)).toBeGreaterThan(0);
    expect(signals.sent()).toBeGreaterThan(50);
  });

  it('asked to cancel just then, among such signals: it is cancelled, and nothing is lost', async () => {
    await using bench = await CrashBench.open({ server });
    const program = makeProgram(bench);
    const first = await bench.worker([...diesThere]);
    const run = await bench.start(program.name, program.script);
    const signals = keepSignalling(run);
    await first.ended();
    const second = await bench.worker([...stopsThere]);
    await second.reached('failpoint continue-as-new');
    await run.handle.cancel();
    second.signal('SIGKILL');
    await (await bench.worker([{ at: 'workflow-task', action: 'kill' }])).ended();
    await (await bench.worker([{ at: 'workflow-task-done', action: 'kill' }])).ended();
    await bench.worker();
    await until(() => hasClosed(bench, program), 'the run has ended', 60_000);
    await signals.stop();
    const { evidence, violations } = await judgeRun(bench, program, true);
    expect(violations).toEqual([]);
    expect(evidence.executions.map(({ closed, cancelRequested }) => ({ closed, cancelRequested }))).toEqual([
      { closed: 'cancelled', cancelRequested: true },
    ]);
    expect((await bench.store.getRun(run.runKey))?.status).toBe('cancelled');
    // The step before the boundary was taken whole, and no other was begun.
    const asked = evidence.calls.map(({ callId }) => callId);
    expect(asked.length).toBeLessThan(program.calls.length);
    expect(evidence.calls.map(({ outcome }) => outcome?.['status'])).toEqual(asked.map(() => 'succeeded'));
  });
});
