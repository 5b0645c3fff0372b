import { randomUUID } from 'node:crypto';
import type { PerdureConfig } from '../config/config.js';
import { loadConfig } from '../config/load-config.js';
import { resolveConfig } from '../config/resolve-config.js';
import type { AgentRunInput, AgentRunResult, RunStatus } from '../contract/run.js';
import type { RunLimits } from '../contract/run-limits.js';
import { taskQueueFor } from '../contract/task-queue.js';
import { resolveServer } from '../server/connection.js';
import type { RecordedExecution } from '../replay/recorded-execution.js';
import type { Outcome } from '../contract/call.js';
import { createRedactor } from '../policy/redaction.js';
import type { RunRecord } from '../store/records.js';
import type { FailureFigures } from '../stats/failure-stats.js';
import { CallResolution, type ResolveOptions } from './call-resolution.js';
import { openParts } from './open-parts.js';
import { refuseCollectedRun } from './collected-run.js';
import { PerdureError } from './perdure-error.js';
import { type FailurePair, FailureRecords, type StatsOptions } from './failure-records.js';
import { type CallDescription, countersOf, type RunDescription, type RunSummary } from './run-description.js';
import { RunHandle } from './run-handle.js';
import { checkRunId, makeRunId } from './run-id.js';
import {
  type ListOptions,
  type PerdureParts,
  RunReader,
  type TranscriptEntry,
  type UnansweredServer,
} from './run-reader.js';
import { type RetryOptions, type RetryPlan, RunRetry } from './run-retry.js';
import type { RunServer, ServerEvent } from './run-server.js';

export interface ConnectOptions {
  /** Default: the nearest `perdure.config.*` from `cwd` upwards. */
  config?: PerdureConfig;
  /** Where relative paths start and a configuration is looked for. Default: the process's. */
  cwd?: string;
  /** Default: the process's. */
  env?: Readonly<Record<string, string | undefined>>;
}

export interface StartOptions {
  /** The run's name: its workflow id. Default `run-` and six random characters. A name is used once. */
  id?: string;
  /** Limits instead of the configuration's, cap by cap. */
  limits?: Partial<RunLimits>;
  /** Model instead of the configuration's, `provider:model`. */
  model?: string;
}

/**
 * Starts runs and looks after them. Executes no tools: that is the workers' part. Every method rejects with a
 * `PerdureError` that says what to do, or a `StoreError`.
 */
export class Perdure {
  readonly taskQueue: string;
  /** The server that was looked for in vain; `undefined` where one is connected. */
  readonly unanswered: UnansweredServer | undefined;
  readonly #parts: PerdureParts;
  readonly #reader: RunReader;
  readonly #records: FailureRecords;

  constructor(parts: PerdureParts) {
    this.#parts = parts;
    this.#reader = new RunReader(parts);
    this.#records = new FailureRecords(parts.store, parts.redactor);
    this.taskQueue = taskQueueFor(parts.store.storeId);
    this.unanswered = parts.server ? undefined : (parts.unanswered ?? noServerFound);
  }

  /**
   * Opens the store and the server that a configuration stands for. `close` it when it is no longer needed.
   *
   * Rejects with `ConfigError` (no configuration, or a mistake in it), `StoreError`, and `server_unreachable`.
   */
  static async connect(options: ConnectOptions = {}): Promise<Perdure> {
    const { cwd = process.cwd(), env = process.env } = options;
    const config = options.config
      ? await resolveConfig(options.config, { rootDir: cwd, env })
      : await loadConfig({ cwd, env });
    const server = await resolveServer({ rootDir: config.rootDir, env });
    if (server.kind === 'none') throw noServer({ ...noServerFound, at: server.sought });
    return new Perdure(await openParts(config, server));
  }

  /**
   * Starts a run of the agent on `task` and returns as soon as the server has it; a worker takes it up when there is
   * one. Rejects with `run_exists` where the id was used before, `usage` where task or options cannot be meant.
   */
  async start(task: string, options: StartOptions = {}): Promise<RunHandle> {
    await this.checkStart(task, options);
    const runId = options.id ?? makeRunId(Math.random);
    // Made here once and carried in the input from then on: a restarted or reset run keeps it, and so its keys.
    const runKey = randomUUID();
    const input: AgentRunInput & { runKey: string } = {
      task,
      runKey,
      ...(options.limits && { limits: options.limits }),
      ...(options.model !== undefined && { model: options.model }),
    };
    await this.#connected().start({ id: runId, input, taskQueue: this.taskQueue });
    return new RunHandle(this, { runId, runKey });
  }

  /** Rejects as `start` does, as far as that can be said without a server, and starts nothing. */
  async checkStart(task: string, options: StartOptions = {}): Promise<void> {
    refuseCron(options);
    if (task.trim() === '') {
      throw new PerdureError('usage', 'The task is empty.', { next: 'perdure run "what the agent is to do"' });
    }
    if (options.model !== undefined) checkModelName(options.model);
    this.#refuseIdleCostCap(options);
    if (options.id !== undefined) await this.#refuseUsedId(checkRunId(options.id));
  }

