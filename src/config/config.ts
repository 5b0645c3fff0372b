import type { LoopPolicy } from '../contract/guard-state.js';
import type { RunLimits } from '../contract/run-limits.js';
import type { LimiterLimits } from '../contract/shared-limits.js';
import type { FaultOption, FaultPlan } from '../faults/fault.js';
import type { Model } from '../models/model.js';
import type { ModelChoice } from '../models/model-choice.js';
import type { PostgresChoice, SqliteChoice, StoreChoice } from '../store/store-choice.js';
import type { Duration, Tool } from '../tools/tool.js';

/** What a person writes in `perdure.config.ts`. Loaded by worker and client; only workers execute tools. */
export interface PerdureConfig {
  /** An AI SDK model, `'provider:model'` of an installed provider, `'scripted:FILE'`, or a `Model` of one's own. */
  model?: ModelChoice;
  /** What `defineTool`, `httpTool` and other sources made. */
  tools: Tool[];
  /**
   * Groups of tools that serve the same purpose, by name: after a failure of one, the model is offered the others. Never
   * used silently. `alternatives` of a tool says the same in one direction.
   */
  equivalents?: string[][];
  /** System prompt; perdure adds its failure protocol. */
  instructions?: string;
  limits?: Partial<{
    steps: number | null;
    calls: number | null;
    tokens: number | null;
    costUsd: number | null;
    wallTimeMs: Duration | null;
    failures: number | null;
  }>;
  /** US dollars per million tokens, of every model that brings no prices of its own; for `limits.costUsd`. */
  prices?: { inputPerMillion: number; outputPerMillion: number };
  /** Limits of each model over all runs and workers. Default none. */
  modelLimits?: { requestsPerMinute?: number; tokensPerMinute?: number; concurrency?: number };
  /** What a run does about a model that repeats itself. */
  loop?: {
    /** A model that goes on after refusals: `stop` ends the run (default), `model` keeps refusing. */
    onExhausted?: 'stop' | 'model';
    /** Equal calls with equal results that run; the next one is refused. Default 2. */
    equalCalls?: number;
    /**
     * Turns in a row in which one tool gave one and the same long answer to different arguments; the next call of it is
     * refused. Failures in a row: twice as many. `null` is no bound. Default 5.
     */
    equalAnswers?: number | null;
    /** Rounds in which a tool's `progress` does not fall before the run ends; `null` is no bound. Default 2. */
    stalledRounds?: number | null;
  };
  /**
   * Where runs are kept: a SQLite file (default `.perdure/store.db` beside the configuration), or a PostgreSQL database for
   * workers on several machines. The environment variable `PERDURE_STORE`, a file or a `postgres://` URL, overrides it.
   */
  store?: Partial<SqliteChoice> | Partial<PostgresChoice>;
  /** What `perdure store gc` removes. */
  retention?: {
    /** Runs that ended longer ago leave a tombstone and nothing else. Default `null`: all are kept. */
    closedRunsMs?: Duration | null;
    /** What nothing refers to is kept until it is this old. Default 7 days, at least 1 hour. */
    graceMs?: Duration;
  };
  worker?: {
    /** Time without a sign of life after which a worker is taken for dead; also the lease of a claim. Default 10 s. */
    heartbeatTimeoutMs?: Duration;
    /** Tool calls at once in one worker. Default 50. */
    maxConcurrentCalls?: number;
    /**
     * How much a run tells the server while it goes on, where each telling costs (docs/operations.md has the figures).
     * `full` (default): search attributes, and a lost worker is noticed after 10 s. `lean`: neither; a lost worker is noticed
     * after 60 s. Taken over into a run when it starts.
     */
    costs?: 'full' | 'lean';
    /**
     * Worker Versioning: this worker is a build of a deployment. `TEMPORAL_DEPLOYMENT_NAME` and `TEMPORAL_WORKER_BUILD_ID`
     * say the same and win. Default: not versioned.
     */
    versioning?: {
      deployment: string;
      buildId: string;
      /** Whether a run stays with the build that it began on, or moves to the current one. Default `auto-upgrade`. */
      behaviour?: 'pinned' | 'auto-upgrade';
    };
  };
  /** Values that must never be logged, stored for operators or shown to a model. */
  secrets?: string[];
  /** Names of environment variables whose values are secrets. */
  secretEnv?: string[];
  /** Where alerts are posted as JSON, besides the operator's log: an http or https URL, which is kept as a secret. */
  alerts?: { webhook?: string };
  /** Path of the user's own workflow file, which re-exports `perdure/workflow`; relative to the configuration. */
  workflows?: string;
  /** Makes tools fail on purpose, as `PERDURE_FAULTS` does (docs/fault-injection.md), e.g. `['charge:timeout@3']`. */
  faults?: FaultOption[];
  /** True where real users are served: faults are then refused, as with `PERDURE_ENV=production`. Default false. */
  production?: boolean;
}

/** A build of a deployment, in Temporal's Worker Versioning. */
export interface WorkerVersioning {
  deployment: string;
  buildId: string;
  behaviour: 'pinned' | 'auto-upgrade';
}

/** The configuration with every default resolved and every path absolute. */
export interface ResolvedConfig {
  /** Folder of the configuration file (or the working directory where there is none). */
  rootDir: string;
  model: Model | undefined;
  tools: Tool[];
  instructions: string;
  limits: RunLimits;
  /** Of every model that brings none of its own. */
  prices?: NonNullable<Model['prices']>;
  modelLimits: LimiterLimits | undefined;
  loop: LoopPolicy;
  store: StoreChoice;
  retention: { closedRunsMs: number | null; graceMs: number };
  heartbeatTimeoutMs: number;
  maxConcurrentCalls: number;
  costs: 'full' | 'lean';
  /** Present where this worker is one build of several. */
  versioning?: WorkerVersioning;
  secrets: string[];
  /** Names of environment variables that hold secrets. */
  secretEnv: string[];
  alertWebhook?: string;
  workflowsPath: string | undefined;
  /** Present where faults are injected. */
  faults?: FaultPlan;
}
