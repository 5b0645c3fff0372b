import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, closeSync, openSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client, Connection, type WorkflowHandle } from '@temporalio/client';
import { bundleWorkflowCode } from '@temporalio/worker';
import type { AgentRunInput, AgentRunResult } from '../../../src/contract/run.js';
import { AGENT_WORKFLOW_TYPE, taskQueueFor } from '../../../src/contract/task-queue.js';
import type { ScriptedReply } from '../../../src/models/scripted-model.js';
import { openStore } from '../../../src/store/open-store.js';
import type { StoreChoice } from '../../../src/store/store-choice.js';
import type { CallRecord } from '../../../src/store/records.js';
import type { Store } from '../../../src/store/store.js';
import type { Failpoint } from './failpoints.js';
import { Oracle } from './oracle.js';
import { TcpProxy } from './tcp-proxy.js';
import type { WorkerMessage, WorkerSettings } from './worker-process.js';

/** Until a lost worker's claim can be taken over: lease and grace, and the server's own reaction. */
export const heartbeatTimeoutMs = 2_000;

/** Where Node.js itself would keep it. */
const compileCache = join(tmpdir(), 'node-compile-cache');

const quiet = () => undefined;
/** The sources that workers run: this repository's, or a copy with something planted in it. */
export const repository = new URL('../../../', import.meta.url);
const bundles = new Map<string, Promise<string>>();

/** File with the bundled workflows of these sources as they are now; made once for a process. */
export function workflowBundle(sources = repository): Promise<string> {
  const made =
    bundles.get(sources.href) ??
    (async () => {
      const logger = { log: quiet, trace: quiet, debug: quiet, info: quiet, warn: console.warn, error: console.error };
      const workflowsPath = fileURLToPath(new URL('src/workflows/index.ts', sources));
      const { code } = await bundleWorkflowCode({ workflowsPath, logger });
      const path = join(await mkdtemp(join(tmpdir(), 'perdure-crash-bundle-')), 'bundle.js');
      await writeFile(path, code);
      return path;
    })();
  bundles.set(sources.href, made);
  return made;
}

/** What a worker is told, and how its process is started. */
interface WorkerOptions extends WorkerSettings {
  /** Options of Node.js, besides this process's own. */
  execArgv?: string[];
  env?: Record<string, string>;
  /** File for what it writes to standard output and standard error; else `log` has it. */
  logPath?: string;
}

/** One worker process. */
export class CrashWorker {
  readonly #child: ChildProcess;
  readonly #log: string[] = [];
  /** Turns that its model was asked for, in order. */
  readonly asked: number[] = [];

  constructor(child: ChildProcess) {
    this.#child = child;
    child.on('message', (message: { asked?: number }) => {
      if (message.asked !== undefined) this.asked.push(message.asked);
    });
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.#log.push(text);
        if (process.env['PERDURE_CRASH_LOG'])
          appendFileSync(process.env['PERDURE_CRASH_LOG'], `[${child.pid}] ${text}`);
      });
    }
  }

  get log(): string {
    return this.#log.join('');
  }

  get isAlive(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  async ready(): Promise<this> {
    const ended = once(this.#child, 'exit').then(() => {
      throw new Error(`the worker ended while it was starting:\n${this.log}`);
    });
    const told = new Promise<void>((resolve) => {
      this.#child.on('message', (message: { ready?: true }) => message.ready && resolve());
    });
    await Promise.race([told, ended]);
    ended.catch(quiet);
    return this;
  }

  /** Lets the calls go on that a failpoint has paused. */
  resume(): void {
    this.#tell({ resume: true });
  }

  /** Failpoints from now on, instead of those that it has. A stopped worker hears of it when it wakes up. */
  arm(failpoints: Failpoint[]): void {
    this.#tell({ arm: failpoints });
  }

  #tell(message: WorkerMessage): void {
    this.#child.send(message);
  }

  signal(signal: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT' | 'SIGTERM'): void {
    this.#child.kill(signal);
  }

  /** Resolves when it has ended, by whatever signal. */
  async ended(): Promise<void> {
    if (this.isAlive) await once(this.#child, 'exit');
  }

  async reached(text: string): Promise<void> {
    await until(() => this.log.includes(text), `the worker's log says "${text}"`);
  }
}

