/** A run as people and scripts read it: put together from what the store and the server know. */
import type { Outcome, PreparedCall, ToolCall } from '../contract/call.js';
import type { Effect, EffectState } from '../contract/effect.js';
import type { Failure } from '../contract/failure.js';
import { assertNever, type JsonObject } from '../contract/json.js';
import type { AgentRunResult, RunCounters, RunStatus } from '../contract/run.js';
import { attemptsSeen } from '../contract/seen-requests.js';
import type { LedgerState } from '../contract/ledger.js';
import { callIdOf, keyOf } from '../policy/prepared-call.js';
import { countSteps } from '../policy/resume-run.js';
import type { Intervention, RecordedIntervention } from '../contract/intervention.js';
import type { RecordedCall, TurnUsage } from '../contract/transcript.js';
import type { AttemptRecord, CallRecord, RunRecord, TurnKey } from '../store/records.js';
import type { CallModelResult } from '../contract/activities.js';
import type { PendingWork, ServerRun } from './run-server.js';

/**
 * What a run is doing: how it ended by its own account, `waiting` where the server has it and no worker has taken it
 * up yet, or how somebody else ended it (`terminated`, `timed_out`).
 */
export type RunState = RunStatus | 'waiting' | 'terminated' | 'timed_out';

/** One line of `perdure list`. */
export interface RunSummary {
  id: string;
  runKey: string | undefined;
  task: string;
  state: RunState;
  startedAtMs: number;
  /** Absent while the run goes on. */
  endedAtMs?: number;
  /** Absent while the run goes on, and where somebody else ended it. */
  result?: AgentRunResult;
}

/**
 * `waiting`: asked for and not begun. `running`: a body is under way. `retrying`: its last start failed and another
 * follows. The others are outcomes.
 */
export type CallState = 'waiting' | 'running' | 'retrying' | 'succeeded' | 'partial' | 'failed' | 'aborted' | 'pending';

/** One call with all that the store has of it. */
export interface CallDescription {
  callId: string;
  tool: string;
  /** The arguments, or their beginning where they are kept apart; absent where the model's could not be read. */
  arguments?: JsonObject | string;
  /** The arguments exactly as the model wrote them, where the transcript was read. */
  rawArguments?: string;
  /** What was repaired in them before they could be read; all lossless. */
  repairs?: string[];
  state: CallState;
  /** Starts of the body. */
  starts: number;
  /** When the outcome was stored; absent where there is none in the ledger. */
  endedAtMs?: number;
  /** Attempts that the backend saw in those starts; more than `starts` where a client retries by itself. */
  attemptsSeen?: number;
  /** From the first start to the outcome, waits included. */
  elapsedMs?: number;
  failure?: Failure;
  /** What the model was given, byte for byte. */
  modelSees?: string;
  attempts: AttemptRecord[];
  key: string;
  digest?: string;
  effect?: string;
  ledger?: LedgerState;
  /** What the starts so far may have left behind. */
  effectState?: EffectState;
}

/** One model turn and the calls that it asked for. */
export interface StepDescription {
  step: number;
  /** The model's words, at most 4 KB. */
  text: string;
  /** When the turn's answer was stored. */
  atMs: number;
  /** Transcript node of the model's message; absent for calls of a person's own workflow, which no model asked for. */
  node?: string;
  usage: TurnUsage;
  /** The model's last words when a limit was reached, which are no step of the run. */
  lastWords?: true;
  calls: CallDescription[];
}

/** What a person did to a run by a command of perdure, oldest first. */
export interface InterventionDescription {
  id: string;
  /** `restart`: a reset of the parent started this run, an agent's, again. */
  kind: Intervention['kind'];
  atMs: number;
  by: string;
  note?: string;
  /** Of a retry: how the run had ended, where it had. */
  former?: AgentRunResult;
  /** Of a retry: the model was asked its last question anew. */
  askAgain?: true;
  /** Of a resolution: what became of the call. */
  happened?: boolean;
  /** The calls that it was about, each with the outcome that was taken back, where it had one. */
  calls: { callId: string; key: string; outcome?: Outcome }[];
}

export interface RunDescription extends RunSummary {
  steps: StepDescription[];
  /** Absent where nobody intervened. */
  interventions?: InterventionDescription[];
  /** What the server knows; absent where it was not reached or knows no such run. */
  server?: Pick<ServerRun, 'status' | 'executionId' | 'taskQueue' | 'historyEvents' | 'historyBytes' | 'stuck'> & {
    url?: string;
    pending: PendingWork[];
  };
}

