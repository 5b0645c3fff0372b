/**
 * Where a run that ended badly goes on: after its last good model turn, with that turn's calls. Everything is read from what
 * the store holds, so it works after a termination and after the server has forgotten the run. Pure.
 */
import type { CallModelResult } from '../contract/activities.js';
import type { Outcome, PreparedCall, ToolCall } from '../contract/call.js';
import type { Effect } from '../contract/effect.js';
import type { FailureClass } from '../contract/failure.js';
import type { ResumedCall } from '../contract/intervention.js';
import type { RunStatus } from '../contract/run.js';
import type { LedgerCall, LedgerRow } from '../contract/ledger.js';
import { isUnresolved, reopenedRow } from './ledger.js';
import { callIdOf, keyOf } from './prepared-call.js';

/** A committed model turn. */
export interface AnsweredTurn {
  turn: { step: number; head: string; take: number };
  result: CallModelResult;
}

/**
 * Whether a person may have cured what a call failed of: a tool's code, a credential, a quota, a backend, a limit. The others
 * are answers: about the arguments, or the backend's or a person's own decision. The unchanged call would get them again.
 */
const curable: Record<FailureClass, boolean> = {
  validation_error: false,
  unknown_tool: false,
  input_too_large: false,
  not_found: false,
  auth_failed: true,
  permission_denied: true,
  business_rule_violation: false,
  quota_exhausted: true,
  unsupported: false,
  rate_limit: true,
  network_error: true,
  external_service_unavailable: true,
  timeout: true,
  server_error: true,
  protocol_error: true,
  session_expired: true,
  conflict_in_progress: true,
  idempotency_mismatch: false,
  misconfigured: true,
  tool_error: true,
  tool_bug: true,
  output_invalid: true,
  output_too_large: true,
  outcome_unknown: false,
  security_violation: false,
  approval_denied: false,
  approval_expired: false,
  tool_temporarily_disabled: true,
  repeated_call_blocked: false,
  budget_exhausted: true,
  cancelled: true,
  skipped: true,
};

export function isCurable(failureClass: FailureClass): boolean {
  return curable[failureClass];
}

/** A call that gets its attempts anew, and the outcome that is taken back where it had one. */
export interface ReopenedCall {
  key: string;
  call: LedgerCall;
  outcome?: Outcome;
  /** The row's `updatedAtMs` as it was looked at. */
  asOfMs: number;
}

export interface ResumePlan {
  /** Node after which the conversation goes on; `''` where it is the run's first message. */
  head: string;
  /** The calls that belong to `head`'s turn, in the model's order; absent where the model is asked first. */
  calls?: ResumedCall[];
  /** The model had given its answer. */
  answer?: string;
  nextTurn?: { step: number; take: number };
  /** Model turns so far that count as steps. */
  steps: number;
  reopened: ReopenedCall[];
  /** Calls that are not run again because nobody knows whether they happened. A person may say it. */
  unresolved: LedgerRow[];
  /** Calls of the turn that is set aside (`askAgain`) whose effects are done. */
  setAside: LedgerRow[];
  /** Calls of that turn of which nobody knows whether they happened: until a person says it, it cannot be set aside. */
  undecided: LedgerRow[];
}

export interface ResumeQuestion {
  run: { head: string; status: RunStatus };
  /** All committed turns of the run, oldest first. */
  turns: readonly AnsweredTurn[];
  rows: ReadonlyMap<string, LedgerRow>;
  /** The tool's effect (`ledgerEffect`) as the run goes on with it; `undefined` where it has none of that name. */
  effectOf(tool: string): Effect | undefined;
  /** Whether it is an agent, whose calls are reads to the ledger and may have done anything. */
  isAgent(tool: string): boolean;
  askAgain: boolean;
  nowMs: number;
}

/**
 * How many steps the turns are: each turn is one, the one with the answer too, but for the last words that a model has when a
 * limit is reached. A turn that was set aside and asked anew is the same step.
 */
export function countSteps(turns: readonly { turn: { step: number }; result: { finalTurn?: boolean } }[]): number {
  return turns.reduce((most, { turn, result }) => (result.finalTurn ? most : Math.max(most, turn.step)), 0);
}

/** What a run goes on with. Where the model never answered, it is asked its first question. */
export function planResume(question: ResumeQuestion): ResumePlan {
  const { run, turns, askAgain } = question;
  const path = turnsOf(run.head, turns);
  const dropped = dropUnusable(path, run.status);
  const again = askAgain ? path.pop() : undefined;
  if (again) dropped.unshift(again);
  const last = path.at(-1);
  const head = last?.result.head ?? dropped[0]?.turn.head ?? run.head;
  const step = last ? resumeCalls(last.result.calls, question) : { calls: [], reopened: [], unresolved: [] };
  const isAnswer = last !== undefined && last.result.calls.length === 0;
  return {
    head,
    ...(last && !isAnswer ? { calls: step.calls } : {}),
    ...(isAnswer ? { answer: last.result.text } : {}),
    ...(again ? { nextTurn: { step: again.turn.step, take: nextTake(again, turns) } } : {}),
    steps: countSteps(turns),
    // The model may ask for the same calls again: under the same key, a failure that is cured must not be its answer.
    reopened: [
      ...step.reopened,
      ...dropped.flatMap(({ result }) => result.calls.flatMap((call) => reopenedCall(call, question) ?? [])),
    ],
    unresolved: step.unresolved,
    setAside: again ? rowsOf(again, question).filter((row) => isDone(row, question.isAgent(row.tool))) : [],
    undecided: again ? rowsOf(again, question).filter(isUnresolved) : [],
  };
}

