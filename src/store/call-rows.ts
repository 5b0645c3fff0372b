/** Calls and their attempts as rows: what the tables of every kind of store hold of them, and what that means. */
import type { Outcome } from '../contract/call.js';
import type { Effect } from '../contract/effect.js';
import type { FailureClass } from '../contract/failure.js';
import type { JsonObject } from '../contract/json.js';
import type { SeenRequests } from '../contract/seen-requests.js';
import type { LedgerCall, LedgerEvent, LedgerRow, LedgerState, LedgerVerdict } from '../contract/ledger.js';
import type { AttemptRecord, CallRecord, LedgerRendering, RecordedOutcome, RenderedMessage } from './records.js';
import { StoreError } from './store-error.js';

export interface CallRow {
  key: string;
  run_key: string;
  call_id: string;
  tool: string;
  digest: string;
  effect: string;
  state: LedgerState;
  token: string | null;
  lease_until_ms: number;
  /** 1 or 0 in SQLite, which has no truth values. */
  begun: number | boolean;
  starts: number;
  starts_before: number;
  spent_ms: number;
  may_have_happened: number | boolean;
  first_start_at_ms: number | null;
  begun_at_ms: number | null;
  outcome: string | null;
  rendered: string | null;
  updated_at_ms: number;
}

/** A call with its place in the order of first writing. */
export interface PagedCallRow extends CallRow {
  ordinal: number;
}

export interface AttemptRow {
  key: string;
  start: number;
  worker: string;
  started_at_ms: number;
  ended_at_ms: number | null;
  failure: string | null;
  requests: string | null;
}

export function readCall(row: CallRow): LedgerRow {
  return {
    key: row.key,
    runKey: row.run_key,
    callId: row.call_id,
    tool: row.tool,
    digest: row.digest,
    effect: JSON.parse(row.effect) as Effect,
    state: row.state,
    ...(row.token !== null && { token: row.token }),
    leaseUntilMs: row.lease_until_ms,
    begun: Boolean(row.begun),
    starts: row.starts,
    ...(row.starts_before > 0 && { startsBefore: row.starts_before }),
    spentMs: row.spent_ms,
    mayHaveHappened: Boolean(row.may_have_happened),
    ...(row.first_start_at_ms !== null && { firstStartAtMs: row.first_start_at_ms }),
    ...(row.begun_at_ms !== null && { begunAtMs: row.begun_at_ms }),
    ...(row.outcome !== null && { outcome: JSON.parse(row.outcome) as Outcome }),
    updatedAtMs: row.updated_at_ms,
  };
}

/** The row of a call, with the message that the same write stores beside its outcome. */
export function callRow(row: LedgerRow, rendered: RenderedMessage | undefined) {
  return {
    key: row.key,
    run_key: row.runKey,
    call_id: row.callId,
    tool: row.tool,
    digest: row.digest,
    effect: JSON.stringify(row.effect),
    state: row.state,
    token: row.token ?? null,
    lease_until_ms: row.leaseUntilMs,
    begun: row.begun ? 1 : 0,
    starts: row.starts,
    starts_before: row.startsBefore ?? 0,
    spent_ms: row.spentMs,
    may_have_happened: row.mayHaveHappened ? 1 : 0,
    first_start_at_ms: row.firstStartAtMs ?? null,
    begun_at_ms: row.begunAtMs ?? null,
    outcome: row.outcome ? JSON.stringify(row.outcome) : null,
    rendered: rendered ? JSON.stringify(rendered) : null,
    updated_at_ms: row.updatedAtMs,
  } satisfies CallRow;
}

/** What never changes once a call has its row. */
const FIXED_COLUMNS: readonly string[] = ['key', 'run_key', 'call_id', 'tool'];

export const CALL_COLUMNS = [
  ...FIXED_COLUMNS,
  ...['digest', 'effect', 'state', 'token', 'lease_until_ms', 'begun', 'starts', 'starts_before', 'spent_ms'],
  ...['may_have_happened', 'first_start_at_ms', 'begun_at_ms', 'outcome', 'rendered', 'updated_at_ms'],
] as readonly (keyof CallRow)[];

export const CHANGING_CALL_COLUMNS = CALL_COLUMNS.filter((column) => !FIXED_COLUMNS.includes(column));

