import type { CallModelResult } from '../contract/activities.js';
import type { AgentRunResult } from '../contract/run.js';
import type { RecordedIntervention } from '../contract/intervention.js';
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
import type { CallOperations } from './sqlite-calls.js';
import type { ContentOperations } from './sqlite-content.js';
import type { SqliteDatabase } from './sqlite-database.js';
import type {
  AskingExecution,
  CommittedTurn,
  IntervenedRun,
  Intervening,
  RecordedOutcome,
  RunEnding,
  RunFilter,
  RunRecord,
  StoredTurn,
  TakenBackOutcome,
  Tombstone,
  TurnCommit,
  TurnKey,
} from './records.js';
import type { Store } from './store.js';

/** Runs and their model turns: who answered a question first, and where the conversation has got to. */
export function runOperations(
  { db, path }: SqliteDatabase,
  now: () => number,
  content: ContentOperations,
  calls: CallOperations,
) {
  const selectRun = db.prepare('SELECT * FROM runs WHERE run_key = ?');
  const insertRun = db.prepare(
    `INSERT INTO runs (run_key, workflow_id, task, manifest_hash, head, status, started_at_ms, updated_at_ms, pinned, execution)
     VALUES (:runKey, :workflowId, :task, :manifestHash, :head, 'running', :now, :now, :pinned, :execution)`,
  );
  const selectRuns = db.prepare(
    `SELECT * FROM runs
     WHERE (:workflowId IS NULL OR workflow_id = :workflowId)
       AND substr(workflow_id, 1, length(:prefix)) = :prefix AND (:status IS NULL OR status = :status)
     ORDER BY ordinal DESC LIMIT :limit`,
  );
  const selectTombstone = db.prepare('SELECT * FROM tombstones WHERE run_key = ?');
  const updateEnd = db.prepare(
    `UPDATE runs SET status = ?, result = ?, ended_by = ?, head = coalesce(?, head), updated_at_ms = ?
     WHERE run_key = ?`,
  );
  const reopenEnded = db.prepare(
    `UPDATE runs SET status = 'running', result = NULL, ended_by = NULL, updated_at_ms = :now
     WHERE run_key = :runKey AND ended_by <> :execution`,
  );
  const resumeRun = db.prepare(
    `UPDATE runs SET status = 'running', result = NULL, ended_by = NULL, manifest_hash = ?, pinned = ?,
       updated_at_ms = ?
     WHERE run_key = ?`,
  );
  const updateExecution = db.prepare('UPDATE runs SET execution = ? WHERE run_key = ?');
  const selectIntervention = db.prepare('SELECT * FROM interventions WHERE run_key = ? AND id = ?');
  const selectInterventions = db.prepare('SELECT * FROM interventions WHERE run_key = ? ORDER BY ordinal');
  const selectInterventionsSince = db.prepare('SELECT * FROM interventions WHERE at_ms >= ? ORDER BY at_ms, ordinal');
  const insertIntervention = db.prepare(
    `INSERT INTO interventions (run_key, id, ordinal, at_ms, intervention)
     VALUES (:runKey, :id, (SELECT coalesce(max(ordinal), 0) + 1 FROM interventions WHERE run_key = :runKey), :now, :text)`,
  );
  const updateHead = db.prepare('UPDATE runs SET head = ?, updated_at_ms = ? WHERE run_key = ?');

  const thisTurn = 'run_key = :runKey AND step = :step AND head = :head AND settings = :settings AND take = :take';
  const countStart = db.prepare(
    `INSERT INTO turns (run_key, step, head, settings, take, starts, started_order)
     VALUES (:runKey, :step, :head, :settings, :take, :starts,
       (SELECT coalesce(max(started_order), 0) + 1 FROM turns WHERE run_key = :runKey))
     ON CONFLICT (run_key, step, head, settings, take) DO UPDATE
       SET starts = starts + 1, started_order = iif(result IS NULL, excluded.started_order, started_order)
     RETURNING starts`,
  );
  const selectTurn = db.prepare(`SELECT * FROM turns WHERE ${thisTurn}`);
  const selectTurns = db.prepare(
    'SELECT * FROM turns WHERE run_key = ? AND committed_order > ? ORDER BY committed_order',
  );
  const lastStarted = db.prepare('SELECT max(started_order) AS last FROM turns WHERE run_key = ?');
  // Without the second condition SQLite does not use the index of committed turns, and reads every turn of the run.
  const answerTurn = db.prepare(
    `UPDATE turns SET result = :result, committed_at_ms = :now,
       committed_order = (SELECT coalesce(max(committed_order), 0) + 1 FROM turns
         WHERE run_key = :runKey AND committed_order IS NOT NULL)
     WHERE ${thisTurn}`,
  );

  /** The run, for whoever writes of it. */
  function existingRun(runKey: string): RunRow {
    refuseCollected(runKey);
    const row = selectRun.get(runKey) as RunRow | undefined;
    if (row) return row;
    throw missingRun(path, runKey);
  }

  /** Also where the run is still there: an older version's collection may have been stopped behind the tombstone. */
  function refuseCollected(runKey: string): void {
    const tombstone = selectTombstone.get(runKey) as TombstoneRow | undefined;
    if (tombstone) throw collected(path, tombstone);
  }

  function findTurn(turn: TurnKey): TurnRow | undefined {
    return selectTurn.get(turnKey(turn)) as TurnRow | undefined;
  }

  function interventionsOf(runKey: string): RecordedIntervention[] {
    return (selectInterventions.all(runKey) as unknown as InterventionRow[]).map(readIntervention);
  }

  return {
    createRun(run: Parameters<Store['createRun']>[0]): RunRecord {
      refuseCollected(run.runKey);
      const before = selectRun.get(run.runKey) as RunRow | undefined;
      if (before) return readRun(before);
      content.putManifest(run.manifest);
      const head = content.appendNodes('', run.messages);
      insertRun.run({
        runKey: run.runKey,
        workflowId: run.workflowId,
        task: run.task,
        manifestHash: run.manifest.hash,
        head: head === '' ? null : head,
        now: now(),
        pinned: run.pinned ? JSON.stringify(run.pinned) : null,
        execution: run.by?.runId ?? null,
      });
      return readRun(existingRun(run.runKey));
    },

    getRun(runKey: string): RunRecord | undefined {
      const row = selectRun.get(runKey) as RunRow | undefined;
      return row && readRun(row);
    },

    takeOver(runKey: string, { runId, after }: Parameters<Store['takeOver']>[1]): boolean {
      const { execution } = existingRun(runKey);
      if (execution === runId) return true;
      if (execution !== (after ?? null)) return false;
      updateExecution.run(runId, runKey);
      return true;
    },

    getTombstone(runKey: string): Tombstone | undefined {
      const row = selectTombstone.get(runKey) as TombstoneRow | undefined;
      return row && readTombstone(row);
    },

    listRuns(filter: RunFilter): RunRecord[] {
      const rows = selectRuns.all({
        workflowId: filter.workflowId ?? null,
        prefix: filter.workflowIdPrefix ?? '',
        status: filter.status ?? null,
        limit: filter.limit,
      });
      return (rows as unknown as RunRow[]).map(readRun);
    },

    finishRun(runKey: string, result: AgentRunResult, { by, head, refused = [] }: RunEnding = {}): void {
      refuseOvertaken(path, existingRun(runKey), by);
      calls.recordOutcomes(refused);
      updateEnd.run(result.status, JSON.stringify(result), by?.runId ?? null, head ?? null, now(), runKey);
    },

    recordOutcomes(outcomes: RecordedOutcome[], by?: AskingExecution): void {
      for (const { runKey } of outcomes) {
        const run = selectRun.get(runKey) as RunRow | undefined;
        if (run) refuseOvertaken(path, run, by);
      }
      calls.recordOutcomes(outcomes);
    },

    intervene({ runKey, intervention, run, ledger }: Intervening): IntervenedRun {
      const found = existingRun(runKey);
      const before = selectIntervention.get(runKey, intervention.id) as InterventionRow | undefined;
      if (before) return { status: 'recorded', intervention: readIntervention(before) };
      refuseOvertaken(path, found, run?.by);
      const refused = calls.applyAll(ledger);
      if (refused) return { status: 'refused', ...refused };
      const atMs = now();
      insertIntervention.run({ runKey, id: intervention.id, now: atMs, text: JSON.stringify(intervention) });
      if (run) {
        content.putManifest(run.manifest);
        resumeRun.run(run.manifest.hash, JSON.stringify(run.pinned), atMs, runKey);
      }
      return { status: 'recorded', intervention: { ...intervention, atMs } };
    },

    listInterventions(runKey: string): RecordedIntervention[] {
      return interventionsOf(runKey);
    },

    listTakenBack({ sinceMs }: { sinceMs: number }): TakenBackOutcome[] {
      return (selectInterventionsSince.all(sinceMs) as unknown as InterventionRow[]).flatMap(takenBackBy);
    },

    getTurn(turn: TurnKey): StoredTurn {
      return readStoredTurn(findTurn(turn), interventionsOf(turn.runKey));
    },

    countTurnStart(turn: TurnKey, by?: AskingExecution): number {
      const { runKey } = turn;
      refuseOvertaken(path, existingRun(runKey), by);
      if (by) reopenEnded.run({ runKey, execution: by.runId, now: now() });
      return Number(countStart.get({ ...turnKey(turn), starts: 1 })?.['starts']);
    },

    commitTurn(commit: TurnCommit, by?: AskingExecution): CommittedTurn {
      const { turn } = commit;
      const run = existingRun(turn.runKey);
      const row = findTurn(turn);
      const winner = readAnswer(row);
      if (winner) return { answer: winner, isNew: false };
      refuseOvertaken(path, run, by);
      if (!row) countStart.run({ ...turnKey(turn), starts: 0 });

      const head = content.appendNodes(turn.head, commit.messages);
      const last = lastStarted.get(turn.runKey)?.['last'] as number | null;
      const { answer, movesHead } = turnAnswer(commit, { run, turn: row, lastStarted: last, head });
      calls.recordOutcomes(commit.answered);
      answerTurn.run({ ...turnKey(turn), result: JSON.stringify(answer), now: now() });
      if (movesHead) updateHead.run(head, now(), turn.runKey);
      return { answer, isNew: true };
    },

    listTurns(runKey: string, after = 0): { turn: TurnKey; result: CallModelResult; atMs: number }[] {
      return (selectTurns.all(runKey, after) as unknown as TurnRow[]).map(readTurn);
    },
  };
}

/** Exactly the named parameters of the statements; the driver refuses any others. */
function turnKey({ runKey, step, head, settings, take }: TurnKey) {
  return { runKey, step, head, settings, take };
}
