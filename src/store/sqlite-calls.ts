import type { Outcome } from '../contract/call.js';
import type { Effect } from '../contract/effect.js';
import type { JsonObject } from '../contract/json.js';
import {
  ledgerTransition,
  type LedgerEvent,
  type LedgerRow,
  type LedgerState,
  type LedgerVerdict,
} from '../policy/ledger.js';
import type { SqliteDatabase } from './sqlite-database.js';
import {
  StoreError,
  type AttemptRecord,
  type CallRecord,
  type LedgerRendering,
  type RecordedOutcome,
  type RenderedMessage,
} from './store.js';

interface CallRow {
  key: string;
  run_key: string;
  call_id: string;
  tool: string;
  digest: string;
  effect: string;
  state: LedgerState;
  token: string | null;
  lease_until_ms: number;
  begun: number;
  starts: number;
  spent_ms: number;
  may_have_happened: number;
  first_start_at_ms: number | null;
  begun_at_ms: number | null;
  outcome: string | null;
  rendered: string | null;
  updated_at_ms: number;
}

interface AttemptRow {
  key: string;
  start: number;
  worker: string;
  started_at_ms: number;
  ended_at_ms: number | null;
  failure: string | null;
}

/** The effect noted for a call that never ran; the cautious one, though its outcome ends it before anything asks. */
const NEVER_RAN: Effect = { kind: 'once' };

/** The ledger: one row a call, changed by the pure transition alone, with its rendered outcome and its attempts. */
export function callOperations({ db }: SqliteDatabase, now: () => number) {
  const selectCall = db.prepare('SELECT * FROM calls WHERE key = ?');
  const selectCalls = db.prepare('SELECT * FROM calls WHERE run_key = ? ORDER BY ordinal');
  const upsertCall = db.prepare(
    `INSERT INTO calls (key, run_key, call_id, tool, digest, effect, state, token, lease_until_ms, begun, starts, spent_ms,
       may_have_happened, first_start_at_ms, begun_at_ms, outcome, rendered, updated_at_ms)
     VALUES (:key, :runKey, :callId, :tool, :digest, :effect, :state, :token, :leaseUntilMs, :begun, :starts, :spentMs,
       :mayHaveHappened, :firstStartAtMs, :begunAtMs, :outcome, :rendered, :updatedAtMs)
     ON CONFLICT (key) DO UPDATE SET
       state = excluded.state, token = excluded.token, lease_until_ms = excluded.lease_until_ms, begun = excluded.begun,
       starts = excluded.starts, spent_ms = excluded.spent_ms, may_have_happened = excluded.may_have_happened,
       first_start_at_ms = excluded.first_start_at_ms, begun_at_ms = excluded.begun_at_ms, outcome = excluded.outcome,
       rendered = excluded.rendered, updated_at_ms = excluded.updated_at_ms`,
  );
  const selectAttempts = db.prepare('SELECT * FROM attempts WHERE key = ? ORDER BY start');
  const upsertAttempt = db.prepare(
    `INSERT INTO attempts (key, start, worker, started_at_ms, ended_at_ms, failure)
     VALUES (:key, :start, :worker, :startedAtMs, :endedAtMs, :failure)
     ON CONFLICT (key, start) DO UPDATE SET
       ended_at_ms = coalesce(ended_at_ms, excluded.ended_at_ms), failure = coalesce(failure, excluded.failure)`,
  );

  function findRow(key: string): LedgerRow | undefined {
    const row = selectCall.get(key) as CallRow | undefined;
    return row && readRow(row);
  }

  function writeRow(row: LedgerRow, rendered: RenderedMessage | undefined): void {
    upsertCall.run({
      key: row.key,
      runKey: row.runKey,
      callId: row.callId,
      tool: row.tool,
      digest: row.digest,
      effect: JSON.stringify(row.effect),
      state: row.state,
      token: row.token ?? null,
      leaseUntilMs: row.leaseUntilMs,
      begun: row.begun ? 1 : 0,
      starts: row.starts,
      spentMs: row.spentMs,
      mayHaveHappened: row.mayHaveHappened ? 1 : 0,
      firstStartAtMs: row.firstStartAtMs ?? null,
      begunAtMs: row.begunAtMs ?? null,
      outcome: row.outcome ? JSON.stringify(row.outcome) : null,
      rendered: rendered ? JSON.stringify(rendered) : null,
      updatedAtMs: row.updatedAtMs,
    });
  }

  function writeAttempt(attempt: AttemptRecord): void {
    upsertAttempt.run({
      key: attempt.key,
      start: attempt.start,
      worker: attempt.worker,
      startedAtMs: attempt.startedAtMs,
      endedAtMs: attempt.endedAtMs ?? null,
      failure: attempt.failure ? JSON.stringify(attempt.failure) : null,
    });
  }

  function readRecord(row: CallRow): CallRecord {
    return {
      row: readRow(row),
      ...(row.rendered !== null && { rendered: JSON.parse(row.rendered) as RenderedMessage }),
      attempts: (selectAttempts.all(row.key) as unknown as AttemptRow[]).map(readAttempt),
    };
  }

  return {
    applyLedger(key: string, event: LedgerEvent, rendered?: LedgerRendering): LedgerVerdict {
      const { write, verdict } = ledgerTransition(key, findRow(key), event, now());
      // No row is written after its outcome, so a stored rendering is never overwritten here.
      if (write) writeRow(write, rendered && renderingOf(event, write, rendered));
      if (event.type === 'begin' && event.by && verdict.type === 'accepted') {
        writeAttempt({ key, start: verdict.row.starts, worker: event.by.worker, startedAtMs: event.by.atMs });
      }
      return verdict;
    },

    recordOutcomes(outcomes: RecordedOutcome[]): void {
      for (const { key, runKey, callId, tool, digest, outcome, rendered } of outcomes) {
        const call = { runKey, callId, tool, digest, effect: NEVER_RAN };
        const seal = { type: 'seal', call, ifNone: outcome, ifUnknown: outcome } as const;
        const { write } = ledgerTransition(key, findRow(key), seal, now());
        if (write) writeRow(write, rendered);
      }
    },

    getCall(key: string): CallRecord | undefined {
      const row = selectCall.get(key) as CallRow | undefined;
      return row && readRecord(row);
    },

    listCalls(runKey: string): CallRecord[] {
      const rows = selectCalls.all(runKey) as unknown as CallRow[];
      return rows.sort((a, b) => compareCallIds(a.call_id, b.call_id)).map(readRecord);
    },

    recordAttempt: writeAttempt,
  };
}

