/** What commands need of the world around them. The real one is in `local-platform.ts`; tests bring their own. */
import type { ManifestTool } from '../contract/manifest.js';
import type { Diagnosis } from '../client/diagnosis.js';
import type { Perdure } from '../client/perdure-client.js';
import type { CreatedProject } from './create-project.js';
import type { RecordedExecution } from '../replay/recorded-execution.js';
import type { ReplayedExecution } from '../replay/replay-executions.js';
import type { StoreUpkeep } from '../client/store-upkeep.js';

/** What completion knows besides the commands and options themselves. */
export interface CompletionValues {
  /** The newest runs first. */
  runs: { id: string; about: string }[];
  tools: string[];
  /** Of the run that the line names. */
  calls: { id: string; about: string }[];
}

/** One of the process's output streams. */
export interface Screen {
  readonly isTerminal: boolean;
  readonly colour: boolean;
  /** `undefined` in a pipe. */
  readonly columns: number | undefined;
  write(text: string): void;
}

/** The part of the client that commands use. */
export type Client = Pick<
  Perdure,
  | 'start'
  | 'checkStart'
  | 'get'
  | 'list'
  | 'describe'
  | 'describeCall'
  | 'serverEvents'
  | 'follow'
  | 'limitsOf'
  | 'transcript'
  | 'cancel'
  | 'retry'
  | 'checkRetry'
  | 'resolve'
  | 'waitForResult'
  | 'hasWorker'
  | 'stats'
  | 'failurePairs'
  | 'histories'
  | 'allHistories'
  | 'runUrl'
  | 'taskQueue'
  | 'unanswered'
  | 'close'
>;

/** A client, and what was started to serve it. */
export interface Engine {
  client: Client;
  /** True where this process runs the server and a worker, which end with `stop`. */
  embedded: boolean;
  /** Where the worker of this process writes its log, if there is one. */
  logPath?: string;
  /** Rejects where server or worker of this process end by themselves; never settles otherwise. */
  broken: Promise<never>;
  /** Closes the client, then stops what was started, the worker before the server. */
  stop(): Promise<void>;
}

/** Where a worker can be asked how it does. */
export interface WorkerEndpoints {
  /** Serves `/healthz` and `/readyz`; 0 takes a free port. Default: nowhere. */
  healthPort?: number;
  /** Serves Prometheus metrics at `/metrics`; 0 takes a free port. Default: nowhere. */
  metricsPort?: number;
  /** Interface of both. Default 127.0.0.1. */
  bind?: string;
}

/** A running worker, for `perdure worker` and `perdure dev`. */
export interface RunningWorker {
  server: { address: string; namespace: string; source: string; uiUrl?: string; startedHere: boolean };
  taskQueue: string;
  tools: string[];
  model: string | undefined;
  healthUrl?: string;
  metricsUrl?: string;
  configPath: string | undefined;
  /** Where its log goes, if not to standard error. */
  logPath?: string;
  /** As in `Engine`. */
  broken: Promise<never>;
  stop(): Promise<void>;
}

export interface OpenWorkerOptions extends WorkerEndpoints {
  /** Starts the embedded server where there is no other. */
  embed: boolean;
  /** The queue to serve. Default: the store's, and with `embed` those that tools name too. */
  taskQueue?: string;
}

export interface OpenEngineOptions {
  /** Checked for existence where the run's model is asked in this process. */
  model?: string;
  /** Follows `Set model in perdure.config.ts, or OPENAI_API_KEY` where no model is set up: what else helps here. */
  modelAdvice: string;
  /** Asked with a client of the store alone before a server is started: rejects where that would be in vain. */
  check?: (client: Client) => Promise<void>;
}

export interface Platform {
  readonly out: Screen;
  readonly err: Screen;
  /** The configuration to use from now on, in place of the nearest one. */
  useConfig(file: string): void;
  nowMs(): number;
  sleep(ms: number): Promise<void>;
  readStdin(): Promise<string>;
  /** Calls `listener` at Ctrl-C or SIGTERM, in place of the process's end, until the returned function is called. */
  onInterrupt(listener: () => void): () => void;
  /** The configuration's tools, as a run started now would pin them. */
  loadTools(): Promise<ManifestTool[]>;
  /** Writes a new project; rejects with `usage` where it would overwrite anything. */
  createProject(dir: string): Promise<CreatedProject>;
  /** What a shell may complete with, from configuration and store alone. Rejects where either cannot be read. */
  completionValues(line: { run: string }): Promise<CompletionValues>;
  /** Replays histories with the configuration's workflow code, one after another as they come. */
  replay(executions: AsyncIterable<RecordedExecution>): AsyncIterable<ReplayedExecution>;
  /** A history that somebody exported; throws `ConfigError` where the file holds none. */
  readHistory(file: string): Promise<RecordedExecution>;
  /** For looking after the configuration's store. */
  openUpkeep(): Promise<StoreUpkeep>;
  /** Everything that a run needs, looked at. Never rejects. */
  diagnose(): Promise<Diagnosis>;
  /** A client of the store, and of a server where one answers. */
  openClient(): Promise<Client>;
  /** A client of a server; starts the embedded one with a worker where there is none. */
  openEngine(options: OpenEngineOptions): Promise<Engine>;
  /** A worker for the server that is there; with `embed`, for an embedded one that is started. */
  openWorker(options: OpenWorkerOptions): Promise<RunningWorker>;
}