export type StoredTurn = { turn: TurnKey; result: CallModelResult; atMs: number };

/**
 * The run's own word where it has ended, else the server's. A run that goes on in another execution than the one that ended
 * (a reset, a retry) is what the server says of that.
 */
export function runState(
  stored: Pick<RunRecord, 'status' | 'endedBy'> | undefined,
  server: Pick<ServerRun, 'status' | 'executionId'> | undefined,
): RunState {
  const goesOn = stored?.endedBy !== undefined && server !== undefined && server.executionId !== stored.endedBy;
  if (stored && stored.status !== 'running' && !goesOn) return stored.status;
  if (server && server.status !== 'running') return server.status;
  return stored ? 'running' : 'waiting';
}

/** Puts together what store and server know of one run; one of them at least must know it. */
export function summarizeRun(stored: RunRecord | undefined, server: ServerRun | undefined): RunSummary {
  const known = stored ?? server;
  if (known === undefined) throw new TypeError('summarizeRun: neither store nor server knows the run');
  const state = runState(stored, server);
  const hasEnded = stored !== undefined && stored.status !== 'running' && state === stored.status;
  const ended = hasEnded ? stored.updatedAtMs : server?.closedAtMs;
  return {
    id: stored?.workflowId ?? server?.id ?? '',
    runKey: known.runKey,
    task: known.task ?? '',
    state,
    startedAtMs: known.startedAtMs,
    ...(ended !== undefined && { endedAtMs: ended }),
    ...(hasEnded && stored.result && { result: stored.result }),
  };
}

/** Joins store and server by workflow id; newest first. */
export function joinRuns(stored: readonly RunRecord[], onServer: readonly ServerRun[]): RunSummary[] {
  const serverById = new Map(onServer.map((run) => [run.id, run]));
  const storedIds = new Set(stored.map((run) => run.workflowId));
  const joined = stored.map((run) => {
    const server = serverById.get(run.workflowId);
    // A namesake with another runKey is another run: what the server says of it is nothing about this one.
    return summarizeRun(run, server?.runKey === undefined || server.runKey === run.runKey ? server : undefined);
  });
  const waiting = onServer.filter((run) => !storedIds.has(run.id)).map((run) => summarizeRun(undefined, run));
  return [...joined, ...waiting].sort((a, b) => b.startedAtMs - a.startedAtMs);
}

/** What the model wrote, by call id; from the transcript. */
export type WrittenCall = Pick<RecordedCall, 'rawArguments' | 'repairs'>;
export type WrittenCalls = ReadonlyMap<string, WrittenCall>;

export function describeSteps(
  turns: readonly StoredTurn[],
  calls: readonly CallRecord[],
  written: WrittenCalls = new Map(),
): StepDescription[] {
  const records = new Map(calls.map((record) => [record.row.key, record]));
  return turns.map(({ turn, result, atMs }) => ({
    step: turn.step,
    text: result.text,
    atMs,
    node: result.head,
    usage: result.usage,
    ...(result.finalTurn && { lastWords: true as const }),
    calls: result.calls.map((call) => describeCall(call, records.get(keyOf(call)), written.get(callIdOf(call)))),
  }));
}

/** The calls of a person's own workflow (`toolExecutor()`), by the step numbers in their ids. */
export function describeOwnCalls(calls: readonly CallRecord[]): StepDescription[] {
  const steps = new Map<number, StepDescription>();
  for (const record of calls) {
    const { row } = record;
    const number = Number(/^c(\d+)\./.exec(row.callId)?.[1] ?? 0);
    const step = steps.get(number) ?? {
      step: number,
      text: '',
      atMs: row.firstStartAtMs ?? row.updatedAtMs,
      usage: { inputTokens: 0, outputTokens: 0, costUsd: 0 },
      calls: [],
    };
    step.calls.push({ ...recordedPart(row.outcome, record), callId: row.callId, tool: row.tool, key: row.key });
    steps.set(number, step);
  }
  return [...steps.values()].sort((a, b) => a.step - b.step);
}

