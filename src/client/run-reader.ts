import type { FailureClass } from '../contract/failure.js';
import type { AgentRunResult } from '../contract/run.js';
import { taskQueueFor } from '../contract/task-queue.js';
import type { RecordedCall, TranscriptMessage } from '../contract/transcript.js';
import type { Redactor } from '../policy/redaction.js';
import type { RunRecord } from '../store/records.js';
import type { Store } from '../store/store.js';
import { PerdureError } from './perdure-error.js';
import { resolveRun } from './resolve-run.js';
import {
  type CallDescription,
  describeIntervention,
  joinRuns,
  type RunDescription,
  type RunState,
  runState,
  type RunSummary,
  summarizeRun,
  withWritten,
} from './run-description.js';
import { callsIn, RunSteps } from './run-steps.js';
import type { RunServer, ServerRun } from './run-server.js';

/** How many of the newest runs are looked at for a list, or for what a mistyped id could have meant. */
const LISTED_RUNS = 1_000;
/** Calls that are read at once for a list. */
const PAGE_CALLS = 500;
/** How many runs a list asks the server for one by one; more of them are shown as the store last knew them. */
const ASKED_SINGLY = 50;

/** Which runs are listed. Default: the newest. */
export interface ListOptions {
  state?: RunState;
  /** Only runs that called this tool. With `failureClass`: in which a call of it failed so. */
  tool?: string;
  /** Only runs in which a call failed with this class, also where a retry took that back or somebody settled it. */
  failureClass?: FailureClass;
  /** Only runs that started at this time or later, epoch milliseconds. */
  startedSinceMs?: number;
  /** Only runs that started before this time, epoch milliseconds. */
  startedBeforeMs?: number;
  /** Default 1,000. */
  limit?: number;
}

/** A server that was looked for in vain. */
export interface UnansweredServer {
  /** Its address, and where that is from if somebody chose it. */
  at: string;
  advice: string;
}

/** What the client is made of. */
export interface PerdureParts {
  store: Store;
  /** Absent where no server was found: what the store has can still be shown. */
  server: RunServer | undefined;
  /** Without a server: where it was looked for, and what to do about that, for people. */
  unanswered?: UnansweredServer;
  /** Masks what is exported. Default: what looks like a secret by itself. */
  redactor?: Redactor;
  /** The configuration's model, where its prices are not known: a limit in dollars could never act on it. */
  modelWithoutPrices?: string;
}

/** Which run is meant: its name for people and its identity. */
interface NamedRun {
  runId: string;
  runKey: string | undefined;
}

/** One message of a run's conversation, as the model saw it. */
export interface TranscriptEntry {
  /** Node of the transcript. */
  node: string;
  /** The model turn that the message came from or answers; absent before the first. */
  step?: number;
  message: TranscriptMessage;
}

function isWanted(run: RunSummary, { state, startedSinceMs, startedBeforeMs }: ListOptions): boolean {
  if (state !== undefined && run.state !== state) return false;
  if (startedSinceMs !== undefined && run.startedAtMs < startedSinceMs) return false;
  return startedBeforeMs === undefined || run.startedAtMs < startedBeforeMs;
}

/** Reads runs from the store and, where there is one, the server. Changes nothing. */
export class RunReader {
  readonly #store: Store;
  readonly #server: RunServer | undefined;
  readonly #taskQueue: string;

  constructor(parts: PerdureParts) {
    this.#store = parts.store;
    this.#server = parts.server;
    this.#taskQueue = taskQueueFor(parts.store.storeId);
  }

