import type { CallModelResult } from '../contract/activities.js';
import type { AgentRunResult, RunStatus } from '../contract/run.js';
import type { RecordedIntervention } from '../contract/intervention.js';
import { applyEvents, lockCalls, writeOutcomes } from './postgres-calls.js';
import type { ContentOperations } from './postgres-content.js';
import type { PostgresDatabase } from './postgres-database.js';
import { storable } from './postgres-rows.js';
import { WITHOUT_DISK, type Transaction } from './postgres-transaction.js';
import {
  collected,
  missingRun,
  readAnswer,
  readIntervention,
  readRun,
  readStoredTurn,
  readTombstone,
  readTurn,
  refuseOvertaken,
  takenBackBy,
  turnAnswer,
  type InterventionRow,
  type RunRow,
  type TombstoneRow,
  type TurnRow,
} from './run-rows.js';
import { StoreError } from './store.js';
import type {
  AskingExecution,
  CommittedTurn,
  IntervenedRun,
  Intervening,
  RunEnding,
  RunRecord,
  Store,
  StoredTurn,
  TakenBackOutcome,
  Tombstone,
  TurnCommit,
  TurnKey,
} from './store.js';

const thisTurn = 'run_key = $1 AND step = $2 AND head = $3 AND settings = $4 AND take = $5';
const nextStart = '(SELECT coalesce(max(started_order), 0) + 1 FROM turns WHERE run_key = $1)';
const nextCommit =
  '(SELECT coalesce(max(committed_order), 0) + 1 FROM turns WHERE run_key = $1 AND committed_order IS NOT NULL)';

