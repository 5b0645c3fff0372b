import { randomUUID } from 'node:crypto';
import type { StoreError } from '../store/store-error.js';
import type { ClientOptions, ClientPlugin, WorkflowClientInterceptor } from '@temporalio/client';
import type {
  ReplayWorkerOptions,
  Worker,
  WorkerDeploymentOptions,
  WorkerOptions,
  WorkerPlugin,
} from '@temporalio/worker';
import { createActivities } from '../activities/index.js';
import { ConfigError } from '../config/config-error.js';
import type { PerdureConfig, ResolvedConfig, WorkerVersioning } from '../config/config.js';
import { loadConfig } from '../config/load-config.js';
import { resolveConfig } from '../config/resolve-config.js';
import { AGENT_WORKFLOW_TYPE, taskQueueFor } from '../contract/task-queue.js';
import { operatorLog } from '../operator-log.js';
import type { Tool, ToolLog } from '../tools/tool.js';
import { canWriteSearchAttributes, openWorkerServices, type WorkerServices } from './worker-services.js';
import { workflowCode } from './workflow-code.js';

/** Where the plugin takes its configuration from, and what it logs to. */
export interface PerdurePluginOptions {
  /** What `defineConfig` or `loadConfig` gave. Default: the nearest `perdure.config.*` from `cwd` upwards. */
  config?: PerdureConfig | ResolvedConfig;
  /** Where relative paths start and a configuration is looked for. Default: the process's. */
  cwd?: string;
  /** Default: the process's. */
  env?: Readonly<Record<string, string | undefined>>;
  /** Where the operator's lines go. Default JSON on standard error. */
  log?: ToolLog;
  /** The server's address as people type it, for the command in a warning. */
  address?: string;
}

/** Time that calls in flight have to end after `shutdown`, before they are told to stop. */
const shutdownGraceMs = 10_000;

/**
 * Makes any Temporal worker one that executes perdure's tools: `Worker.create({ plugins: [new PerdurePlugin()], … })`. It
 * adds the activities, the ready agent's workflow code where the worker names none of its own, and settings that a quick
 * recovery needs; what the worker's options say themselves is kept. In a client it gives every start of `agentRun` its
 * identity, and refuses cron.
 *
 * Store and tools are opened once, at the first worker, shared by all workers that are made with this plugin, and closed
 * when the last of them has ended. `Worker.create` rejects with `ConfigError` or `StoreError` where they cannot be used.
 */
export class PerdurePlugin implements WorkerPlugin, ClientPlugin {
  readonly name = 'perdure';
  readonly #options: PerdurePluginOptions;
  readonly #log: ToolLog;
  #opened: Promise<WorkerServices> | undefined;
  /** Workers made and not yet ended. */
  #workers = 0;

  constructor(options: PerdurePluginOptions = {}) {
    this.#options = options;
    this.#log = options.log ?? operatorLog();
  }

  /** What this plugin's workers share; opened where it is not yet. */
  async services(): Promise<WorkerServices> {
    this.#opened ??= this.#open();
    try {
      return await this.#opened;
    } catch (error) {
      this.#opened = undefined;
      throw error;
    }
  }

  /** The queue that clients of this configuration start their runs on. Opens the store, whose identity is in it. */
  async taskQueue(): Promise<string> {
    return taskQueueFor((await this.services()).store.storeId);
  }