  /** The newest run first. */
  async list(options: ListOptions = {}): Promise<RunSummary[]> {
    const { limit = LISTED_RUNS, ...filter } = options;
    const isFiltered = Object.values(filter).some((value) => value !== undefined);
    // A state may be known from the server alone, so the store cannot choose by it.
    const stored = await this.#store.listRuns({ limit: isFiltered ? LISTED_RUNS : limit });
    const [onServer, called] = await Promise.all([this.#onServer(stored), this.#runsWithCall(filter)]);
    return joinRuns(stored, onServer)
      .filter((run) => isWanted(run, filter) && (!called || (run.runKey !== undefined && called.has(run.runKey))))
      .slice(0, limit);
  }

  /** Keys of the runs with a call as wanted; `undefined` where none is. Reads the store's calls page by page. */
  async #runsWithCall(filter: ListOptions): Promise<Set<string> | undefined> {
    const { tool, failureClass, startedSinceMs = 0 } = filter;
    if (tool === undefined && failureClass === undefined) return undefined;
    const found = new Set<string>();
    for (let after: number | undefined = 0; after !== undefined;) {
      const page: Awaited<ReturnType<Store['listCallsSince']>> = await this.#store.listCallsSince({
        // A run's calls come after its start.
        sinceMs: startedSinceMs,
        after,
        limit: PAGE_CALLS,
      });
      for (const { row } of page.calls) {
        if (tool !== undefined && row.tool !== tool) continue;
        const failure = row.outcome && 'failure' in row.outcome ? row.outcome.failure.class : undefined;
        if (failureClass === undefined || failure === failureClass) found.add(row.runKey);
      }
      after = page.next;
    }
    if (failureClass === undefined) return found;
    for (const { runKey, outcome } of await this.#store.listTakenBack({ sinceMs: startedSinceMs })) {
      if (tool !== undefined && outcome.tool !== tool) continue;
      if ('failure' in outcome && outcome.failure.class === failureClass) found.add(runKey);
    }
    return found;
  }

  /** The agent's runs on the server, and those of people's own workflows that the store takes for running. */
  async #onServer(stored: readonly RunRecord[]): Promise<ServerRun[]> {
    const server = this.#server;
    if (!server) return [];
    const listed = await server.list({ taskQueue: this.#taskQueue, limit: LISTED_RUNS });
    const known = new Set(listed.map((run) => run.id));
    const unlisted = stored.filter((run) => run.status === 'running' && !known.has(run.workflowId));
    const asked = unlisted.slice(0, ASKED_SINGLY).map((run) => server.describe(run.workflowId));
    return [...listed, ...(await Promise.all(asked)).filter((run) => run !== undefined)];
  }

  /** See `Perdure.get`. */
  async find(idOrPrefix: string): Promise<{ id: string; runKey: string | undefined }> {
    const exact = await this.storedRun(idOrPrefix);
    if (exact) return { id: exact.workflowId, runKey: exact.runKey };
    const named = await this.#store.listRuns({ workflowIdPrefix: idOrPrefix, limit: LISTED_RUNS });
    const candidates = joinRuns(named, await this.#onServer(named));
    const isNamed = candidates.some((run) => run.id.startsWith(idOrPrefix));
    // The others are only looked at for what could have been meant.
    return resolveRun(idOrPrefix, isNamed ? candidates : await this.list());
  }

  async describe(run: NamedRun): Promise<RunDescription> {
    return await this.#describe(run, (stored) => this.stepsOf(stored));
  }

  async #describe(
    run: NamedRun,
    stepsOf: (stored: RunRecord) => Promise<RunDescription['steps']>,
  ): Promise<RunDescription> {
    const [stored, server] = await Promise.all([this.recordOf(run), this.#server?.describe(run.runId)]);
    if (!stored && !server) {
      throw new PerdureError('run_not_found', `There is no run "${run.runId}".`, {
        next: 'See which there are: perdure list',
      });
    }
    const summary = summarizeRun(stored, server);
    const interventions = stored ? await this.#store.listInterventions(stored.runKey) : [];
    return {
      ...summary,
      ...(summary.result && { result: await this.withWholeAnswer(summary.result, run) }),
      steps: stored ? await stepsOf(stored) : [],
      ...(interventions.length > 0 && { interventions: interventions.map(describeIntervention) }),
      ...(server && { server: this.#serverPart(server) }),
    };
  }

  async stepsOf(run: RunRecord): Promise<RunDescription['steps']> {
    return await new RunSteps(this.#store, run.runKey).upTo(run.head);
  }

  /** Looks at one run again and again: each look reads what has changed since the last one, whatever the run's length. */
  follow(run: NamedRun): { look(): Promise<RunDescription> } {
    const steps = run.runKey === undefined ? undefined : new RunSteps(this.#store, run.runKey);
    return { look: () => this.#describe(run, (stored) => steps?.upTo(stored.head) ?? Promise.resolve([])) };
  }

  /** The calls of an assistant's message, exactly as the model wrote them. */
  async #callsIn(node: string): Promise<RecordedCall[]> {
    return await callsIn(this.#store, node);
  }

  /** Everything about one call, its arguments as the model wrote them included. `undefined` where the run has none. */
  async describeCall(run: NamedRun, callId: string): Promise<CallDescription | undefined> {
    const stored = await this.recordOf(run);
    if (!stored) return undefined;
    const steps = await this.stepsOf(stored);
    const call = steps.flatMap((step) => step.calls).find((one) => one.callId === callId);
    const node = steps.find((step) => step.calls.some((one) => one.callId === callId))?.node;
    if (!call || node === undefined) return call;
    const written = (await this.#callsIn(node)).find((one) => one.callId === callId);
    return withWritten(call, written);
  }

  async transcript(run: NamedRun): Promise<TranscriptEntry[]> {
    const stored = await this.recordOf(run);
    if (!stored || stored.head === '') return [];
    const [chain, turns] = await Promise.all([this.#store.getChain(stored.head), this.#store.listTurns(stored.runKey)]);
    const stepByNode = new Map(turns.map(({ turn, result }) => [result.head, turn.step]));
    let step: number | undefined;
    return chain.map(({ id, message }) => {
      // What stands between two turns answers the first of them.
      step = stepByNode.get(id) ?? step;
      return { node: id, ...(step !== undefined && { step }), message };
    });
  }

  #serverPart(server: ServerRun): NonNullable<RunDescription['server']> {
    const url = this.#server?.runUrl(server.id);
    const { status, executionId, taskQueue, historyEvents, historyBytes, pending = [], stuck } = server;
    return {
      status,
      executionId,
      taskQueue,
      historyEvents,
      ...(historyBytes !== undefined && { historyBytes }),
      ...(url !== undefined && { url }),
      pending,
      ...(stuck && { stuck }),
    };
  }

  /** A history holds 4 KB of an answer at most; the transcript holds it all. */
  async withWholeAnswer(result: AgentRunResult, run: NamedRun): Promise<AgentRunResult> {
    if (result.answer === '') return result;
    const stored = await this.recordOf(run);
    const message = stored && (await this.#store.getNode(stored.head))?.message;
    return message?.role === 'assistant' && message.text !== '' ? { ...result, answer: message.text } : result;
  }

  /** The run's record where it has ended: one that goes on in another execution has not. */
  async endedRecord(run: NamedRun): Promise<RunRecord | undefined> {
    const stored = await this.recordOf(run);
    if (!stored || stored.status === 'running') return undefined;
    const server = await this.#server?.describe(run.runId);
    return runState(stored, server) === stored.status ? stored : undefined;
  }

  async recordOf(run: NamedRun): Promise<RunRecord | undefined> {
    return run.runKey === undefined ? undefined : await this.#store.getRun(run.runKey);
  }

  /** The run of exactly that workflow id. */
  async storedRun(id: string): Promise<RunRecord | undefined> {
    const [run] = await this.#store.listRuns({ workflowId: id, limit: 1 });
    return run;
  }
}