/** Runs and their model turns: who answered a question first, and where the conversation has got to. */
export function runOperations(database: PostgresDatabase, content: ContentOperations) {
  const { name } = database;

  async function findRun(tx: Transaction, runKey: string): Promise<RunRow | undefined> {
    return (await tx.query<RunRow>('SELECT * FROM runs WHERE run_key = $1', [runKey]))[0];
  }

  async function findTombstone(tx: Transaction, runKey: string): Promise<TombstoneRow | undefined> {
    return (await tx.query<TombstoneRow>('SELECT * FROM tombstones WHERE run_key = $1', [runKey]))[0];
  }

  /** Why there is no such run. */
  async function noRun(tx: Transaction, runKey: string): Promise<StoreError> {
    const tombstone = await findTombstone(tx, runKey);
    return tombstone ? collected(name, tombstone) : missingRun(name, runKey);
  }

  /** Turns of one run are written one after the other; that a row refers to the run is in nobody's way. */
  async function lockRun(tx: Transaction, runKey: string): Promise<RunRow | undefined> {
    return (await tx.query<RunRow>('SELECT * FROM runs WHERE run_key = $1 FOR NO KEY UPDATE', [runKey]))[0];
  }

  async function findTurn(tx: Transaction, turn: TurnKey): Promise<TurnRow | undefined> {
    return (await tx.query<TurnRow>(`SELECT * FROM turns WHERE ${thisTurn}`, turnValues(turn)))[0];
  }

  async function findInterventions(tx: Transaction, runKey: string): Promise<RecordedIntervention[]> {
    const rows = await tx.query<InterventionRow>('SELECT * FROM interventions WHERE run_key = $1 ORDER BY ordinal', [
      runKey,
    ]);
    return rows.map(readIntervention);
  }

  return {
    createRun(run: Parameters<Store['createRun']>[0]): Promise<RunRecord> {
      return database.transaction(async (tx) => {
        const [before, tombstone, nowMs] = await Promise.all([
          findRun(tx, run.runKey),
          findTombstone(tx, run.runKey),
          tx.now(),
        ]);
        if (before) return readRun(before);
        if (tombstone) throw collected(name, tombstone);
        const nodes = content.nodesAfter('', run.messages);
        const manifest = content.writeManifest(tx, run.manifest);
        const written = content.writeNodes(tx, nodes);
        // Plain, as for calls: where another process was first, this is run again and finds the other's.
        const inserted = tx.query<RunRow>(
          `INSERT INTO runs (run_key, workflow_id, task, manifest_hash, head, status, started_at_ms, updated_at_ms,
             pinned, execution)
           VALUES ($1, $2, $3, $4, $5, 'running', $6, $6, $7, $8) RETURNING *`,
          [
            ...[run.runKey, run.workflowId, run.task, run.manifest.hash, nodes.at(-1)?.id ?? null, nowMs].map(storable),
            run.pinned ? JSON.stringify(run.pinned) : null,
            run.by?.runId ?? null,
          ],
        );
        const [[row]] = await tx.commit([inserted, manifest, ...written]);
        return readRun(row as RunRow);
      });
    },

    async getRun(runKey: string): Promise<RunRecord | undefined> {
      const row = await database.transaction((tx) => findRun(tx, runKey));
      return row && readRun(row);
    },

    async takeOver(runKey: string, { runId, after }: Parameters<Store['takeOver']>[1]): Promise<boolean> {
      return await database.transaction(async (tx) => {
        const run = await lockRun(tx, runKey);
        if (!run) throw await noRun(tx, runKey);
        if (run.execution === runId) return true;
        if (run.execution !== (after ?? null)) return false;
        await tx.commit([tx.query('UPDATE runs SET execution = $2 WHERE run_key = $1', [runKey, runId])]);
        return true;
      });
    },

    async getTombstone(runKey: string): Promise<Tombstone | undefined> {
      const row = await database.transaction((tx) => findTombstone(tx, runKey));
      return row && readTombstone(row);
    },

    async listRuns(filter: { workflowIdPrefix?: string; status?: RunStatus; limit: number }): Promise<RunRecord[]> {
      const pattern = `${(filter.workflowIdPrefix ?? '').replace(/[\\%_]/g, '\\$&')}%`;
      const rows = await database.transaction((tx) =>
        tx.query<RunRow>(
          `SELECT * FROM runs WHERE workflow_id LIKE $1 AND ($2::text IS NULL OR status = $2)
           ORDER BY ordinal DESC LIMIT $3`,
          [storable(pattern), filter.status ?? null, filter.limit],
        ),
      );
      return rows.map(readRun);
    },

    async finishRun(runKey: string, result: AgentRunResult, { by, refused = [] }: RunEnding = {}): Promise<void> {
      await database.transaction(async (tx) => {
        const [run, calls, nowMs] = await Promise.all([lockRun(tx, runKey), lockCalls(tx, refused), tx.now()]);
        if (!run) throw await noRun(tx, runKey);
        refuseOvertaken(name, run, by);
        await tx.commit([
          ...writeOutcomes(tx, refused, calls, nowMs),
          tx.query('UPDATE runs SET status = $2, result = $3, updated_at_ms = $4, ended_by = $5 WHERE run_key = $1', [
            runKey,
            result.status,
            JSON.stringify(result),
            nowMs,
            by?.runId ?? null,
          ]),
        ]);
      });
    },

    async intervene({ runKey, intervention, run, ledger }: Intervening): Promise<IntervenedRun> {
      return await database.transaction(async (tx) => {
        const [found, [before], calls, nowMs] = await Promise.all([
          lockRun(tx, runKey),
          tx.query<InterventionRow>('SELECT * FROM interventions WHERE run_key = $1 AND id = $2', [
            runKey,
            intervention.id,
          ]),
          lockCalls(tx, ledger),
          tx.now(),
        ]);
        if (!found) throw await noRun(tx, runKey);
        if (before) return { status: 'recorded', intervention: readIntervention(before) };
        refuseOvertaken(name, found, run?.by);
        const applied = applyEvents(tx, ledger, calls, nowMs);
        if ('refused' in applied) return { status: 'refused', ...applied.refused };
        await tx.commit([
          ...applied.writes,
          tx.query(
            `INSERT INTO interventions (run_key, id, ordinal, at_ms, intervention)
             VALUES ($1, $2, (SELECT coalesce(max(ordinal), 0) + 1 FROM interventions WHERE run_key = $1), $3, $4)`,
            [runKey, intervention.id, nowMs, JSON.stringify(intervention)],
          ),
          ...(run
            ? [
                content.writeManifest(tx, run.manifest),
                tx.query(
                  `UPDATE runs SET status = 'running', result = NULL, ended_by = NULL, manifest_hash = $2, pinned = $3,
                     updated_at_ms = $4
                   WHERE run_key = $1`,
                  [runKey, run.manifest.hash, JSON.stringify(run.pinned), nowMs],
                ),
              ]
            : []),
        ]);
        return { status: 'recorded', intervention: { ...intervention, atMs: nowMs } };
      });
    },

    async listInterventions(runKey: string): Promise<RecordedIntervention[]> {
      return await database.transaction((tx) => findInterventions(tx, runKey));
    },

    async listTakenBack({ sinceMs }: { sinceMs: number }): Promise<TakenBackOutcome[]> {
      const rows = await database.transaction((tx) =>
        tx.query<InterventionRow>('SELECT * FROM interventions WHERE at_ms >= $1 ORDER BY at_ms, ordinal', [sinceMs]),
      );
      return rows.flatMap(takenBackBy);
    },

    async getTurn(turn: TurnKey): Promise<StoredTurn> {
      const [row, interventions] = await database.transaction((tx) =>
        Promise.all([findTurn(tx, turn), findInterventions(tx, turn.runKey)]),
      );
      return readStoredTurn(row, interventions);
    },

    async countTurnStart(turn: TurnKey, by?: AskingExecution): Promise<number> {
      const execution = by?.runId ?? null;
      const counted = await database.transaction(async (tx) => {
        const [, , , [row]] = await tx.commit([
          tx.query(WITHOUT_DISK),
          lockRun(tx, turn.runKey),
          // `NULL <> …` is not true: a run that nobody ended stays as it is.
          tx.query(
            `UPDATE runs SET status = 'running', result = NULL, ended_by = NULL
             WHERE run_key = $1 AND ended_by <> $2 AND execution = $2`,
            [turn.runKey, execution],
          ),
          tx.query<{ starts: number }>(
            `INSERT INTO turns (run_key, step, head, settings, take, starts, started_order)
             SELECT run_key, $2::integer, $3::text, $4::text, $5::integer, 1, ${nextStart}
             FROM runs WHERE run_key = $1 AND ($6::text IS NULL OR execution = $6)
             ON CONFLICT (run_key, step, head, settings, take) DO UPDATE
               SET starts = turns.starts + 1,
                 started_order = CASE WHEN turns.result IS NULL THEN excluded.started_order ELSE turns.started_order END
             RETURNING starts`,
            [...turnValues(turn), execution],
          ),
        ]);
        return row?.starts;
      });
      if (counted !== undefined) return counted;
      return await database.transaction(async (tx) => {
        const run = await findRun(tx, turn.runKey);
        if (!run) throw await noRun(tx, turn.runKey);
        refuseOvertaken(name, run, by);
        // Taken over between the two: the next attempt finds it so.
        throw new StoreError('unavailable', `store ${name}: the run ${turn.runKey} changed hands; ask again`);
      });
    },

    /** Two round trips: one locks and reads all that the answer depends on, one writes and commits. */
    commitTurn(commit: TurnCommit, by?: AskingExecution): Promise<CommittedTurn> {
      const { turn, messages, answered } = commit;
      return database.transaction(async (tx) => {
        const [run, row, lastStarted, found, nowMs, parent] = await Promise.all([
          lockRun(tx, turn.runKey),
          findTurn(tx, turn),
          tx.query<{ last: number | null }>('SELECT max(started_order) AS last FROM turns WHERE run_key = $1', [
            turn.runKey,
          ]),
          lockCalls(tx, answered),
          tx.now(),
          // Told only after a missing run and an earlier answer.
          content.requireParent(tx, turn.head).catch((error: unknown) => ({ error })),
        ]);
        if (!run) throw await noRun(tx, turn.runKey);
        const winner = readAnswer(row);
        if (winner) return { answer: winner, isNew: false };
        refuseOvertaken(name, run, by);
        if (parent) throw parent.error;

        const nodes = content.nodesAfter(turn.head, messages);
        const { answer, movesHead } = turnAnswer(commit, {
          run,
          turn: row,
          lastStarted: lastStarted[0]?.last ?? null,
          head: nodes.at(-1)?.id ?? turn.head,
        });
        await tx.commit([
          ...content.writeNodes(tx, nodes),
          ...writeOutcomes(tx, answered, found, nowMs),
          tx.query(
            `INSERT INTO turns (run_key, step, head, settings, take, starts, started_order, committed_order, committed_at_ms,
               result)
             VALUES ($1, $2, $3, $4, $5, 0, ${nextStart}, ${nextCommit}, $6, $7)
             ON CONFLICT (run_key, step, head, settings, take) DO UPDATE
               SET result = excluded.result, committed_at_ms = excluded.committed_at_ms,
                 committed_order = excluded.committed_order`,
            [...turnValues(turn), nowMs, JSON.stringify(answer)],
          ),
          ...(movesHead
            ? [
                tx.query('UPDATE runs SET head = $2, updated_at_ms = $3 WHERE run_key = $1', [
                  turn.runKey,
                  answer.head,
                  nowMs,
                ]),
              ]
            : []),
        ]);
        return { answer, isNew: true };
      });
    },

    async listTurns(runKey: string, after = 0): Promise<{ turn: TurnKey; result: CallModelResult; atMs: number }[]> {
      const rows = await database.transaction((tx) =>
        tx.query<TurnRow>('SELECT * FROM turns WHERE run_key = $1 AND committed_order > $2 ORDER BY committed_order', [
          runKey,
          after,
        ]),
      );
      return rows.map(readTurn);
    },
  };
}

/** The parameters $1 to $5 of the statements about one turn. */
function turnValues({ runKey, step, head, settings, take }: TurnKey): unknown[] {
  return [runKey, step, head, settings, take];
}
