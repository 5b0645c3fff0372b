import {
  DefaultLogger,
  NativeConnection,
  Runtime,
  type LogEntry,
  type MetricsExporterConfig,
} from '@temporalio/worker';
import { pino } from 'pino';
import { PerdureError } from '../client/perdure-error.js';
import type { ResolvedConfig } from '../config/config.js';
import { logDestination, operatorLog, type LogDestination } from '../operator-log.js';
import type { FoundServer } from '../server/connection.js';
import { refuseClosed, ServerUnreachableError } from '../server/connection.js';
import { freePort } from '../server/free-port.js';
import { startHealthEndpoint } from '../server/health-endpoint.js';
import { createWorker, metricBuckets } from '../worker.js';
import type { Tool } from '../tools/tool.js';
import { toolQueuesOf } from '../worker/perdure-plugin.js';
import type { WorkerEndpoints } from './platform.js';

/** A worker in this process. */
export interface LocalWorker {
  taskQueue: string;
  /** Where `/healthz` and `/readyz` are, if anywhere. */
  healthUrl?: string;
  /** Where Prometheus finds the metrics, if anywhere. */
  metricsUrl?: string;
  /** Rejects where the worker ends without having been told to; never settles otherwise. */
  broken: Promise<never>;
  /** Lets calls under way end, up to the worker's grace time. Never rejects. */
  stop(): Promise<void>;
}

export interface LocalWorkerOptions extends WorkerEndpoints {
  config: ResolvedConfig;
  server: FoundServer;
  /** Where the log goes, for a terminal that shows something else. Default: standard error. */
  logPath?: string;
  /** The queue to serve. Default: the store's. */
  taskQueue?: string;
  /** Also serves the queues that tools name. */
  withToolQueues?: boolean;
}

/** Starts a worker for the server. Throws as `createWorker` does, `ServerUnreachableError`, and where a port is taken. */
export async function startLocalWorker(options: LocalWorkerOptions): Promise<LocalWorker> {
  const { config, server, logPath, taskQueue, withToolQueues = false, bind = '127.0.0.1' } = options;
  if (taskQueue !== undefined) requireNamed(taskQueue, config.tools);
  // Before the SDK's runtime is there, which keeps a process without a worker from ending.
  await refuseClosed(server);
  const logFile = logPath === undefined ? undefined : logDestination(logPath);
  const destination = logFile ?? logDestination(2);
  const metrics = options.metricsPort === undefined ? undefined : await metricsAddress(bind, options.metricsPort);
  installRuntime(destination, metrics);
  const connection = await connectWorker(server);
  try {
    const log = operatorLog({ destination });
    const worker = await createWorker({
      config,
      connection,
      namespace: server.namespace,
      address: server.address,
      log,
      withToolQueues,
      ...(taskQueue !== undefined && { taskQueue }),
    });
    const { healthPort } = options;
    const health =
      healthPort === undefined
        ? undefined
        : await startHealthEndpoint({ port: healthPort, host: bind, check: () => worker.health() });
    let isStopping = false;
    const ended = worker.run();
    const broken = ended.then(() => {
      if (!isStopping) throw new Error('The worker ended by itself.');
      return new Promise<never>(() => undefined);
    });
    // Whoever waits for it is told; a command that has ended meanwhile does not wait any more.
    broken.catch(() => undefined);
    return {
      taskQueue: worker.taskQueue,
      ...(health && { healthUrl: health.url }),
      ...(metrics !== undefined && { metricsUrl: `http://${metrics}/metrics` }),
      broken,
      async stop() {
        isStopping = true;
        worker.shutdown();
        await ended.catch(() => undefined);
        // Last, so that whoever asks meanwhile reads that it is stopping.
        await health?.close();
        await connection.close();
        logFile?.end();
      },
    };
  } catch (error) {
    await connection.close();
    throw error;
  }
}

/**
 * The SDK's own handling of signals is off: this program stops its client, its worker and its server in that order.
 * Its log has warnings only, its native part's as well, beside the operator's lines and in the same form.
 */
function installRuntime(destination: LogDestination, metrics: string | undefined): void {
  const lines = pino({ name: 'temporal', level: 'warn', serializers: { error: pino.stdSerializers.err } }, destination);
  const write = ({ level, message, meta }: LogEntry): void => {
    if (level === 'ERROR') lines.error(meta ?? {}, message);
    else lines.warn(meta ?? {}, message);
  };
  Runtime.install({
    shutdownSignals: [],
    logger: new DefaultLogger('WARN', write),
    // Else the native part writes to standard error by itself, in the middle of what a person reads there.
    telemetryOptions: {
      logging: { filter: { core: 'WARN', other: 'ERROR' }, forward: {} },
      ...(metrics !== undefined && { metrics: prometheus(metrics) }),
    },
  });
}

/** Names and units as Prometheus advises: `_total`, `_seconds`. */
function prometheus(bindAddress: string): MetricsExporterConfig {
  return {
    prometheus: {
      bindAddress,
      countersTotalSuffix: true,
      unitSuffix: true,
      useSecondsForDurations: true,
      histogramBucketOverrides: metricBuckets,
    },
  };
}

/** The exporter does not say which port it took, so a free one is looked for here. */
async function metricsAddress(bind: string, port: number): Promise<string> {
  return `${bind.includes(':') ? `[${bind}]` : bind}:${port === 0 ? await freePort() : port}`;
}

async function connectWorker(server: FoundServer): Promise<NativeConnection> {
  try {
    return await NativeConnection.connect(server.worker);
  } catch (error) {
    throw new ServerUnreachableError(server, error instanceof Error ? error.message : String(error), { cause: error });
  }
}

/** A worker of a queue that no tool names would wait for ever. */
function requireNamed(taskQueue: string, tools: readonly Tool[]): void {
  const named = toolQueuesOf(tools);
  if (named.includes(taskQueue)) return;
  throw new PerdureError('usage', `No tool names the task queue "${taskQueue}".`, {
    next:
      named.length === 0
        ? 'Give a tool its taskQueue in perdure.config.ts, or leave --task-queue away.'
        : `Tools name: ${named.join(', ')}.`,
  });
}
