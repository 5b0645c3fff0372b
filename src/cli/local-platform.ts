import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { openParts } from '../client/open-parts.js';
import { noServerFound, Perdure } from '../client/perdure-client.js';
import { PerdureError } from '../client/perdure-error.js';
import type { Diagnosis } from '../client/diagnosis.js';
import { openStoreUpkeep, type StoreUpkeep } from '../client/store-upkeep.js';
import type { ResolvedConfig } from '../config/config.js';
import { findConfigFile, loadConfig } from '../config/load-config.js';
import type { ManifestTool } from '../contract/manifest.js';
import type { RecordedExecution } from '../replay/recorded-execution.js';
import type { ReplayedExecution } from '../replay/replay-executions.js';
import { resolveModel } from '../models/resolve-model.js';
import { type FoundServer, openServer, resolveServer, ServerUnreachableError } from '../server/connection.js';
import type { DevServer } from '../server/dev-server.js';
import { buildManifest } from '../tools/manifest.js';
import { createProject, type CreatedProject } from './create-project.js';
import { exitCodes } from './exit-code.js';
import { oneLine } from './render/text-width.js';
import type { LocalWorker, LocalWorkerOptions } from './local-worker.js';
import type {
  Client,
  CompletionValues,
  Engine,
  OpenEngineOptions,
  OpenWorkerOptions,
  Platform,
  RunningWorker,
  Screen,
} from './platform.js';
import { ServedWorker } from './served-worker.js';
import { StreamScreen } from './stream-screen.js';

/** Who only looks is not kept waiting: the store knows nearly all of it. A server that is there answers in a fraction. */
const LOOK_TIMEOUT_MS = 2_000;
/** Nor is who wants something done: a server that takes longer is no use. */
const CONNECT_TIMEOUT_MS = 3_000;

/** As many as a shell can show. */
const COMPLETED_RUNS = 100;

type Environment = Readonly<Record<string, string | undefined>>;

/** This process, its folder, and the servers that can be reached from here. */
export class LocalPlatform implements Platform {
  readonly out: Screen;
  readonly err: Screen;
  readonly #cwd: string;
  readonly #env: Environment;
  readonly #version: string;
  #configFile: string | undefined;

  constructor(options: { cwd: string; env: Environment; version: string }) {
    this.#cwd = options.cwd;
    this.#env = options.env;
    this.#version = options.version;
    this.out = new StreamScreen(process.stdout, options.env);
    this.err = new StreamScreen(process.stderr, options.env);
  }

  useConfig(file: string): void {
    this.#configFile = file;
  }

  nowMs(): number {
    return Date.now();
  }

  async sleep(ms: number): Promise<void> {
    await sleep(ms);
  }

  async readStdin(): Promise<string> {
    return await text(process.stdin);
  }

  onInterrupt(listener: () => void): () => void {
    let isAsked = false;
    const interrupted = (): void => {
      // The second time a person means now; the embedded server ends with this process by itself.
      if (isAsked) process.exit(exitCodes.detached);
      isAsked = true;
      listener();
    };
    process.on('SIGINT', interrupted).on('SIGTERM', interrupted);
    return () => process.off('SIGINT', interrupted).off('SIGTERM', interrupted);
  }