  /** Whether another model than the configuration's has prices is for the worker to know. */
  #refuseIdleCostCap({ limits, model }: StartOptions): void {
    const { modelWithoutPrices } = this.#parts;
    if (modelWithoutPrices === undefined || model !== undefined || typeof limits?.costUsd !== 'number') return;
    throw new PerdureError(
      'usage',
      `A limit of $${limits.costUsd} could never act: ${modelWithoutPrices} has no prices.`,
      {
        next: 'Set prices in perdure.config.ts, or limit steps or tokens instead.',
      },
    );
  }

  /** The server forgets closed runs after its retention; the store does not. */
  async #refuseUsedId(id: string): Promise<void> {
    const stored = await this.#reader.storedRun(id);
    if (!stored) return;
    throw new PerdureError('run_exists', `A run with the id "${id}" exists already (${stored.status}).`, {
      next: `Look at it with: perdure show ${id} - or give another --id.`,
    });
  }

  /** The newest run first. */
  async list(options: ListOptions = {}): Promise<RunSummary[]> {
    return await this.#reader.list(options);
  }

  /**
   * The run of that id, or the only one whose id begins so. Rejects with `run_not_found` or `ambiguous_run`, each
   * naming what could have been meant.
   */
  async get(idOrPrefix: string): Promise<RunHandle> {
    const run = await this.#reader.find(idOrPrefix);
    return new RunHandle(this, { runId: run.id, runKey: run.runKey });
  }

  /** See `RunHandle.describe`. */
  async describe(run: RunHandle): Promise<RunDescription> {
    return await this.#reader.describe(run);
  }

  /** Looks at a run again and again, as `describe` does; each look reads only what is new. */
  follow(run: RunHandle): { look(): Promise<RunDescription> } {
    return this.#reader.follow(run);
  }

  /** The conversation that the run has reached, first message first. Empty for a person's own workflow. */
  async transcript(run: RunHandle): Promise<TranscriptEntry[]> {
    return await this.#reader.transcript(run);
  }

  /** The limits that a run was started with; `undefined` where no server tells. */
  async limitsOf(run: RunHandle): Promise<RunLimits | undefined> {
    return await this.#parts.server?.limits(run.runId);
  }

  /** Everything about one call, its arguments as the model wrote them included. `undefined` where the run has none. */
  async describeCall(run: RunHandle, callId: string): Promise<CallDescription | undefined> {
    return await this.#reader.describeCall(run, callId);
  }

  /** What befell the run on its server: cancellations, terminations, resets and ends. Empty without a server. */
  async serverEvents(run: RunHandle): Promise<ServerEvent[]> {
    return (await this.#parts.server?.events(run.runId, run.runKey)) ?? [];
  }

  /** How the tools did over all runs of the store: rates, durations, failures by class and code, corrections. */
  async stats(options: StatsOptions = {}): Promise<FailureFigures> {
    return await this.#records.stats(options);
  }

  /** Failed calls with the corrected ones that followed, redacted; for fine-tuning. */
  failurePairs(options: StatsOptions = {}): AsyncGenerator<FailurePair> {
    return this.#records.pairs(options);
  }

  /** See `RunHandle.result`. */
  async waitForResult(run: RunHandle): Promise<AgentRunResult> {
    const ended = (await this.#reader.endedRecord(run))?.result;
    if (ended) return await this.#reader.withWholeAnswer(ended, run);
    const end = await this.#connected().waitForEnd(run.runId);
    if (end.status === 'reported') return await this.#reader.withWholeAnswer(end.result, run);
    const stored = await this.#reader.recordOf(run);
    if (stored?.result) return await this.#reader.withWholeAnswer(stored.result, run);
    if (end.status === 'cancelled') return await this.#cancelledResult(stored);
    throw new PerdureError('no_result', `The run ${run.runId} ended without a result: ${endWords(end)}`, {
      next: `perdure show ${run.runId}`,
    });
  }

  /** A run that was cancelled before a worker could write its end. */
  async #cancelledResult(stored: RunRecord | undefined): Promise<AgentRunResult> {
    const summary = 'The run was cancelled.';
    const counters = countersOf(stored ? await this.#reader.stepsOf(stored) : []);
    return { status: 'cancelled', answer: '', termination: { reason: 'cancelled', summary }, counters };
  }

  /** See `RunHandle.cancel`. */
  async cancel(run: RunHandle): Promise<void> {
    const stored = await this.#reader.endedRecord(run);
    if (stored) {
      throw new PerdureError('run_not_found', `The run ${run.runId} has ended already (${stored.status}).`, {
        next: `perdure show ${run.runId}`,
      });
    }
    await this.#connected().cancel(run.runId);
  }

  /**
   * The histories of a run's executions, the first one first, for replaying them. Rejects with `run_not_found` where the
   * server has forgotten the run.
   */
  histories(run: RunHandle): AsyncIterable<RecordedExecution> {
    return this.#connected().histories(run.runId);
  }

  /** The histories of all executions of the store's runs that are open, or closed within that time; default all. */
  allHistories({ withinMs }: { withinMs?: number } = {}): AsyncIterable<RecordedExecution> {
    return this.#connected().allHistories({
      taskQueue: this.taskQueue,
      ...(withinMs !== undefined && { closedSinceMs: Date.now() - withinMs }),
    });
  }

  /**
   * Has a run go on from its last good step after it failed, was capped, cancelled, terminated, or is stuck: with the same
   * identity, so that nothing done is done again, and with today's tools. A completed one only with `askAgain`. Resolves when
   * the server has it; `describe` and `result` of the handle are the whole run's. Rejects with `run_open` where the run goes
   * on by itself, `usage` where it cannot go on so; both say what to do.
   */
  async retry(run: RunHandle, options: RetryOptions = {}): Promise<RetryPlan> {
    if (options.model !== undefined) checkModelName(options.model);
    return await new RunRetry(this.#parts.store).start(run, this.#connected(), options);
  }

  /** Rejects as `retry` does, as far as that can be said without a server, and starts nothing. */
  async checkRetry(run: RunHandle, options: RetryOptions = {}): Promise<void> {
    if (options.model !== undefined) checkModelName(options.model);
    await new RunRetry(this.#parts.store).plan(run, undefined, options);
  }

  /**
   * Settles a call of which nobody knows whether it happened, by a person's word; in a run that goes on as in one that has
   * ended. The model reads it in the call's place, or in its next turn where it has read the unknown outcome already. A retry
   * runs a call that did not happen. Returns the outcome that stands from now on. Rejects with `usage` where the call's
   * outcome is known, or a worker may still be running it.
   */
  async resolve(run: RunHandle, callId: string, options: ResolveOptions): Promise<Outcome> {
    const stored = await this.#reader.recordOf(run);
    await refuseCollectedRun(this.#parts.store, run.runKey);
    if (!stored)
      throw new PerdureError('run_not_found', `The run ${run.runId} has made no calls.`, { next: 'perdure list' });
    const { store, redactor = createRedactor({ secrets: [] }) } = this.#parts;
    return await new CallResolution(store, redactor).settle(stored, callId, options);
  }

  /** Link to the run in the Temporal UI, where its address is known. */
  runUrl(run: RunHandle): string | undefined {
    return this.#parts.server?.runUrl(run.runId);
  }

  /** Whether somebody is there to take up this store's runs. */
  async hasWorker(): Promise<boolean> {
    return await this.#connected().hasWorker(this.taskQueue);
  }

  /** Closes the store and the connection. Runs go on. */
  async close(): Promise<void> {
    await Promise.all([this.#parts.store.close(), this.#parts.server?.close()]);
  }

  #connected(): RunServer {
    if (this.#parts.server) return this.#parts.server;
    throw noServer(this.#parts.unanswered ?? noServerFound);
  }
}

/** Where nothing was configured, and nothing answered. */
export const noServerFound: UnansweredServer = {
  at: 'any address that is known here',
  advice: 'Start the embedded one with: perdure dev - or point TEMPORAL_ADDRESS to yours.',
};

function noServer({ at, advice }: UnansweredServer): PerdureError {
  return new PerdureError('server_unreachable', `There is no Temporal server at ${at}.`, { next: advice });
}

/** Temporal's cron would start runs that share their first run id and overlap in the store. */
function refuseCron(options: StartOptions): void {
  const asked = Object.keys(options).find((name) => name.toLowerCase().startsWith('cron'));
  if (asked === undefined) return;
  throw new PerdureError('usage', `${asked}: a run has no cron schedule.`, {
    next: 'Use a Temporal Schedule that starts agentRun: https://docs.temporal.io/schedule',
  });
}

/** Whether the model is there is for the worker to say, which may run elsewhere. */
function checkModelName(name: string): void {
  if (/^[^:\s]+:./.test(name)) return;
  throw new PerdureError('usage', `The model "${name}" names no provider.`, {
    next: `Write provider:model, for example openai:${name === '' || name.includes(':') ? 'gpt-5' : name}`,
  });
}

function endWords(end: { status: RunStatus | 'terminated' | 'timed_out'; reason: string }): string {
  const how = end.status === 'timed_out' ? 'it timed out' : end.status === 'failed' ? 'it failed' : 'it was terminated';
  return end.reason === '' ? `${how}.` : `${how} (${end.reason.replace(/\.$/, '')}).`;
}
