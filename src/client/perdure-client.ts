import { randomUUID } from 'node:crypto';
import type { AgentRunInput, AgentRunResult, RunCounters, RunLimits, RunStatus } from '../contract/run.js';
import { taskQueueFor } from '../contract/task-queue.js';
import type { RecordedCall } from '../contract/transcript.js';
import type { RunRecord, Store } from '../store/store.js';
import { PerdureError } from './perdure-error.js';
import { resolveRun } from './resolve-run.js';
import { RunHandle } from './run-handle.js';
import { checkRunId, makeRunId } from './run-id.js';
import {
  type CallDescription,
  describeOwnCalls,
  describeSteps,
  joinRuns,
  type RunDescription,
  type RunState,
  type RunSummary,
  type StoredTurn,
  summarizeRun,
  turnsOf,
  withWritten,
  type WrittenCalls,
} from './run-description.js';
import type { RunServer, ServerRun } from './run-server.js';

/** How many of the newest runs are looked at for a list, or for what a mistyped id could have meant. */
const LISTED_RUNS = 1_000;
/** How many runs a list asks the server for one by one; more of them are shown as the store last knew them. */
const ASKED_SINGLY = 50;

export interface StartOptions {
  /** The run's name: its workflow id. Default `run-` and six random characters. A name is used once. */
  id?: string;
  /** Limits instead of the configuration's, cap by cap. */
  limits?: Partial<RunLimits>;
  /** Model instead of the configuration's, `provider:model`. */
  model?: string;
}

export interface ListOptions {
  state?: RunState;
  /** Default 1,000. */
  limit?: number;
}

/** What the client is made of. */
export interface PerdureParts {
  store: Store;
  /** Absent where no server was found: what the store has can still be shown. */
  server: RunServer | undefined;
}

/**
 * Starts runs and looks after them. Executes no tools: that is the workers' part. Every method rejects with a
 * `PerdureError` that says what to do, or a `StoreError`.
 */
export class Perdure {
  readonly taskQueue: string;
  readonly #store: Store;
  readonly #server: RunServer | undefined;

  constructor(parts: PerdureParts) {
    this.#store = parts.store;
    this.#server = parts.server;
    this.taskQueue = taskQueueFor(parts.store.storeId);
  }

  /**
   * Starts a run of the agent on `task` and returns as soon as the server has it; a worker takes it up when there is
   * one. Rejects with `run_exists` where the id was used before, `usage` where task or options cannot be meant.
   */
  async start(task: string, options: StartOptions = {}): Promise<RunHandle> {
    refuseCron(options);
    if (task.trim() === '') {
      throw new PerdureError('usage', 'The task is empty.', { next: 'perdure run "what the agent is to do"' });
    }
    const runId = options.id === undefined ? makeRunId(Math.random) : checkRunId(options.id);
    await this.#refuseUsedId(runId);
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

  /** The server forgets closed runs after its retention; the store does not. */
  async #refuseUsedId(id: string): Promise<void> {
    const stored = await this.#storedRun(id);
    if (!stored) return;
    throw new PerdureError('run_exists', `A run with the id "${id}" exists already (${stored.status}).`, {
      next: `Look at it with: perdure show ${id} - or give another --id.`,
    });
  }

  /** The newest run first. */
  async list(options: ListOptions = {}): Promise<RunSummary[]> {
    const limit = options.limit ?? LISTED_RUNS;
    // A state may be known from the server alone, so the store cannot choose by it.
    const stored = await this.#store.listRuns({ limit: options.state === undefined ? limit : LISTED_RUNS });
    const runs = joinRuns(stored, await this.#onServer(stored));
    return runs.filter((run) => options.state === undefined || run.state === options.state).slice(0, limit);
  }

  /** The agent's runs on the server, and those of people's own workflows that the store takes for running. */
  async #onServer(stored: readonly RunRecord[]): Promise<ServerRun[]> {
    const server = this.#server;
    if (!server) return [];
    const listed = await server.list({ taskQueue: this.taskQueue, limit: LISTED_RUNS });
    const known = new Set(listed.map((run) => run.id));
    const unlisted = stored.filter((run) => run.status === 'running' && !known.has(run.workflowId));
    const asked = unlisted.slice(0, ASKED_SINGLY).map((run) => server.describe(run.workflowId));
    return [...listed, ...(await Promise.all(asked)).filter((run) => run !== undefined)];
  }