/** A run under way. */
export interface CrashRun {
  handle: WorkflowHandle;
  runKey: string;
  /** Calls as the store has them. */
  calls(): Promise<CallRecord[]>;
  result(): Promise<AgentRunResult>;
}

/** A store, a backend and any number of workers on the test run's Temporal server, disposed of together. */
export class CrashBench implements AsyncDisposable {
  readonly rootDir: string;
  readonly storeChoice: StoreChoice;
  readonly oracle: Oracle;
  readonly client: Client;
  readonly store: Store;
  readonly taskQueue: string;
  readonly server: { address: string; namespace: string };
  readonly #sources: URL;
  readonly #workers: CrashWorker[] = [];
  readonly #wires: TcpProxy[] = [];
  #runs = 0;

  private constructor(fields: {
    rootDir: string;
    storeChoice: StoreChoice;
    oracle: Oracle;
    client: Client;
    store: Store;
    server: { address: string; namespace: string };
    sources: URL;
  }) {
    this.rootDir = fields.rootDir;
    this.storeChoice = fields.storeChoice;
    this.oracle = fields.oracle;
    this.client = fields.client;
    this.store = fields.store;
    this.server = fields.server;
    this.#sources = fields.sources;
    this.taskQueue = taskQueueFor(fields.store.storeId);
  }

  /** By default on the server of the test run, with workers of this repository's sources and a SQLite file. */
  static async open(
    given: { server?: { address: string; namespace: string }; sources?: URL; store?: StoreChoice } = {},
  ): Promise<CrashBench> {
    // Not imported by `npm run crash`: vitest cannot be, outside a test.
    const server = given.server ?? (await import('../../support/temporal-server.js')).temporalServer();
    const rootDir = await mkdtemp(join(tmpdir(), 'perdure-crash-'));
    const oracle = await Oracle.start(join(rootDir, 'oracle.jsonl'));
    const storeChoice = given.store ?? { path: join(rootDir, 'store.db') };
    const store = await openStore(storeChoice);
    const connection = await Connection.connect({ address: server.address });
    const client = new Client({ connection, namespace: server.namespace });
    return new CrashBench({
      rootDir,
      storeChoice,
      oracle,
      client,
      store,
      server,
      sources: given.sources ?? repository,
    });
  }

  /** Of the SQLite file. Throws where the store is none. */
  get storePath(): string {
    if (!('path' in this.storeChoice)) throw new Error('the store of this bench is no file');
    return this.storeChoice.path;
  }