  async loadTools(): Promise<ManifestTool[]> {
    return buildManifest((await this.#readConfig()).tools).tools;
  }

  async createProject(dir: string): Promise<CreatedProject> {
    return await createProject(resolve(this.#cwd, dir), { version: this.#version });
  }

  async completionValues({ run }: { run: string }): Promise<CompletionValues> {
    const config = await this.#readConfig();
    const client = new Perdure(await openParts(config, noServerFound));
    try {
      const runs = await client.list({ limit: COMPLETED_RUNS });
      const steps = runs.some(({ id }) => id === run) ? (await client.describe(await client.get(run))).steps : [];
      return {
        runs: runs.map(({ id, state, task }) => ({ id, about: oneLine(`${state}: ${task.slice(0, 60)}`) })),
        tools: config.tools.map((tool) => tool.definition.name),
        calls: steps.flatMap(({ calls }) => calls.map(({ callId, tool }) => ({ id: callId, about: oneLine(tool) }))),
      };
    } finally {
      await client.close();
    }
  }

  async *replay(executions: AsyncIterable<RecordedExecution>): AsyncGenerator<ReplayedExecution> {
    const { workflowsPath } = await this.#readConfig();
    // Loaded here, as the worker is: its native part would cost every other command half a second.
    const { replayLocally } = await import('./local-replay.js');
    yield* replayLocally({ workflowsPath, executions });
  }

  async readHistory(file: string): Promise<RecordedExecution> {
    const { readHistoryFile } = await import('../replay/recorded-execution.js');
    return readHistoryFile(resolve(this.#cwd, file));
  }

  async openUpkeep(): Promise<StoreUpkeep> {
    const config = await this.#readConfig();
    return await openStoreUpkeep(config, { env: this.#env, warn: (text) => this.err.write(`${text}\n`) });
  }

  async diagnose(): Promise<Diagnosis> {
    // Loaded here: it brings along what no other command needs.
    const { diagnose } = await import('../client/diagnose.js');
    const file = this.#configFile;
    return await diagnose({ cwd: this.#cwd, env: this.#env, ...(file !== undefined && { configFile: file }) });
  }

  async openClient(): Promise<Client> {
    const config = await this.#readConfig();
    const server = await resolveServer({ rootDir: config.rootDir, env: this.#env });
    if (server.kind === 'none') return new Perdure(await openParts(config, { ...noServerFound, at: server.sought }));
    try {
      return new Perdure(await openParts(config, server, { connectTimeoutMs: LOOK_TIMEOUT_MS }));
    } catch (error) {
      if (!(error instanceof ServerUnreachableError)) throw error;
      this.err.write(`The server was not reached: ${error.message}\nWhat follows is what the store knew last.\n`);
      const at = `${server.address} (chosen by ${server.source})`;
      return new Perdure(await openParts(config, { at, advice: error.next }));
    }
  }

  async openEngine({ model, modelAdvice, check }: OpenEngineOptions): Promise<Engine> {
    const config = await this.#loadConfig();
    const found = await resolveServer({ rootDir: config.rootDir, env: this.#env });
    if (found.kind === 'none') {
      if (check) await this.#checkFirst(config, check);
      // Elsewhere a worker has its own environment, and with it its own model; here it is this one's.
      await this.#requireModel(config, model, modelAdvice);
    }
    // What was found is used, or not reached: looked for again, it might be gone, and a server be started that nobody asked for.
    const { server, started } = found.kind === 'none' ? await this.#openServer(config) : { server: found };
    if (!started) {
      const client = new Perdure(await openParts(config, server, { connectTimeoutMs: CONNECT_TIMEOUT_MS }));
      return { client, embedded: false, broken: never(), stop: () => client.close() };
    }
    const logPath = workerLogPath(config);
    const worker = await this.#startWorker({ config, server, started, logPath, withToolQueues: true });
    const client = new Perdure(await openParts(config, server).catch(stopping(worker)));
    const stop = async (): Promise<void> => {
      await client.close();
      await worker.stop();
    };
    return { client, embedded: true, logPath, broken: worker.broken, stop };
  }

  async #checkFirst(config: ResolvedConfig, check: (client: Client) => Promise<void>): Promise<void> {
    const client = new Perdure(await openParts(config, noServerFound));
    try {
      await check(client);
    } finally {
      await client.close();
    }
  }

  async openWorker(options: OpenWorkerOptions): Promise<RunningWorker> {
    const config = await this.#loadConfig();
    const { server, started } = options.embed ? await this.#openDevServer(config) : await this.#findServer(config);
    // A person at a terminal wants the links; a service's log is its standard error.
    const logPath = this.err.isTerminal ? workerLogPath(config) : undefined;
    const { embed, ...served } = options;
    const worker = await this.#startWorker({
      ...served,
      withToolQueues: embed,
      config,
      server,
      started,
      ...(logPath !== undefined && { logPath }),
    });
    const { address, namespace, source, uiUrl } = server;
    return {
      server: { address, namespace, source, startedHere: started !== undefined, ...(uiUrl !== undefined && { uiUrl }) },
      taskQueue: worker.taskQueue,
      ...(worker.healthUrl !== undefined && { healthUrl: worker.healthUrl }),
      ...(worker.metricsUrl !== undefined && { metricsUrl: worker.metricsUrl }),
      tools: config.tools.map((tool) => tool.definition.name),
      model: config.model?.name,
      configPath: this.#configFile ?? findConfigFile(this.#cwd),
      ...(logPath !== undefined && { logPath }),
      broken: worker.broken,
      stop: () => worker.stop(),
    };
  }

  async #loadConfig(): Promise<ResolvedConfig> {
    return await loadConfig(this.#configPlace());
  }

  /** For commands that ask no model anything: a missing key is no reason not to look. */
  async #readConfig(): Promise<ResolvedConfig> {
    return await loadConfig({ ...this.#configPlace(), forReading: true });
  }

  #configPlace(): Parameters<typeof loadConfig>[0] {
    const file = this.#configFile;
    return { cwd: this.#cwd, env: this.#env, ...(file !== undefined && { file }) };
  }

  async #requireModel(config: ResolvedConfig, choice: string | undefined, advice: string): Promise<void> {
    // Throws a `ConfigError` that says what to install or set.
    if (choice !== undefined) await resolveModel(choice, { rootDir: config.rootDir, env: this.#env });
    else if (!config.model) {
      throw new PerdureError('no_model', 'No model is set up.', {
        next: `Set model in perdure.config.ts, or OPENAI_API_KEY${advice}`,
      });
    }
  }

  async #findServer(config: ResolvedConfig): Promise<{ server: FoundServer; started?: undefined }> {
    const server = await resolveServer({ rootDir: config.rootDir, env: this.#env });
    if (server.kind !== 'none') return { server };
    throw new PerdureError('server_unreachable', 'There is no Temporal server for a worker to ask for work.', {
      next: 'Start the embedded one and a worker with: perdure dev - or point TEMPORAL_ADDRESS to yours.',
    });
  }

  async #openDevServer(config: ResolvedConfig): Promise<{ server: FoundServer; started?: DevServer }> {
    const opened = await this.#openServer(config);
    if (opened.started || opened.server.kind !== 'dev') return opened;
    const link = opened.server.uiUrl === undefined ? '' : `, its Temporal UI is ${opened.server.uiUrl}`;
    throw new PerdureError('usage', `The server of this folder runs already${link}.`, {
      next: 'Use it: perdure run "…" - or add a worker to it: perdure worker',
    });
  }

  async #openServer(config: ResolvedConfig): Promise<{ server: FoundServer; started?: DevServer }> {
    const log = (line: string): void => this.err.write(`${line}\n`);
    return await openServer({ rootDir: config.rootDir, env: this.#env, log });
  }

  /** A worker that is stopped before the server that was started for it. */
  async #startWorker(options: LocalWorkerOptions & { started: DevServer | undefined }): Promise<LocalWorker> {
    const { started, ...workerOptions } = options;
    try {
      // Loaded here: the worker's native part would cost every other command half a second.
      const { startLocalWorker } = await import('./local-worker.js');
      const worker = await startLocalWorker(workerOptions);
      if (!started) return worker;
      return new ServedWorker(worker, started);
    } catch (error) {
      await started?.stop();
      throw error;
    }
  }
}

function stopping(worker: LocalWorker): (error: unknown) => Promise<never> {
  return async (error) => {
    await worker.stop();
    throw error;
  };
}

function workerLogPath(config: ResolvedConfig): string {
  return join(config.rootDir, '.perdure', 'worker.log');
}

function never(): Promise<never> {
  return new Promise(() => undefined);
}
