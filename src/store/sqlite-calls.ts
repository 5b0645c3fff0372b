import type { LedgerEvent, LedgerRow, LedgerVerdict } from '../contract/ledger.js';
import { ledgerTransition } from '../policy/ledger.js';
import { turnAttemptPrefix } from '../policy/turn-attempt-key.js';
import {
  attemptRow,
  startedAttempt,
  CALL_COLUMNS,
  callRow,
  CHANGING_CALL_COLUMNS,
  compareCallIds,
  NOT_COUNTED_AS_FAILED,
  pageOf,
  readAttempt,
  readCall,
  readRecord,
  renderingOf,
  sealingOf,
  type AttemptRow,
  type CallRow,
  type PagedCallRow,
} from './call-rows.js';
import { collected, refuseOvertaken, type RunRow, type TombstoneRow } from './run-rows.js';
import type { SqliteDatabase } from './sqlite-database.js';
import type {
  AskingOfCall,
  Intervening,
  AttemptRecord,
  CallPage,
  CallRecord,
  LedgerRendering,
  RecordedOutcome,
  RenderedMessage,
} from './records.js';

/** The ledger: one row a call, changed by the pure transition alone, with its rendered outcome and its attempts. */
export function callOperations({ db, path }: SqliteDatabase, now: () => number) {
  const selectCall = db.prepare('SELECT * FROM calls WHERE key = ?');
  const selectCalls = db.prepare('SELECT * FROM calls WHERE run_key = ? ORDER BY ordinal');
  // By the order of writing, without an index of times, which every write of a call would have to keep: all pages together
  // read the table once.
  const selectCallsSince = db.prepare(
    'SELECT * FROM calls WHERE ordinal > ? AND updated_at_ms >= ? ORDER BY ordinal LIMIT ?',
  );
  const upsertCall = db.prepare(
    `INSERT INTO calls (${CALL_COLUMNS.join(', ')}) VALUES (${CALL_COLUMNS.map((column) => `:${column}`).join(', ')})
     ON CONFLICT (key) DO UPDATE SET
       ${CHANGING_CALL_COLUMNS.map((column) => `${column} = excluded.${column}`).join(', ')}`,
  );
  const selectAttempts = db.prepare('SELECT * FROM attempts WHERE key = ? ORDER BY start');
  const upsertAttempt = db.prepare(
    `INSERT INTO attempts (key, start, worker, started_at_ms, ended_at_ms, failure, requests)
     VALUES (:key, :start, :worker, :started_at_ms, :ended_at_ms, :failure, :requests)
     ON CONFLICT (key, start) DO UPDATE SET
       ended_at_ms = coalesce(ended_at_ms, excluded.ended_at_ms), failure = coalesce(failure, excluded.failure),
       requests = coalesce(requests, excluded.requests)`,
  );
  const selectRendered = db.prepare('SELECT rendered FROM calls WHERE run_key = ? AND instr(rendered, ?) > 0');
  const selectFailed = db.prepare(
    `SELECT key FROM calls WHERE run_key = ? AND outcome ->> '$.status' IN ('failed', 'aborted')
       AND outcome ->> '$.failure.class' NOT IN (${NOT_COUNTED_AS_FAILED.map((name) => `'${name}'`).join(', ')}) LIMIT ?`,
  );
  // By the primary key: all that begins with the prefix, and none of the calls.
  const selectTurnAttempts = db.prepare(
    `SELECT * FROM attempts WHERE key >= :prefix AND key < :prefix || char(0xffff) AND started_at_ms >= :sinceMs
     ORDER BY key, start`,
  );
  const selectExecution = db.prepare('SELECT run_key, execution FROM runs WHERE run_key = ?');
  const selectTombstone = db.prepare('SELECT * FROM tombstones WHERE run_key = ?');

  function findRow(key: string): LedgerRow | undefined {
    const row = selectCall.get(key) as CallRow | undefined;
    return row && readCall(row);
  }

  function writeRow(row: LedgerRow, rendered: RenderedMessage | undefined): void {
    upsertCall.run(callRow(row, rendered));
  }

  /** What is new of a collected run is refused; what is there is still told, until it is gone. */
  function refuseCollected(runKey: string): void {
    const tombstone = selectTombstone.get(runKey) as TombstoneRow | undefined;
    if (tombstone) throw collected(path, tombstone);
  }

  function withAttempts(row: CallRow): CallRecord {
    return readRecord(row, selectAttempts.all(row.key) as unknown as AttemptRow[]);
  }

  return {
    applyLedger(key: string, event: LedgerEvent, rendered?: LedgerRendering, by?: AskingOfCall): LedgerVerdict {
      const run = by && (selectExecution.get(by.runKey) as Pick<RunRow, 'run_key' | 'execution'> | undefined);
      if (run) refuseOvertaken(path, run, by);
      const found = findRow(key);
      if (!found && 'call' in event) refuseCollected(event.call.runKey);
      const { write, verdict } = ledgerTransition(key, found, event, now());
      // No row is written after its outcome, except by a person's intervention, so a stored rendering is never overwritten.
      if (write) writeRow(write, rendered && renderingOf(event, write, rendered));
      const started = startedAttempt(key, event, verdict);
      if (started) upsertAttempt.run({ ...attemptRow(started) });
      return verdict;
    },

    /** All of the events, or none; then says which was refused. */
    applyAll(events: Intervening['ledger']): { key: string; verdict: LedgerVerdict } | undefined {
      const changes = events.map(({ key, event, rendered }) => {
        return { key, event, rendered, ...ledgerTransition(key, findRow(key), event, now()) };
      });
      const refused = changes.find(({ verdict }) => verdict.type !== 'accepted');
      if (refused) return { key: refused.key, verdict: refused.verdict };
      for (const { write, event, rendered } of changes) {
        if (write) writeRow(write, rendered && renderingOf(event, write, rendered));
      }
      return undefined;
    },

    recordOutcomes(outcomes: RecordedOutcome[]): void {
      for (const recorded of outcomes) {
        const { key, rendered } = recorded;
        const found = findRow(key);
        if (!found) refuseCollected(recorded.runKey);
        const { write } = ledgerTransition(key, found, sealingOf(recorded), now());
        if (write) writeRow(write, rendered);
      }
    },

    getCall(key: string): CallRecord | undefined {
      const row = selectCall.get(key) as CallRow | undefined;
      return row && withAttempts(row);
    },

    listCalls(runKey: string): CallRecord[] {
      const rows = selectCalls.all(runKey) as unknown as CallRow[];
      return rows.sort(compareCallIds).map(withAttempts);
    },

    listCallsSince({ sinceMs, after = 0, limit }: CallPage): { calls: CallRecord[]; next?: number } {
      const found = selectCallsSince.all(after, sinceMs, limit + 1) as unknown as PagedCallRow[];
      const { rows, ...page } = pageOf(found, limit);
      return { calls: rows.map(withAttempts), ...page };
    },

    findRendered(runKey: string, text: string): RenderedMessage[] {
      const rows = selectRendered.all(runKey, text) as unknown as { rendered: string }[];
      return rows.map(({ rendered }) => JSON.parse(rendered) as RenderedMessage);
    },

    listFailedCalls(runKey: string, limit: number): string[] {
      return (selectFailed.all(runKey, limit) as unknown as { key: string }[]).map(({ key }) => key);
    },

    listTurnAttempts({ runKey, sinceMs = 0 }: { runKey?: string; sinceMs?: number }): AttemptRecord[] {
      const rows = selectTurnAttempts.all({ prefix: turnAttemptPrefix(runKey), sinceMs });
      return (rows as unknown as AttemptRow[]).map(readAttempt);
    },

    recordAttempt(attempt: AttemptRecord): void {
      upsertAttempt.run({ ...attemptRow(attempt) });
    },
  };
}

export type CallOperations = ReturnType<typeof callOperations>;