  /** Starts a worker process and waits until it polls; with `after`, not before that. */
  async worker(
    failpoints: Failpoint[] = [],
    options: Partial<WorkerOptions> = {},
    after: Promise<void> = Promise.resolve(),
  ): Promise<CrashWorker> {
    await after;
    const { address, namespace } = this.server;
    const settings: WorkerOptions = {
      address,
      namespace,
      taskQueue: this.taskQueue,
      store: this.storeChoice,
      bundlePath: await workflowBundle(this.#sources),
      oracleUrl: this.oracle.url,
      heartbeatTimeoutMs,
      shutdownGraceMs: 1_000,
      failpoints,
      withoutTools: [],
      ...options,
    };
    const { execArgv = [], env = {}, logPath, ...rest } = settings;
    const output = logPath === undefined ? 'pipe' : openSync(logPath, 'a');
    const child = fork(fileURLToPath(new URL('test/crash/support/worker-process.ts', this.#sources)), {
      stdio: ['ignore', output, output, 'ipc'],
      execArgv: [...process.execArgv, ...execArgv],
      // A worker's start is mostly the compilation of its sources: a third less with a cache (measured, 0.85 s and 0.55 s).
      env: { NODE_COMPILE_CACHE: compileCache, ...process.env, ...env, PERDURE_CRASH_WORKER: JSON.stringify(rest) },
    });
    if (typeof output === 'number') closeSync(output);
    const worker = new CrashWorker(child);
    this.#workers.push(worker);
    return await worker.ready();
  }

  /** Starts a run whose model says `script`, turn by turn. */
  async run(script: ScriptedReply[]): Promise<CrashRun> {
    this.#runs += 1;
    return await this.start(`crash-${this.taskQueue}-${this.#runs}`, script);
  }

  /** As `run`, under a name of the caller's; with `client`, by that one. Its workflow is of the same name unless told otherwise. */
  async start(
    runKey: string,
    script: ScriptedReply[],
    { client = this.client, workflowId = runKey }: { client?: Client; workflowId?: string } = {},
  ): Promise<CrashRun> {
    const input: AgentRunInput = { task: JSON.stringify(script), runKey };
    const handle = await client.workflow.start(AGENT_WORKFLOW_TYPE, {
      taskQueue: this.taskQueue,
      workflowId,
      // What a task costs that was handed to a stopped worker.
      workflowTaskTimeout: '2s',
      args: [input],
    });
    return {
      handle,
      runKey,
      calls: () => this.store.listCalls(runKey),
      result: () => handle.result() as Promise<AgentRunResult>,
    };
  }

  /** One step with these calls, then the answer. */
  runCalls(...tools: (string | { tool: string; input: Record<string, unknown> })[]): Promise<CrashRun> {
    const calls = tools.map((tool, index) => {
      const call = typeof tool === 'string' ? { tool, input: {} } : tool;
      return { tool: call.tool, input: { of: `call ${index}`, ...call.input } };
    });
    return this.run([{ calls }, { text: 'all done' }] as ScriptedReply[]);
  }

  /**
   * As `worker`, on a wire of its own to the server. A worker that is to be stopped needs one: `stopped` cuts it, for the
   * polls of a stopped process would swallow task after task until each times out.
   */
  async sleeper(
    failpoint: Failpoint,
    options: Partial<WorkerOptions> = {},
  ): Promise<CrashWorker & { stopped(): Promise<void> }> {
    const worker = await this.onWire([failpoint], options);
    const stopped = async (): Promise<void> => {
      await worker.reached(`failpoint ${failpoint.at}`);
      worker.cut();
    };
    return Object.assign(worker, { stopped });
  }

  /** As `worker`, on a wire of its own to the server; `cut` breaks its connections, and lets it make new ones. */
  async onWire(
    failpoints: Failpoint[] = [],
    options: Partial<WorkerOptions> = {},
  ): Promise<CrashWorker & { cut(): void }> {
    const wire = await TcpProxy.open(Number(this.server.address.split(':')[1]));
    this.#wires.push(wire);
    const worker = await this.worker(failpoints, { ...options, address: `127.0.0.1:${wire.port}` });
    const cut = (): void => {
      wire.set('cut');
      wire.set('pass');
    };
    return Object.assign(worker, { cut });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const worker of this.#workers) {
      worker.signal('SIGKILL');
      await worker.ended();
    }
    for (const wire of this.#wires) await wire[Symbol.asyncDispose]();
    await this.store.close();
    await this.client.connection.close();
    await this.oracle[Symbol.asyncDispose]();
    await rm(this.rootDir, { recursive: true, force: true });
  }
}

/** Waits until the condition holds; an error that names it after 30 s. */
export async function until(
  condition: () => Promise<boolean> | boolean,
  what: string,
  timeoutMs = 30_000,
): Promise<void> {
  const giveUpAt = Date.now() + timeoutMs;
  while (!(await condition())) {
    if (Date.now() > giveUpAt) throw new Error(`waited ${timeoutMs} ms in vain until ${what}`);
    await sleep(25);
  }
}