  async configureWorker(options: WorkerOptions): Promise<WorkerOptions> {
    try {
      const configured = await this.#configured(options);
      this.#workers += 1;
      return configured;
    } catch (error) {
      if (this.#workers === 0) await this.close();
      throw error;
    }
  }

  async #configured(options: WorkerOptions): Promise<WorkerOptions> {
    const { config, services } = await this.services();
    const { connection, namespace = 'default' } = options;
    const searchAttributes =
      connection && config.costs === 'full'
        ? await canWriteSearchAttributes(connection, { namespace, address: this.#options.address, log: this.#log })
        : false;
    const brings = options.workflowsPath !== undefined || options.workflowBundle !== undefined;
    // A queue that tools name is asked for calls only.
    const isToolQueue = toolQueuesOf(config.tools).includes(options.taskQueue);
    return {
      ...(options.tuner ? {} : { maxConcurrentActivityTaskExecutions: config.maxConcurrentCalls }),
      // Cancellation reaches a body with a heartbeat's answer: throttled to the default, it would take most of the timeout.
      maxHeartbeatThrottleInterval: config.costs === 'full' ? '1s' : '30s',
      // A workflow task that waits for a dead worker's cache is offered to the others after this time. The default of 10 s
      // was the longest part of a recovery (measured in the demo); a replay elsewhere costs milliseconds.
      stickyQueueScheduleToStartTimeout: '2s',
      shutdownGraceTime: shutdownGraceMs,
      ...(config.versioning && { workerDeploymentOptions: deploymentOptions(config.versioning) }),
      ...(brings || isToolQueue ? {} : await workflowCode(config.workflowsPath)),
      ...options,
      activities: merged(options.activities, createActivities({ ...services, searchAttributes })),
    };
  }

  async configureReplayWorker(options: ReplayWorkerOptions): Promise<ReplayWorkerOptions> {
    if (options.workflowsPath !== undefined || options.workflowBundle !== undefined) return options;
    return { ...options, ...(await workflowCode((await this.#config()).workflowsPath)) };
  }

  /**
   * Closes what the workers share when the last one has ended, whatever ended it. A worker without its store would go on
   * taking calls and fail each of them, which others may have a store for: it stops, and its run rejects with a `StoreError`.
   */
  async runWorker(worker: Worker, next: (worker: Worker) => Promise<void>): Promise<void> {
    let lost: StoreError | undefined;
    // Nothing is awaited before the worker runs: `runUntil` stops only a worker that runs already. The store was opened
    // when the worker was configured.
    void this.#opened
      ?.then(({ store }) => store.lost)
      .then((error) => {
        lost = error;
        this.#log.error('the store is lost: this worker stops', { reason: error.message });
        if (worker.getState() === 'RUNNING') worker.shutdown();
      });
    try {
      await next(worker);
      if (lost) throw lost;
    } finally {
      this.#workers -= 1;
      if (this.#workers <= 0) await this.close();
    }
  }

  configureClient(options: Omit<ClientOptions, 'plugins'>): Omit<ClientOptions, 'plugins'> {
    const { workflow = [], ...others } = options.interceptors ?? {};
    if (!Array.isArray(workflow)) {
      throw new ConfigError('interceptors.workflow', 'expected a list of interceptors beside the perdure plugin');
    }
    return { ...options, interceptors: { ...others, workflow: [...workflow, startsWithIdentity] } };
  }

  /** For a plugin whose workers were not all run: closes the store under those that are left. May be called again. */
  async close(): Promise<void> {
    const opened = this.#opened;
    this.#opened = undefined;
    this.#workers = 0;
    // One that could not be opened has nothing to close, and its error was given to whoever asked.
    const services = await opened?.catch(() => undefined);
    await services?.[Symbol.asyncDispose]();
  }

  async #open(): Promise<WorkerServices> {
    return await openWorkerServices(await this.#config(), this.#log);
  }

  async #config(): Promise<ResolvedConfig> {
    const { config, cwd = process.cwd(), env = process.env } = this.#options;
    if (config === undefined) return await loadConfig({ cwd, env });
    return isResolved(config) ? config : await resolveConfig(config, { rootDir: cwd, env });
  }
}

function deploymentOptions({ deployment, buildId, behaviour }: WorkerVersioning): WorkerDeploymentOptions {
  return {
    version: { deploymentName: deployment, buildId },
    useWorkerVersioning: true,
    defaultVersioningBehavior: behaviour === 'pinned' ? 'PINNED' : 'AUTO_UPGRADE',
  };
}

/** Queues that tools name for their calls, each once. */
export function toolQueuesOf(tools: readonly Tool[]): string[] {
  return [...new Set(tools.flatMap(({ definition }) => definition.policy.taskQueue ?? []))];
}

function isResolved(config: PerdureConfig | ResolvedConfig): config is ResolvedConfig {
  return 'rootDir' in config;
}

/** Ours beside a user's own. A plugin that is given to the connection and to the worker is asked twice: then ours are there. */
function merged(own: object = {}, ours: object): object {
  const taken = Object.keys(ours).find((name) => name in own && !made.has((own as Record<string, object>)[name] ?? {}));
  if (taken !== undefined) {
    throw new ConfigError('activities', `the name ${taken} is taken by perdure; give your own activity another one`);
  }
  for (const activity of Object.values(ours) as object[]) made.add(activity);
  return { ...own, ...ours };
}

const made = new WeakSet<object>();

/**
 * A start of `agentRun` from any client: its identity is made here, once, because what Temporal has to offer later is
 * shared by runs that cron or a retry starts anew.
 */
const startsWithIdentity: WorkflowClientInterceptor = {
  startWithDetails: (input, next) => next(identified(input)),
  signalWithStart: (input, next) => next(identified(input)),
};

interface StartInput {
  readonly workflowType: string;
  readonly options: { readonly args: unknown[]; readonly cronSchedule?: string };
}

function identified<Input extends StartInput>(input: Input): Input {
  if (input.workflowType !== AGENT_WORKFLOW_TYPE) return input;
  if (input.options.cronSchedule) {
    throw new TypeError('cronSchedule: agentRun has no cron schedule; use a Temporal Schedule that starts it');
  }
  const [given, ...rest] = input.options.args;
  return { ...input, options: { ...input.options, args: [{ runKey: randomUUID(), ...(given as object) }, ...rest] } };
}
