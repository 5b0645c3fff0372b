/** `perdure/worker`: the one composition root. Everything with effects is put together here. */
import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import { fileURLToPath } from 'node:url';
import { extname } from 'node:path';
import { bundleWorkflowCode, Worker } from '@temporalio/worker';
import type { NativeConnection, WorkerOptions, WorkflowBundleWithSourceMap } from '@temporalio/worker';
import { Alerts } from './activities/alerts.js';
import { HiddenRetries } from './activities/hidden-retries.js';
import { runArtifacts } from './activities/run-artifacts.js';
import { createActivities } from './activities/index.js';
import type { Services } from './activities/services.js';
import { createValidator } from './arguments/validator.js';
import type { ResolvedConfig } from './config/config.js';
import { taskQueueFor } from './contract/task-queue.js';
import { injectFaults } from './faults/inject-faults.js';
import { resolveModel } from './models/resolve-model.js';
import { Breakers } from './guards/breakers.js';
import { Limiters } from './guards/limiters.js';
import { maskedLog, operatorLog } from './operator-log.js';
import { createRedactor } from './policy/redaction.js';
import { checkSearchAttributes, registerCommand } from './server/search-attributes.js';
import { openStore } from './store/open-store.js';
import type { WorkerStore } from './store/shared-state.js';
import type { StoreError } from './store/store.js';
import { buildManifest } from './tools/manifest.js';
import { readArtifactTool } from './tools/read-artifact.js';
import type { ToolLog } from './tools/tool.js';

export interface CreateWorkerOptions {
  config: ResolvedConfig;
  connection: NativeConnection;
  namespace: string;
  /** The server's address as people type it, for the command in a warning. */
  address?: string;
  /** Default: the store's own queue, so that a worker with another store takes no call of its runs. */
  taskQueue?: string;
  /** Where the operator's lines go. Default JSON on standard error. */
  log?: ToolLog;
  /** More options of the Temporal worker, e.g. for tests and tuning. */
  temporal?: Partial<WorkerOptions>;
}

export interface PerdureWorker {
  readonly taskQueue: string;
  readonly storeId: string;
  /**
   * Polls until `shutdown`; then calls in flight end or give their claim back, and the store is closed. Rejects with a
   * `StoreError` where the store was lost meanwhile (its thread died): start the worker again.
   */
  run(): Promise<void>;
  shutdown(): void;
}

/** Time that calls in flight have to end after `shutdown`, before they are told to stop. */
const shutdownGraceMs = 10_000;

/**
 * A Temporal worker that runs agents and their tools. Throws `ConfigError` where a tool or its schema cannot be used, and
 * `StoreError` where the store cannot be opened; warns, with the command to type, where search attributes are missing.
 */
export async function createWorker(options: CreateWorkerOptions): Promise<PerdureWorker> {
  const { config, connection, namespace } = options;
  const log = options.log ?? operatorLog();
  const store = await openStore(config.store);
  const services = await createServices({ ...options, store, log }).catch(async (error: unknown) => {
    await store.close();
    throw error;
  });
  const taskQueue = options.taskQueue ?? taskQueueFor(store.storeId);
  const worker = await Worker.create({
    connection,
    namespace,
    taskQueue,
    ...(options.temporal?.workflowBundle ? {} : await workflowCode(config.workflowsPath)),
    activities: createActivities(services),
    maxConcurrentActivityTaskExecutions: config.maxConcurrentCalls,
    // Cancellation reaches a body with a heartbeat's answer: throttled to the default, it would take most of the timeout.
    maxHeartbeatThrottleInterval: '1s',
    // A workflow task that waits for a dead worker's cache is offered to the others after this time. The default of 10 s
    // was the longest part of a recovery (measured in the demo); a replay elsewhere costs milliseconds.
    stickyQueueScheduleToStartTimeout: '2s',
    shutdownGraceTime: shutdownGraceMs,
    ...options.temporal,
  });
  return {
    taskQueue,
    storeId: store.storeId,
    async run() {
      let lost: StoreError | undefined;
      // A worker without its store would go on taking calls and fail each of them: others may have one.
      void store.lost.then((error) => {
        lost = error;
        log.error('the store is lost: this worker stops', { reason: error.message });
        if (worker.getState() === 'RUNNING') worker.shutdown();
      });
      try {
        await worker.run();
      } finally {
        await services.validator.close();
        await store.close();
      }
      if (lost) throw lost;
    },
    shutdown: () => worker.shutdown(),
  };
}

