/** Strikes at random, from outside: processes, wires, the server, and what an operator may do to a run. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import type { TcpProxy } from '../support/tcp-proxy.js';
import { isServerAway, resetSomeActivity, resetToSomeTask } from './operations.js';
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
  [3, signalRun],
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

async function resetWorkflow({ client, openRun }: Targets, random: Random): ReturnType<Fault> {
  const run = openRun();
  const isDone = run && (await resetToSomeTask(client, run.workflowId, random));
  return isDone ? { row: '12 workflow reset', kills: 0 } : undefined;
}

async function resetActivity({ client, openRun }: Targets, random: Random): ReturnType<Fault> {
  const run = openRun();
  const isDone = run && (await resetSomeActivity(client, run.workflowId, random));
  return isDone ? { row: '12 activity reset', kills: 0 } : undefined;
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

/** Signals that no run has a handler for: whatever it does, and above all continuing as new, they come in between. */
async function signalRun({ client, openRun }: Targets, random: Random): ReturnType<Fault> {
  const run = openRun();
  if (!run) return undefined;
  try {
    for (let left = random.integer(5, 40); left > 0; left -= 1) {
      await client.workflow.getHandle(run.workflowId).signal('nobodys', left);
    }
  } catch (error) {
    if (isServerAway(error)) return undefined;
    throw error;
  }
  return { row: '11 signals that nobody handles', kills: 0 };
}
