/** Strikes at random, from outside: processes, wires, the server, and what an operator may do to a run. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import type { TcpProxy } from '../support/tcp-proxy.js';
import type { Random } from './random.js';
import type { Strikes } from './strikes.js';
import { oversleepMs, type WorkerSlot } from './worker-slot.js';

/** What the killer can reach. */
export interface Targets {
  slots: WorkerSlot[];
  strikes: Strikes;
  /** Between all workers and the backend. */
  backendWire: TcpProxy;
  client: Client;
  /** Kills the server, and starts it again on its file. */
  restartServer(): Promise<void>;
  /** One of the runs that are open, for good reasons undefined where none is. */
  openRun(): { workflowId: string; cancel(): Promise<void> } | undefined;
}

type Fault = (targets: Targets, random: Random) => Promise<{ row: string; kills: number } | undefined>;

/** Each as likely as its weight says. */
const faults: readonly (readonly [weight: number, fault: Fault])[] = [
  [40, killWorker],
  [6, stopWorker],
  [6, terminateWorker],
  [3, killServer],
  [6, cutServer],
  [6, cutBackend],
  [4, resetWorkflow],
  [4, resetActivity],
  [2, cancelRun],
];

/** Strikes until told to end, one thing at a time. */
export async function strikeUntil(targets: Targets, random: Random, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    await sleep(random.integer(100, 900));
    const strike = await random.weighted(faults)(targets, random);
    if (strike) targets.strikes.add(strike);
  }
}

/** A slot with a living worker that nobody else is at. */
async function withWorker<T>(
  { slots }: Targets,
  random: Random,
  act: (slot: WorkerSlot, worker: NonNullable<WorkerSlot['worker']>) => Promise<T>,
): Promise<T | undefined> {
  const slot = random.pick(slots);
  const { worker } = slot;
  return worker ? await act(slot, worker) : undefined;
}

function killWorker(targets: Targets, random: Random): ReturnType<Fault> {
  return withWorker(targets, random, async (_slot, worker) => {
    worker.signal('SIGKILL');
    await worker.ended();
    return { row: 'any: SIGKILL at random', kills: 1 };
  });
}

function stopWorker(targets: Targets, random: Random): ReturnType<Fault> {
  return withWorker(targets, random, async (slot, worker) => {
    worker.signal('SIGSTOP');
    slot.wire.set('cut');
    await sleep(oversleepMs);
    slot.wire.set('pass');
    worker.signal('SIGCONT');
    return { row: '10 zombie, at random', kills: 0 };
  });
}

/** SIGTERM; what has not ended at the limit of its grace is killed. */
function terminateWorker(targets: Targets, random: Random): ReturnType<Fault> {
  return withWorker(targets, random, async (_slot, worker) => {
    worker.signal('SIGTERM');
    await Promise.race([worker.ended(), sleep(random.integer(200, 1_500))]);
    const kills = worker.isAlive ? 1 : 0;
    worker.signal('SIGKILL');
    await worker.ended();
    return { row: '19 SIGTERM, SIGKILL at the limit', kills };
  });
}

async function killServer(targets: Targets): ReturnType<Fault> {
  await targets.restartServer();
  return { row: '13 server SIGKILL', kills: 1 };
}

function cutServer(targets: Targets, random: Random): ReturnType<Fault> {
  return withWorker(targets, random, async ({ wire }) => {
    const [weather, row] = random.pick([
      ['cut', '16 worker and server apart'],
      ['silent', '16 worker and server half-open'],
      ['no-replies', '7 acknowledgement lost'],
    ] as const);
    wire.set(weather);
    await sleep(random.integer(300, oversleepMs));
    wire.set('pass');
    return { row, kills: 0 };
  });
}

async function cutBackend({ backendWire }: Targets, random: Random): ReturnType<Fault> {
  const [weather, row] = random.pick([
    ['cut', '16 worker and backend apart'],
    ['silent', '16 worker and backend half-open'],
    ['no-replies', '5 committed, reply lost on the wire'],
  ] as const);
  backendWire.set(weather);
  await sleep(random.integer(200, 1_200));
  backendWire.set('pass');
  return { row, kills: 0 };
}

/** To a workflow task of its own past, while whatever it does is under way. */
async function resetWorkflow({ client, openRun }: Targets, random: Random): ReturnType<Fault> {
  const run = openRun();
  if (!run) return undefined;
  try {
    const { events } = await client.workflow.getHandle(run.workflowId).fetchHistory();
    const tasks = (events ?? []).filter((event) => event.workflowTaskCompletedEventAttributes);
    const task = tasks.length > 0 ? random.pick(tasks) : undefined;
    if (!task?.eventId) return undefined;
    await client.workflowService.resetWorkflowExecution({
      namespace: client.options.namespace,
      workflowExecution: { workflowId: run.workflowId },
      workflowTaskFinishEventId: task.eventId,
      requestId: `reset-${run.workflowId}-${String(task.eventId)}-${Date.now()}`,
      reason: 'the crash harness',
    });
  } catch (error) {
    // It may just have ended, or the server may be away.
    if (isServerAway(error)) return undefined;
    throw error;
  }
  return { row: '12 workflow reset', kills: 0 };
}

async function resetActivity({ client, openRun }: Targets, random: Random): ReturnType<Fault> {
  const run = openRun();
  if (!run) return undefined;
  try {
    const { raw } = await client.workflow.getHandle(run.workflowId).describe();
    const pending = raw.pendingActivities ?? [];
    const id = pending.length > 0 ? random.pick(pending).activityId : undefined;
    if (!id) return undefined;
    await client.workflowService.resetActivity({
      namespace: client.options.namespace,
      execution: { workflowId: run.workflowId },
      id,
    });
  } catch (error) {
    if (isServerAway(error)) return undefined;
    throw error;
  }
  return { row: '12 activity reset', kills: 0 };
}

async function cancelRun({ openRun }: Targets): ReturnType<Fault> {
  const run = openRun();
  if (!run) return undefined;
  try {
    await run.cancel();
  } catch (error) {
    if (isServerAway(error)) return undefined;
    throw error;
  }
  return { row: '12 cancel', kills: 0 };
}

/** The run is gone or closed, or nobody answers: what an operator would read and try again. */
export function isServerAway(error: unknown): boolean {
  const code = (error as { code?: unknown }).code ?? (error as { cause?: { code?: unknown } }).cause?.code;
  // INVALID_ARGUMENT, DEADLINE_EXCEEDED, NOT_FOUND, UNAVAILABLE, and the SDK's own error of a workflow that is not there.
  return [3, 4, 5, 14].includes(Number(code)) || (error as Error).name === 'WorkflowNotFoundError';
}