export type CallOperations = ReturnType<typeof callOperations>;

/** The message of the outcome that the event wrote; `undefined` where it wrote none. */
function renderingOf(event: LedgerEvent, row: LedgerRow, rendered: LedgerRendering): RenderedMessage | undefined {
  if (event.type === 'seal' && 'ifNone' in rendered) {
    return row.outcome === event.ifUnknown ? rendered.ifUnknown : rendered.ifNone;
  }
  if (event.type === 'settle' && 'content' in rendered) return rendered;
  throw new StoreError('invalid', `applyLedger: a ${event.type} event does not take this rendering`);
}

/** `c2.1` before `c10.0`. Ids of another form come last, in the order of their first writing (the sort is stable). */
function compareCallIds(a: string, b: string): number {
  const [stepA, indexA] = callPosition(a);
  const [stepB, indexB] = callPosition(b);
  return stepA === stepB ? indexA - indexB : stepA < stepB ? -1 : 1;
}

function callPosition(callId: string): [step: number, index: number] {
  const match = /^c(\d+)\.(\d+)$/.exec(callId);
  return match ? [Number(match[1]), Number(match[2])] : [Infinity, 0];
}

function readRow(row: CallRow): LedgerRow {
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
    begun: row.begun === 1,
    starts: row.starts,
    spentMs: row.spent_ms,
    mayHaveHappened: row.may_have_happened === 1,
    ...(row.first_start_at_ms !== null && { firstStartAtMs: row.first_start_at_ms }),
    ...(row.begun_at_ms !== null && { begunAtMs: row.begun_at_ms }),
    ...(row.outcome !== null && { outcome: JSON.parse(row.outcome) as Outcome }),
    updatedAtMs: row.updated_at_ms,
  };
}

function readAttempt(row: AttemptRow): AttemptRecord {
  return {
    key: row.key,
    start: row.start,
    worker: row.worker,
    startedAtMs: row.started_at_ms,
    ...(row.ended_at_ms !== null && { endedAtMs: row.ended_at_ms }),
    ...(row.failure !== null && { failure: JSON.parse(row.failure) as JsonObject }),
  };
}
