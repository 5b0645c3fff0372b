/** `perdure/worker`: the one composition root. Everything with effects is put together here. */
import { Worker } from '@temporalio/worker';
import type { NativeConnection, WorkerOptions } from '@temporalio/worker';
import type { ResolvedConfig } from './config/config.js';
import type { ToolLog } from './tools/tool.js';
import { checkHealth, type WorkerHealth } from './worker/health.js';
import { PerdurePlugin, toolQueuesOf } from './worker/perdure-plugin.js';

export { metricBuckets } from './activities/metrics.js';
export { loadConfig } from './config/load-config.js';
export { PerdurePlugin, type PerdurePluginOptions } from './worker/perdure-plugin.js';
export type { WorkerHealth } from './worker/health.js';

/** What `createWorker` needs; the connection stays the caller's, who closes it. */
export interface CreateWorkerOptions {
  config: ResolvedConfig;
  connection: NativeConnection;
  namespace: string;
  /** The server's address as people type it, for the command in a warning. */
  address?: string;
  /**
   * Default: the store's own queue, so that a worker with another store takes no call of its runs. A queue that tools name
   * is served with calls only.
   */
  taskQueue?: string;
  /** Also serves every queue that tools name, so that this process alone can bring a run to its end. Default false. */
  withToolQueues?: boolean;
  /** Where the operator's lines go. Default JSON on standard error. */
  log?: ToolLog;
  /** More options of the Temporal worker, e.g. for tests and tuning. */
  temporal?: Partial<WorkerOptions>;
}

/** A worker, not yet polling: `run` begins that. */
export interface PerdureWorker {
  readonly taskQueue: string;
  readonly storeId: string;
  /**
   * Polls until `shutdown`; then calls in flight end or give their claim back, and the store is closed. Rejects with a
   * `StoreError` where the store was lost meanwhile (its thread died): start the worker again.
   */
  run(): Promise<void>;
  /** Asks for no more work; `run` resolves when calls in flight have ended or given their claims back. May be called again. */
  shutdown(): void;
  /** Whether it can do its work now. Never rejects; takes at most 2 s. */
  health(): Promise<WorkerHealth>;
}

/**
 * A Temporal worker that runs agents and their tools: `PerdurePlugin` in a worker of perdure's own. Throws `ConfigError`
 * where a tool or its schema cannot be used, and `StoreError` where the store cannot be opened; warns, with the command to
 * type, where search attributes are missing.
 */
export async function createWorker(options: CreateWorkerOptions): Promise<PerdureWorker> {
  const { config, connection, namespace, withToolQueues = false } = options;
  const plugin = new PerdurePlugin(options);
  try {
    const { store } = await plugin.services();
    const taskQueue = options.taskQueue ?? (await plugin.taskQueue());
    const queues = new Set([taskQueue, ...(withToolQueues ? toolQueuesOf(config.tools) : [])]);
    const workers: Worker[] = [];
    for (const queue of queues) {
      workers.push(
        await Worker.create({
          connection,
          namespace,
          ...options.temporal,
          taskQueue: queue,
          plugins: [plugin, ...(options.temporal?.plugins ?? [])],
        }),
      );
    }
    return running(workers, {
      taskQueue,
      storeId: store.storeId,
      health: () => checkHealth({ workers, connection, store }),
    });
  } catch (error) {
    await plugin.close();
    throw error;
  }
}

function running(
  workers: readonly Worker[],
  facts: Pick<PerdureWorker, 'taskQueue' | 'storeId' | 'health'>,
): PerdureWorker {
  const shutdown = (): void => {
    for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown();
  };
  return {
    ...facts,
    shutdown,
    async run() {
      const ends = await Promise.allSettled(
        workers.map((worker) =>
          // One that breaks takes the others with it: whoever runs this process starts it anew.
          worker.run().finally(shutdown),
        ),
      );
      const broken = ends.find((end) => end.status === 'rejected');
      if (broken) throw broken.reason;
    },
  };
}
