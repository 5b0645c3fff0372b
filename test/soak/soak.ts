/**
 * A soak: many calls on several workers, against a backend that fails in every way there is. Afterwards the store, the
 * conversations and the backend's own count are compared, call by call.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { AGENT_WORKFLOW_TYPE } from '../../src/contract/task-queue.js';
import { openStore } from '../../src/store/open-store.js';
import type { Store } from '../../src/store/store.js';
import type { Seen } from './backend-process.js';
import { judge, type SoakReport } from './judge.js';
import { callsPerRun, callsPerTurn } from './soak-plan.js';
import type { SoakTask, SoakWorkerSettings } from './worker-process.js';

export interface SoakOptions {
  server: { address: string; namespace: string; workflowBundle: string };
  seed: number;
  /** Calls in all, besides those that end a run on purpose. A multiple of `callsPerRun`. */
  calls: number;
  workers: number;
  onProgress?: (ended: number, of: number) => void;
}

/** Every so many runs one ends with a call that a guard refuses. */
const violationEvery = 5;
/** More at once only make the server's queue longer. */
const runsAtOnce = 12;

/** Plays the soak and returns its report; leaves no process and no file behind. */
export async function soak(options: SoakOptions): Promise<SoakReport> {
  const { server, seed, calls, workers } = options;
  await using resources = new AsyncDisposableStack();
  const rootDir = await mkdtemp(join(tmpdir(), 'perdure-soak-'));
  resources.defer(() => rm(rootDir, { recursive: true, force: true }));
  const backend = await started(resources, './backend-process.ts', [String(seed)], {});
  const backendUrl = `http://127.0.0.1:${(backend.told as { port: number }).port}`;
  const storeChoice = { path: join(rootDir, 'store.db') };
  const store = await openStore(storeChoice);
  resources.defer(() => store.close());
  const settings: SoakWorkerSettings = {
    address: server.address,
    namespace: server.namespace,
    bundlePath: server.workflowBundle,
    storePath: storeChoice.path,
    backendUrl,
    seed,
  };
  const env = { PERDURE_SOAK: JSON.stringify(settings), PERDURE_LOG_LEVEL: 'silent' };
  const polling = await Promise.all(
    Array.from({ length: workers }, () => started(resources, './worker-process.ts', [], env)),
  );
  const { taskQueue } = polling[0]?.told as { taskQueue: string };
  const connection = await Connection.connect({ address: server.address });
  resources.defer(() => connection.close());
  const client = new Client({ connection, namespace: server.namespace });

  const startedAt = performance.now();
  const runKeys = await playRuns(client, taskQueue, options);
  const elapsedMs = performance.now() - startedAt;
  const records = (await Promise.all(runKeys.map((runKey) => store.listCalls(runKey)))).flat();
  const seen = (await (await fetch(`${backendUrl}/seen`)).json()) as Seen[];
  return judge({ seed, calls, workers, elapsedMs, records, seen, answers: await answersIn(store, runKeys) });
}

async function playRuns(
  client: Client,
  taskQueue: string,
  { seed, calls, onProgress }: SoakOptions,
): Promise<string[]> {
  const runs = Array.from({ length: calls / callsPerRun }, (_, run): SoakTask & { runKey: string } => ({
    runKey: `soak-${taskQueue.slice(-8)}-${seed}-${run}`,
    first: run * callsPerRun,
    turns: callsPerRun / callsPerTurn,
    callsPerTurn,
    violates: run % violationEvery === 0,
  }));
  let next = 0;
  let ended = 0;
  const play = async (): Promise<void> => {
    for (let run = runs[next++]; run; run = runs[next++]) {
      const { runKey, ...task } = run;
      const handle = await client.workflow.start(AGENT_WORKFLOW_TYPE, {
        taskQueue,
        workflowId: runKey,
        args: [{ task: JSON.stringify(task), runKey }],
      });
      // A run that a guard ends fails: that is how it should end.
      await handle.result().catch((error: unknown) => {
        if (!task.violates) throw error;
      });
      onProgress?.((ended += 1), runs.length);
    }
  };
  await Promise.all(Array.from({ length: runsAtOnce }, play));
  return runs.map(({ runKey }) => runKey);
}

/** How many answers each call has in its conversation: run and call id, with the count. */
async function answersIn(store: Store, runKeys: string[]): Promise<Map<string, number>> {
  const answers = new Map<string, number>();
  for (const runKey of runKeys) {
    const run = await store.getRun(runKey);
    if (!run) throw new Error(`the store has no run ${runKey}`);
    for (const { message } of await store.getChain(run.head)) {
      if (message.role !== 'tool') continue;
      const call = `${runKey} ${message.callId}`;
      answers.set(call, (answers.get(call) ?? 0) + 1);
    }
  }
  return answers;
}

interface Started {
  process: ChildProcess;
  told: unknown;
}

/** Starts a process that says one word when it is ready, and ends when it is disconnected. */
async function started(
  resources: AsyncDisposableStack,
  program: string,
  args: string[],
  env: Record<string, string>,
): Promise<Started> {
  const child = fork(fileURLToPath(new URL(program, import.meta.url)), args, { env: { ...process.env, ...env } });
  const ended = once(child, 'exit');
  resources.defer(async () => {
    if (child.connected) child.disconnect();
    await ended;
  });
  const told = await Promise.race([once(child, 'message'), ended.then(() => undefined)]);
  if (!told) throw new Error(`${program} ended before it was ready`);
  return { process: child, told: (told as unknown[])[0] };
}