  /**
   * The run of that id, or the only one whose id begins so. Rejects with `run_not_found` or `ambiguous_run`, each
   * naming what could have been meant.
   */
  async get(idOrPrefix: string): Promise<RunHandle> {
    const exact = await this.#storedRun(idOrPrefix);
    if (exact) return new RunHandle(this, { runId: exact.workflowId, runKey: exact.runKey });
    const named = await this.#store.listRuns({ workflowIdPrefix: idOrPrefix, limit: LISTED_RUNS });
    const candidates = joinRuns(named, await this.#onServer(named));
    const isNamed = candidates.some((run) => run.id.startsWith(idOrPrefix));
    // The others are only looked at for what could have been meant.
    const run = resolveRun(idOrPrefix, isNamed ? candidates : await this.list());
    return new RunHandle(this, { runId: run.id, runKey: run.runKey });
  }

  async describe(run: RunHandle): Promise<RunDescription> {
    const [stored, server] = await Promise.all([this.#recordOf(run), this.#server?.describe(run.runId)]);
    if (!stored && !server) {
      throw new PerdureError('run_not_found', `There is no run "${run.runId}".`, { next: 'perdure list' });
    }
    const summary = summarizeRun(stored, server);
    return {
      ...summary,
      ...(summary.result && { result: await this.#withWholeAnswer(summary.result, run) }),
      steps: stored ? await this.#stepsOf(stored) : [],
      ...(server && { server: this.#serverPart(server) }),
    };
  }

  async #stepsOf(run: RunRecord): Promise<RunDescription['steps']> {
    const [turns, calls] = await Promise.all([this.#store.listTurns(run.runKey), this.#store.listCalls(run.runKey)]);
    if (run.head === '') return describeOwnCalls(calls);
    const path = turnsOf(run.head, turns);
    return describeSteps(path, calls, await this.#unreadableCalls(path));
  }

  /** What the model wrote where it could not be read as arguments; the others have theirs in the turn already. */
  async #unreadableCalls(turns: readonly StoredTurn[]): Promise<WrittenCalls> {
    const written = new Map<string, RecordedCall>();
    for (const { result } of turns) {
      if (result.calls.every((call) => call.status === 'ready')) continue;
      for (const call of await this.#callsIn(result.head)) written.set(call.callId, call);
    }
    return written;
  }

  /** The calls of an assistant's message, exactly as the model wrote them. */
  async #callsIn(node: string): Promise<RecordedCall[]> {
    const message = (await this.#store.getNode(node))?.message;
    return message?.role === 'assistant' ? message.calls : [];
  }

  /** Everything about one call, its arguments as the model wrote them included. `undefined` where the run has none. */
  async describeCall(run: RunHandle, callId: string): Promise<CallDescription | undefined> {
    const stored = await this.#recordOf(run);
    if (!stored) return undefined;
    const steps = await this.#stepsOf(stored);
    const call = steps.flatMap((step) => step.calls).find((one) => one.callId === callId);
    const node = steps.find((step) => step.calls.some((one) => one.callId === callId))?.node;
    if (!call || node === undefined) return call;
    const written = (await this.#callsIn(node)).find((one) => one.callId === callId);
    return withWritten(call, written);
  }

  #serverPart(server: ServerRun): NonNullable<RunDescription['server']> {
    const url = this.#connected().runUrl(server.id);
    const { status, executionId, taskQueue, historyEvents, historyBytes, pending = [] } = server;
    return {
      status,
      executionId,
      taskQueue,
      historyEvents,
      ...(historyBytes !== undefined && { historyBytes }),
      ...(url !== undefined && { url }),
      pending,
    };
  }

  /** See `RunHandle.result`. */
  async waitForResult(run: RunHandle): Promise<AgentRunResult> {
    const ended = (await this.#recordOf(run))?.result;
    if (ended) return await this.#withWholeAnswer(ended, run);
    const end = await this.#connected().waitForEnd(run.runId);
    if (end.status === 'reported') return await this.#withWholeAnswer(end.result, run);
    const stored = await this.#recordOf(run);
    if (stored?.result) return await this.#withWholeAnswer(stored.result, run);
    if (end.status === 'cancelled') return await this.#cancelledResult(stored);
    throw new PerdureError('no_result', `The run ${run.runId} ended without a result: ${endWords(end)}`, {
      next: `perdure show ${run.runId}`,
    });
  }

  /** A history holds 4 KB of an answer at most; the transcript holds it all. */
  async #withWholeAnswer(result: AgentRunResult, run: RunHandle): Promise<AgentRunResult> {
    if (result.answer === '') return result;
    const stored = await this.#recordOf(run);
    const message = stored && (await this.#store.getNode(stored.head))?.message;
    return message?.role === 'assistant' && message.text !== '' ? { ...result, answer: message.text } : result;
  }

  /** A run that was cancelled before a worker could write its end. */
  async #cancelledResult(stored: RunRecord | undefined): Promise<AgentRunResult> {
    const summary = 'The run was cancelled.';
    const counters = countersOf(stored ? await this.#stepsOf(stored) : []);
    return { status: 'cancelled', answer: '', termination: { reason: 'cancelled', summary }, counters };
  }

  /** See `RunHandle.cancel`. */
  async cancel(run: RunHandle): Promise<void> {
    const stored = await this.#recordOf(run);
    if (stored && stored.status !== 'running') {
      throw new PerdureError('run_not_found', `The run ${run.runId} has ended already (${stored.status}).`, {
        next: `perdure show ${run.runId}`,
      });
    }
    await this.#connected().cancel(run.runId);
  }

  /** Link to the run in the Temporal UI, where its address is known. */
  runUrl(run: RunHandle): string | undefined {
    return this.#server?.runUrl(run.runId);
  }

  /** Whether somebody is there to take up this store's runs. */
  async hasWorker(): Promise<boolean> {
    return await this.#connected().hasWorker(this.taskQueue);
  }

  async close(): Promise<void> {
    await Promise.all([this.#store.close(), this.#server?.close()]);
  }

  #connected(): RunServer {
    if (this.#server) return this.#server;
    throw new PerdureError('server_unreachable', 'There is no Temporal server.', {
      next: 'Start the embedded one with: perdure dev - or point TEMPORAL_ADDRESS to yours.',
    });
  }

  async #recordOf(run: RunHandle): Promise<RunRecord | undefined> {
    return run.runKey === undefined ? undefined : await this.#store.getRun(run.runKey);
  }

  async #storedRun(id: string): Promise<RunRecord | undefined> {
    const named = await this.#store.listRuns({ workflowIdPrefix: id, limit: LISTED_RUNS });
    return named.find((run) => run.workflowId === id);
  }
}

/** Temporal's cron would start runs that share their first run id and overlap in the store. */
function refuseCron(options: StartOptions): void {
  const asked = Object.keys(options).find((name) => name.toLowerCase().startsWith('cron'));
  if (asked === undefined) return;
  throw new PerdureError('usage', `${asked}: a run has no cron schedule.`, {
    next: 'Use a Temporal Schedule that starts agentRun: https://docs.temporal.io/schedule',
  });
}

function endWords(end: { status: RunStatus | 'terminated' | 'timed_out'; reason: string }): string {
  const how = end.status === 'timed_out' ? 'it timed out' : end.status === 'failed' ? 'it failed' : 'it was terminated';
  return end.reason === '' ? `${how}.` : `${how} (${end.reason.replace(/\.$/, '')}).`;
}

function countersOf(steps: RunDescription['steps']): RunCounters {
  const calls = steps.flatMap((step) => step.calls);
  const sum = (pick: (step: RunDescription['steps'][number]) => number): number =>
    steps.reduce((all, step) => all + pick(step), 0);
  return {
    steps: steps.length,
    calls: calls.length,
    inputTokens: sum((step) => step.usage.inputTokens),
    outputTokens: sum((step) => step.usage.outputTokens),
    costUsd: sum((step) => step.usage.costUsd),
    failures: calls.filter((call) => call.failure !== undefined).length,
  };
}