/** One call from the model's request for it and the store's record, which is absent until something happened. */
export function describeCall(
  call: PreparedCall,
  record: CallRecord | undefined,
  written?: WrittenCall,
): CallDescription {
  const answered = call.status === 'answered' ? call.outcome : undefined;
  const described: CallDescription = {
    callId: callIdOf(call),
    tool: call.status === 'ready' ? call.call.tool : call.outcome.tool,
    ...(call.status === 'ready' && { arguments: shownArguments(call.call) }),
    ...recordedPart(record?.row.outcome ?? answered, record),
    key: keyOf(call),
  };
  return withWritten(described, written);
}

export function withWritten(call: CallDescription, written: WrittenCall | undefined): CallDescription {
  if (!written) return call;
  const { rawArguments, repairs } = written;
  return { ...call, rawArguments, ...(repairs && { repairs }) };
}

function recordedPart(
  outcome: Outcome | undefined,
  record: CallRecord | undefined,
): Omit<CallDescription, 'callId' | 'tool' | 'arguments' | 'key'> {
  const row = record?.row;
  const failure = outcome && 'failure' in outcome ? outcome.failure : undefined;
  return {
    state: outcome?.status ?? stateWithoutOutcome(record),
    starts: row?.starts ?? outcome?.attempts ?? 0,
    ...(row?.outcome && { endedAtMs: row.updatedAtMs }),
    ...(outcome && { elapsedMs: outcome.elapsedMs }),
    ...(failure && { failure }),
    ...(record?.rendered && { modelSees: record.rendered.content }),
    attempts: record?.attempts ?? [],
    ...seenIn(record?.attempts ?? []),
    ...(row && { digest: row.digest, effect: effectWord(row.effect), ledger: row.state }),
    ...effectLeft(failure, row),
  };
}

/** Of a start of which nothing was seen it is taken that it was one attempt. */
function seenIn(attempts: readonly AttemptRecord[]): { attemptsSeen?: number } {
  const seen = attempts.map(({ requests }) => attemptsSeen(requests));
  if (seen.every((count) => count === undefined)) return {};
  return { attemptsSeen: seen.reduce<number>((sum, count) => sum + (count ?? 1), 0) };
}

function effectLeft(failure: Failure | undefined, row: CallRecord['row'] | undefined): { effectState?: EffectState } {
  if (failure) return { effectState: failure.effectState };
  return row && !row.outcome && row.mayHaveHappened ? { effectState: 'unknown' } : {};
}

/** What running a tool twice does, in words. */
export function effectWord(effect: Effect): string {
  if (effect.kind !== 'idempotent') return effect.kind;
  return effect.by === 'key' ? 'idempotent by key' : 'idempotent by nature';
}

function shownArguments(call: ToolCall): JsonObject | string {
  return 'inline' in call.arguments ? call.arguments.inline : call.arguments.preview;
}

function stateWithoutOutcome(record: CallRecord | undefined): CallState {
  if (!record || record.row.starts === 0) return 'waiting';
  return record.row.begun ? 'running' : 'retrying';
}

/** What is told of an intervention: not the state with which the run went on. */
export function describeIntervention(recorded: RecordedIntervention): InterventionDescription {
  const { id, kind, atMs, by, note } = recorded;
  const base = { id, kind, atMs, by, ...(note !== undefined && { note }) };
  switch (recorded.kind) {
    case 'retry': {
      const { former, askAgain, reopened } = recorded;
      return {
        ...base,
        ...(former.result && { former: former.result }),
        ...(askAgain && { askAgain }),
        calls: reopened,
      };
    }
    case 'restart':
      return { ...base, calls: recorded.reopened };
    case 'resolution': {
      const { callId, key, happened, former } = recorded;
      return { ...base, happened, calls: [{ callId, key, ...(former && { outcome: former }) }] };
    }
    default:
      return assertNever(recorded);
  }
}

/** What the steps add up to, for a run that has no result to say so. */
export function countersOf(steps: readonly StepDescription[]): RunCounters {
  const calls = steps.flatMap((step) => step.calls);
  const sum = (pick: (step: StepDescription) => number): number => steps.reduce((all, step) => all + pick(step), 0);
  return {
    steps: countSteps(
      steps.map(({ step, lastWords = false }) => ({ turn: { step }, result: { finalTurn: lastWords } })),
    ),
    calls: calls.length,
    inputTokens: sum((step) => step.usage.inputTokens),
    outputTokens: sum((step) => step.usage.outputTokens),
    costUsd: sum((step) => step.usage.costUsd),
    failures: calls.filter((call) => call.failure !== undefined).length,
  };
}