/**
 * The calls that run again where a reset of its parent cancelled an agent's run and started it anew: what was stopped in its
 * last turn, and may safely start. No model turn has been shown those outcomes, because none followed.
 */
export function planRestart(question: Omit<ResumeQuestion, 'askAgain' | 'isAgent'>): ReopenedCall[] {
  const last = turnsOf(question.run.head, question.turns).at(-1);
  if (!last) return [];
  const { reopened } = resumeCalls(last.result.calls, question);
  return reopened.filter(({ outcome }) => outcome && 'failure' in outcome && outcome.failure.class === 'cancelled');
}

/**
 * The turns that the conversation up to `head` is made of, first to last. Turns that a reset left behind are not on the way
 * from `head` to the root and drop out.
 */
export function turnsOf<T extends AnsweredTurn>(head: string, turns: readonly T[]): T[] {
  const byResult = new Map(turns.map((turn) => [turn.result.head, turn]));
  const path: T[] = [];
  let at = byResult.get(head);
  while (at !== undefined) {
    path.push(at);
    // Taken out, so that a store that was tampered with cannot make this go round for ever.
    byResult.delete(at.result.head);
    at = byResult.get(at.turn.head);
  }
  return path.reverse();
}

/** Takes off the end of the path what is no good turn: the last words at a cap, empty turns, a call that was written as text. */
function dropUnusable(path: AnsweredTurn[], status: RunStatus): AnsweredTurn[] {
  const dropped: AnsweredTurn[] = [];
  for (let last = path.at(-1); last; last = path.at(-1)) {
    // Turns of older versions do not say that they were the last one.
    const isFinal = last.result.finalTurn === true || (status === 'capped' && dropped.length === 0);
    const isUnusable = last.result.empty || (last.result.textualCall === true && last.turn.take === 0);
    if (!isFinal && !isUnusable) break;
    path.pop();
    dropped.unshift(last);
  }
  return dropped;
}

function nextTake(again: AnsweredTurn, turns: readonly AnsweredTurn[]): number {
  const takes = turns.filter(({ turn }) => turn.step === again.turn.step).map(({ turn }) => turn.take);
  return Math.max(...takes) + 1;
}

function resumeCalls(
  calls: readonly PreparedCall[],
  question: Pick<ResumeQuestion, 'rows' | 'effectOf' | 'nowMs'>,
): { calls: ResumedCall[]; reopened: ReopenedCall[]; unresolved: LedgerRow[] } {
  const reopened: ReopenedCall[] = [];
  const unresolved: LedgerRow[] = [];
  let unknownBefore = false;
  const resumed = calls.map((prepared): ResumedCall => {
    const key = keyOf(prepared);
    const row = question.rows.get(key);
    const settled: ResumedCall = { status: 'settled', callId: callIdOf(prepared), key };
    if (prepared.status === 'answered') return settled;
    const { call } = prepared;
    const isOnce = (question.effectOf(call.tool)?.kind ?? 'once') === 'once';
    // The step's later `once` calls may rest on the one of which nobody knows whether it happened.
    if (unknownBefore && isOnce && (row?.starts ?? 0) === 0) {
      return row?.outcome ? settled : { status: 'skipped', call };
    }
    const again = reopenedCall(prepared, question);
    if (again) reopened.push(again);
    if (again || !row?.outcome) return { status: 'open', call };
    if (isUnresolved(row)) {
      unresolved.push(row);
      if (isOnce) unknownBefore = true;
    }
    return settled;
  });
  return { calls: resumed, reopened, unresolved };
}

/** The call as it is reopened; `undefined` where it has no row, or keeps its outcome. */
function reopenedCall(
  prepared: PreparedCall,
  question: Pick<ResumeQuestion, 'rows' | 'effectOf' | 'nowMs'>,
): ReopenedCall | undefined {
  if (prepared.status !== 'ready') return undefined;
  const { call } = prepared;
  const row = question.rows.get(call.key);
  if (!row) return undefined;
  const { outcome } = row;
  if (outcome && !('failure' in outcome && isCurable(outcome.failure.class))) return undefined;
  const now = ledgerCallOf(call, question.effectOf(call.tool) ?? row.effect);
  if (!reopenedRow(row, now, question.nowMs)) return undefined;
  return { key: call.key, call: now, ...(outcome ? { outcome } : {}), asOfMs: row.updatedAtMs };
}

function ledgerCallOf({ runKey, callId, tool, digest }: ToolCall, effect: Effect): LedgerCall {
  return { runKey, callId, tool, digest, effect };
}

function rowsOf({ result }: AnsweredTurn, { rows }: ResumeQuestion): LedgerRow[] {
  return result.calls.flatMap((call) => rows.get(keyOf(call)) ?? []);
}

/** Also where the call failed after it: an answer that breaks its schema tells of what was done all the same. */
function isDone({ effect, outcome }: LedgerRow, isAgent: boolean): boolean {
  if (!outcome || (effect.kind === 'read' && !isAgent)) return false;
  if ('failure' in outcome) return outcome.failure.effectState === 'done';
  return outcome.status === 'succeeded' || outcome.status === 'partial';
}
