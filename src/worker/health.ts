import type { NativeConnection, Worker } from '@temporalio/worker';
import type { WorkerStore } from '../store/shared-state.js';

/** Whether a worker can do its work now. */
export interface WorkerHealth {
  /** All checks hold. */
  ready: boolean;
  /** What does not hold, by check, in words; empty where the worker is ready. */
  problems: Partial<Record<'worker' | 'server' | 'store', string>>;
}

/** Probes have their own deadlines, which are seldom below this. */
const answerWithinMs = 2_000;

/** Asks worker, server and store side by side. Never rejects. */
export async function checkHealth({
  workers,
  connection,
  store,
}: {
  workers: readonly Worker[];
  connection: NativeConnection;
  store: WorkerStore;
}): Promise<WorkerHealth> {
  const [server, stored] = await Promise.all([
    problemOf(() =>
      connection.withDeadline(Date.now() + answerWithinMs, () => connection.workflowService.getSystemInfo({})),
    ),
    problemOf(() => store.now()),
  ]);
  const worker = workers.map(problemOfWorker).find((problem) => problem !== undefined);
  const problems = {
    ...(worker !== undefined && { worker }),
    ...(server !== undefined && { server }),
    ...(stored !== undefined && { store: stored }),
  };
  return { ready: Object.keys(problems).length === 0, problems };
}

function problemOfWorker(worker: Worker): string | undefined {
  const { runState, activityPollerState } = worker.getStatus();
  if (runState !== 'RUNNING') return `is ${runState.toLowerCase()}`;
  return activityPollerState === 'POLLING' ? undefined : `does not poll (${activityPollerState.toLowerCase()})`;
}

async function problemOf(ask: () => Promise<unknown>): Promise<string | undefined> {
  const timeout = new AbortController();
  const late = new Promise<string>((resolve) => {
    const timer = setTimeout(() => resolve(`did not answer within ${answerWithinMs / 1000} s`), answerWithinMs);
    timeout.signal.addEventListener('abort', () => clearTimeout(timer));
  });
  const asked = ask().then(
    () => undefined,
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  );
  try {
    return await Promise.race([asked, late]);
  } finally {
    timeout.abort();
  }
}
