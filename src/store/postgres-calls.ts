import type { Outcome } from '../contract/call.js';
import type { LedgerEvent, LedgerVerdict } from '../contract/ledger.js';
import { ledgerTransition } from '../policy/ledger.js';
import { turnAttemptPrefix } from '../policy/turn-attempt-key.js';
import {
  attemptRow,
  startedAttempt,
  CALL_COLUMNS,
  callRow,
  CHANGING_CALL_COLUMNS,
  compareCallIds,
  countsAsFailed,
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
import { inTurn } from './in-turn.js';
import type { PostgresDatabase } from './postgres-database.js';
import { storable } from './postgres-rows.js';
import { collected, refuseOvertaken, type RunRow, type TombstoneRow } from './run-rows.js';
import { WITHOUT_DISK, type Transaction } from './postgres-transaction.js';
import { isRelaxedEvent } from './relaxed-writes.js';
import type {
  AskingExecution,
  AskingOfCall,
  AttemptRecord,
  CallPage,
  CallRecord,
  Intervening,
  LedgerRendering,
  RecordedOutcome,
  RenderedMessage,
} from './records.js';

const insertCall = `INSERT INTO calls (${CALL_COLUMNS.join(', ')})
  VALUES (${CALL_COLUMNS.map((_, index) => `$${String(index + 1)}`).join(', ')})`;
const updateCall = `UPDATE calls SET
  ${CHANGING_CALL_COLUMNS.map((column, index) => `${column} = $${String(index + 2)}`).join(', ')} WHERE key = $1`;

/**
 * Holds for every outcome that `countsAsFailed`, and for few others. Its JSON is not parsed in the database: PostgreSQL
 * refuses a NUL or half a surrogate pair anywhere in it, and a tool may have answered either.
 */
const MAY_HAVE_FAILED = `outcome LIKE ANY (ARRAY['%"status":"failed"%', '%"status":"aborted"%'])`;

/** Outcomes that are read at once. */
const FAILED_PAGE = 100;

/** The ledger: one row a call, changed by the pure transition alone, with its rendered outcome and its attempts. */
export function callOperations(database: PostgresDatabase) {
  // A holder that renews its claim and then settles it must not find the renewal refused: on two connections the later
  // event could come first.
  const applyInTurn = inTurn();

  return {
    applyLedger: (
      key: string,
      event: LedgerEvent,
      rendered?: LedgerRendering,
      by?: AskingOfCall,
    ): Promise<LedgerVerdict> =>
      applyInTurn(key, () =>
        database.transaction(async (tx) => {
          if (isRelaxedEvent(event)) void tx.query(WITHOUT_DISK);
          const [[run], [found], [tombstone], nowMs] = await Promise.all([
            // Locked before the call, as everywhere: a call that has no row yet cannot be. Whoever takes the run over waits
            // until this has ended and finds what it wrote, or was first and this is refused. Calls do not wait for each other.
            by ? tx.query<RunRow>('SELECT run_key, execution FROM runs WHERE run_key = $1 FOR SHARE', [by.runKey]) : [],
            tx.query<CallRow>('SELECT * FROM calls WHERE key = $1 FOR UPDATE', [key]),
            'call' in event ? tombstonesOfNew(tx, key, event.call.runKey) : [],
            tx.now(),
          ]);
          if (run) refuseOvertaken(database.name, run, by);
          // What is new of a collected run is refused; what is there is still told, until it is gone.
          if (!found && tombstone) throw collected(database.name, tombstone);
          const { write, verdict } = ledgerTransition(key, found && readCall(found), event, nowMs);
          if (write) {
            // No row is written after its outcome, except by a person's intervention: a rendering is never overwritten.
            const row = callRow(write, rendered && renderingOf(event, write, rendered));
            const started = startedAttempt(key, event, verdict);
            await tx.commit([writeCall(tx, row, found !== undefined), ...(started ? [writeAttempt(tx, started)] : [])]);
          }
          return verdict;
        }),
      ),

    async recordOutcomes(outcomes: RecordedOutcome[], by?: AskingExecution): Promise<void> {
      if (outcomes.length === 0) return;
      const runKeys = [...new Set(outcomes.map(({ runKey }) => runKey))];
      await database.transaction(async (tx) => {
        const [runs, found, tombstones, nowMs] = await Promise.all([
          // Locked before the calls, as whoever has the run go on does.
          tx.query<RunRow>('SELECT * FROM runs WHERE run_key = ANY ($1) ORDER BY run_key FOR NO KEY UPDATE', [runKeys]),
          lockCalls(tx, outcomes),
          findTombstones(tx, runKeys),
          tx.now(),
        ]);
        for (const run of runs) refuseOvertaken(database.name, run, by);
        const isFound = new Set(found.map(({ key }) => key));
        const [refused] = tombstones.filter(({ run_key }) =>
          outcomes.some(({ key, runKey }) => runKey === run_key && !isFound.has(key)),
        );
        if (refused) throw collected(database.name, refused);
        await tx.commit(writeOutcomes(tx, outcomes, found, nowMs));
      });
    },

    async getCall(key: string): Promise<CallRecord | undefined> {
      return await database.transaction(async (tx) => {
        const [[row], attempts] = await Promise.all([
          tx.query<CallRow>('SELECT * FROM calls WHERE key = $1', [key]),
          tx.query<AttemptRow>('SELECT * FROM attempts WHERE key = $1 ORDER BY start', [key]),
        ]);
        return row && readRecord(row, attempts);
      });
    },

    async listCalls(runKey: string): Promise<CallRecord[]> {
      return await database.transaction(async (tx) => {
        const [rows, attempts] = await Promise.all([
          tx.query<CallRow>('SELECT * FROM calls WHERE run_key = $1 ORDER BY ordinal', [runKey]),
          tx.query<AttemptRow>(
            `SELECT attempts.* FROM attempts JOIN calls ON calls.key = attempts.key
             WHERE calls.run_key = $1 ORDER BY attempts.start`,
            [runKey],
          ),
        ]);
        const ofCall = Map.groupBy(attempts, ({ key }) => key);
        return rows.sort(compareCallIds).map((row) => readRecord(row, ofCall.get(row.key) ?? []));
      });
    },

    async listCallsSince({ sinceMs, after = 0, limit }: CallPage): Promise<{ calls: CallRecord[]; next?: number }> {
      return await database.transaction(async (tx) => {
        const found = await tx.query<PagedCallRow>(
          'SELECT * FROM calls WHERE ordinal > $1 AND updated_at_ms >= $2 ORDER BY ordinal LIMIT $3',
          [after, sinceMs, limit + 1],
        );
        const { rows, ...page } = pageOf(found, limit);
        const attempts = await tx.query<AttemptRow>('SELECT * FROM attempts WHERE key = ANY ($1) ORDER BY start', [
          rows.map(({ key }) => key),
        ]);
        const ofCall = Map.groupBy(attempts, ({ key }) => key);
        return { calls: rows.map((row) => readRecord(row, ofCall.get(row.key) ?? [])), ...page };
      });
    },

    async findRendered(runKey: string, text: string): Promise<RenderedMessage[]> {
      const rows = await database.transaction((tx) =>
        tx.query<{ rendered: string }>('SELECT rendered FROM calls WHERE run_key = $1 AND strpos(rendered, $2) > 0', [
          runKey,
          storable(text),
        ]),
      );
      return rows.map(({ rendered }) => JSON.parse(rendered) as RenderedMessage);
    },

    async listFailedCalls(runKey: string, limit: number): Promise<string[]> {
      return await database.transaction(async (tx) => {
        const keys: string[] = [];
        for (let after = 0; keys.length < limit;) {
          const page = await tx.query<{ ordinal: number; key: string; outcome: string }>(
            `SELECT ordinal, key, outcome FROM calls WHERE run_key = $1 AND ordinal > $2 AND ${MAY_HAVE_FAILED}
             ORDER BY ordinal LIMIT ${String(FAILED_PAGE)}`,
            [runKey, after],
          );
          for (const { key, outcome } of page) if (countsAsFailed(JSON.parse(outcome) as Outcome)) keys.push(key);
          const last = page.at(-1);
          if (!last) break;
          after = last.ordinal;
        }
        return keys.slice(0, limit);
      });
    },

    async listTurnAttempts({ runKey, sinceMs = 0 }: { runKey?: string; sinceMs?: number }): Promise<AttemptRecord[]> {
      const pattern = `${turnAttemptPrefix(runKey).replace(/[\\%_]/g, '\\$&')}%`;
      const rows = await database.transaction((tx) =>
        tx.query<AttemptRow>(
          `SELECT * FROM attempts WHERE key LIKE 'turn/%' AND key LIKE $1 AND started_at_ms >= $2 ORDER BY key, start`,
          [pattern, sinceMs],
        ),
      );
      return rows.map(readAttempt);
    },

    async recordAttempt(attempt: AttemptRecord): Promise<void> {
      await database.transaction((tx) => tx.commit([writeAttempt(tx, attempt)]));
    },
  };
}

function findTombstones(tx: Transaction, runKeys: string[]): Promise<TombstoneRow[]> {
  return tx.query<TombstoneRow>('SELECT * FROM tombstones WHERE run_key = ANY ($1)', [runKeys]);
}

/**
 * For a call that may be new: its run is held, so that whoever collects it waits for the call and finds it. No row of a call is
 * locked then, so nobody waits in a circle.
 */
function tombstonesOfNew(tx: Transaction, key: string, runKey: string): Promise<TombstoneRow[]> {
  void tx.query(
    'SELECT 1 FROM runs WHERE run_key = $1 AND NOT EXISTS (SELECT 1 FROM calls WHERE key = $2) FOR KEY SHARE',
    [runKey, key],
  );
  return findTombstones(tx, [runKey]);
}

/** The rows that outcomes are about, locked in one order in every process. */
export function lockCalls(tx: Transaction, outcomes: { key: string }[]): Promise<CallRow[]> {
  return tx.query<CallRow>('SELECT * FROM calls WHERE key = ANY ($1) ORDER BY key FOR UPDATE', [
    outcomes.map(({ key }) => key),
  ]);
}

/** Writes outcomes that no body ran for, given the locked rows that are there. */
export function writeOutcomes(
  tx: Transaction,
  outcomes: RecordedOutcome[],
  found: CallRow[],
  nowMs: number,
): Promise<unknown>[] {
  const existing = new Set(found.map(({ key }) => key));
  const current = new Map(found.map((row) => [row.key, readCall(row)]));
  const writes = outcomes.flatMap((recorded) => {
    const { write } = ledgerTransition(recorded.key, current.get(recorded.key), sealingOf(recorded), nowMs);
    if (!write) return [];
    current.set(recorded.key, write);
    return [callRow(write, recorded.rendered)];
  });
  writes.sort((a, b) => (a.key < b.key ? -1 : 1));
  return writes.map((row) => writeCall(tx, row, existing.has(row.key)));
}

/** Applies all of the events to the locked rows, or none; then says which was refused. */
export function applyEvents(
  tx: Transaction,
  events: Intervening['ledger'],
  found: CallRow[],
  nowMs: number,
): { writes: Promise<unknown>[] } | { refused: { key: string; verdict: LedgerVerdict } } {
  const rows = new Map(found.map((row) => [row.key, readCall(row)]));
  const changes = events.map(({ key, event, rendered }) => {
    return { key, event, rendered, ...ledgerTransition(key, rows.get(key), event, nowMs) };
  });
  const refused = changes.find(({ verdict }) => verdict.type !== 'accepted');
  if (refused) return { refused: { key: refused.key, verdict: refused.verdict } };
  const writes = changes.flatMap(({ write, event, rendered }) =>
    write ? [callRow(write, rendered && renderingOf(event, write, rendered))] : [],
  );
  return { writes: writes.map((row) => writeCall(tx, row, true)) };
}

/** Adds the record of a start, or completes it: what is there stays. */
function writeAttempt(tx: Transaction, attempt: AttemptRecord): Promise<unknown> {
  const row = attemptRow(attempt);
  return tx.query(
    `INSERT INTO attempts (key, start, worker, started_at_ms, ended_at_ms, failure, requests)
     VALUES ($1, $2, $3, $4, $5, $6, $7)
     ON CONFLICT (key, start) DO UPDATE SET
       ended_at_ms = coalesce(attempts.ended_at_ms, excluded.ended_at_ms),
       failure = coalesce(attempts.failure, excluded.failure),
       requests = coalesce(attempts.requests, excluded.requests)`,
    [row.key, row.start, row.worker, row.started_at_ms, row.ended_at_ms, row.failure, row.requests].map(storable),
  );
}

/**
 * A plain insert, although another process may have written the row since it was not found: then this fails, the
 * transaction is run again, and it finds the row. Passed over in silence, it would grant a claim that another holds.
 */
function writeCall(tx: Transaction, row: CallRow, exists: boolean): Promise<unknown> {
  return exists
    ? tx.query(updateCall, [row.key, ...CHANGING_CALL_COLUMNS.map((column) => row[column])])
    : tx.query(
        insertCall,
        CALL_COLUMNS.map((column) => storable(row[column])),
      );
}