async function createServices(options: CreateWorkerOptions & { store: WorkerStore; log: ToolLog }): Promise<Services> {
  const { config, store } = options;
  const redactor = createRedactor({ secrets: config.secrets });
  // Whatever a tool or an error says on its way to the log.
  const log = maskedLog(options.log, redactor);
  const tools = injectFaults([...config.tools, readArtifactTool(runArtifacts(store))], config.faults, { log });
  const manifest = buildManifest(tools);
  const validator = createValidator();
  for (const tool of manifest.tools) await validator.checkSchema(tool.inputSchema, `tools.${tool.name}.input`);
  const searchAttributes = await canWriteSearchAttributes(options);
  return {
    store,
    tools: new Map(tools.map((tool) => [tool.definition.name, tool])),
    manifest,
    model: config.model,
    resolveModel: (choice) => resolveModel(choice, { rootDir: config.rootDir, env: process.env }),
    instructions: config.instructions,
    limits: config.limits,
    loop: config.loop,
    modelLimits: config.modelLimits,
    validator,
    redactor,
    guards: { shared: store, breakers: new Breakers(store), limiters: new Limiters(store) },
    log,
    alerts: new Alerts({ log, webhook: config.alertWebhook, store }),
    hiddenRetries: new HiddenRetries(log),
    workerIdentity: `${process.pid}@${hostname()}`,
    heartbeatTimeoutMs: config.heartbeatTimeoutMs,
    searchAttributes,
    random: Math.random,
  };
}

/** Whether runs may write search attributes: one that the server does not know fails a run's workflow tasks for ever. */
async function canWriteSearchAttributes(options: CreateWorkerOptions & { log: ToolLog }): Promise<boolean> {
  const { connection, namespace, address = 'ADDRESS', log } = options;
  const check = await checkSearchAttributes(connection, namespace);
  switch (check.status) {
    case 'ready':
      return true;
    case 'missing':
      log.warn(
        `namespace ${namespace} does not know the search attributes ` +
          `${check.missing.map(({ name }) => name).join(', ')}; runs go on without them. To register them:\n` +
          registerCommand(check.missing, { address, namespace }),
      );
      return false;
    case 'mismatched':
      log.warn(
        `namespace ${namespace} has search attributes of perdure's names with other types ` +
          `(${check.mismatched.map(({ attribute, registeredAs }) => `${attribute.name}: ${registeredAs}`).join(', ')}); ` +
          'runs go on without them.',
      );
      return false;
    case 'unknown':
      log.warn(`the server does not say which search attributes it has; runs go on without them: ${check.reason}`);
      return false;
  }
}

/** The workflows bundled at build time: bundling at start would cost each restarted worker about two seconds. */
async function workflowCode(
  workflowsPath: string | undefined,
): Promise<Pick<WorkerOptions, 'workflowsPath' | 'workflowBundle'>> {
  if (workflowsPath !== undefined) return { workflowsPath };
  const bundle = fileURLToPath(new URL('./workflow-bundle.js', import.meta.url));
  if (existsSync(bundle)) return { workflowBundle: { codePath: bundle } };
  return { workflowBundle: await (sourceBundle ??= bundleSources()) };
}

/** Run from its sources (tests), nothing is built: bundled once in a process, which starts many workers. */
let sourceBundle: Promise<WorkflowBundleWithSourceMap> | undefined;

async function bundleSources(): Promise<WorkflowBundleWithSourceMap> {
  const entry = `./workflows/index${extname(fileURLToPath(import.meta.url))}`;
  const nothing = (): void => undefined;
  const logger = {
    log: nothing,
    trace: nothing,
    debug: nothing,
    info: nothing,
    warn: console.warn,
    error: console.error,
  };
  return await bundleWorkflowCode({ workflowsPath: fileURLToPath(new URL(entry, import.meta.url)), logger });
}