export function readRecord(row: CallRow, attempts: AttemptRow[]): CallRecord {
  return {
    row: readCall(row),
    ...(row.rendered !== null && { rendered: JSON.parse(row.rendered) as RenderedMessage }),
    attempts: attempts.map(readAttempt),
  };
}

/** A page from its rows, of which one more than the page holds was asked for, to know whether another follows. */
export function pageOf<R extends PagedCallRow>(rows: R[], limit: number): { rows: R[]; next?: number } {
  const last = rows.length > limit ? rows[limit - 1] : undefined;
  return { rows: rows.slice(0, limit), ...(last && { next: last.ordinal }) };
}

/** What an accepted `begin` notes of the start, in the same transaction; nothing for other events. */
export function startedAttempt(key: string, event: LedgerEvent, verdict: LedgerVerdict): AttemptRecord | undefined {
  if (event.type !== 'begin' || !event.by || verdict.type !== 'accepted') return undefined;
  return { key, start: verdict.row.starts, worker: event.by.worker, startedAtMs: event.by.atMs };
}

export function attemptRow(attempt: AttemptRecord): AttemptRow {
  return {
    key: attempt.key,
    start: attempt.start,
    worker: attempt.worker,
    started_at_ms: attempt.startedAtMs,
    ended_at_ms: attempt.endedAtMs ?? null,
    failure: attempt.failure ? JSON.stringify(attempt.failure) : null,
    requests: attempt.requests ? JSON.stringify(attempt.requests) : null,
  };
}

export function readAttempt(row: AttemptRow): AttemptRecord {
  return {
    key: row.key,
    start: row.start,
    worker: row.worker,
    startedAtMs: row.started_at_ms,
    ...(row.ended_at_ms !== null && { endedAtMs: row.ended_at_ms }),
    ...(row.failure !== null && { failure: JSON.parse(row.failure) as JsonObject }),
    ...(row.requests !== null && { requests: JSON.parse(row.requests) as SeenRequests }),
  };
}

/** Failures that say nothing of the run: it was cancelled, or nobody let the call begin. As `AlertRules` has it. */
export const NOT_COUNTED_AS_FAILED: readonly FailureClass[] = ['cancelled', 'skipped'];

export function countsAsFailed(outcome: Outcome): boolean {
  const isFailed = outcome.status === 'failed' || outcome.status === 'aborted';
  return isFailed && !NOT_COUNTED_AS_FAILED.includes(outcome.failure.class);
}

/** The effect noted for a call that never ran; the cautious one, though its outcome ends it before anything asks. */
const NEVER_RAN: Effect = { kind: 'once' };

/** The event that stores an outcome that no body ran for. */
export function sealingOf({ runKey, callId, tool, digest, outcome }: RecordedOutcome): LedgerEvent {
  const call: LedgerCall = { runKey, callId, tool, digest, effect: NEVER_RAN };
  return { type: 'seal', call, ifNone: outcome, ifUnknown: outcome };
}

/** The message of the outcome that the event wrote into `row`. Throws `invalid` where the event takes no such rendering. */
export function renderingOf(event: LedgerEvent, row: LedgerRow, rendered: LedgerRendering): RenderedMessage {
  if (event.type === 'seal' && 'ifNone' in rendered) {
    return row.outcome === event.ifUnknown ? rendered.ifUnknown : rendered.ifNone;
  }
  if ((event.type === 'settle' || event.type === 'resolve') && 'content' in rendered) return rendered;
  throw new StoreError('invalid', `applyLedger: a ${event.type} event does not take this rendering`);
}

/** `c2.1` before `c10.0`. Ids of another form come last, in the order of their first writing (the sort is stable). */
export function compareCallIds(a: { call_id: string }, b: { call_id: string }): number {
  const [stepA, indexA] = callPosition(a.call_id);
  const [stepB, indexB] = callPosition(b.call_id);
  return stepA === stepB ? indexA - indexB : stepA < stepB ? -1 : 1;
}

function callPosition(callId: string): [step: number, index: number] {
  const match = /^c(\d+)\.(\d+)$/.exec(callId);
  return match ? [Number(match[1]), Number(match[2])] : [Infinity, 0];
}
