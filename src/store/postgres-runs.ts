import type { AgentRunResult } from '../contract/run.js';
import type { RecordedIntervention } from '../contract/intervention.js';
import { applyEvents, lockCalls, writeOutcomes } from './postgres-calls.js';
import type { ContentOperations } from './postgres-content.js';
import type { PostgresDatabase } from './postgres-database.js';
import { storable } from './postgres-rows.js';
import {
  collected,
  readIntervention,
  readRun,
  readTombstone,
  refuseOvertaken,
  takenBackBy,
  type InterventionRow,
  type RunRow,
} from './run-rows.js';
import type {
  IntervenedRun,
  Intervening,
  RunEnding,
  RunFilter,
  RunRecord,
  TakenBackOutcome,
  Tombstone,
} from './records.js';
import type { Store } from './store.js';
import { findInterventions, findRun, findTombstone, lockRun, noRun } from './postgres-find-run.js';

/** Runs: how they stand, whose they are, and what persons decided about them. */
export function runOperations(database: PostgresDatabase, content: ContentOperations) {
  const { name } = database;

  return {
    createRun(run: Parameters<Store['createRun']>[0]): Promise<RunRecord> {
      return database.transaction(async (tx) => {
        const [before, tombstone, nowMs] = await Promise.all([
          findRun(tx, run.runKey),
          findTombstone(tx, run.runKey),
          tx.now(),
        ]);
        if (tombstone) throw collected(name, tombstone);
        if (before) return readRun(before);
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
        if (!run) throw await noRun(name, tx, runKey);
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

    async listRuns(filter: RunFilter): Promise<RunRecord[]> {
      const pattern = `${(filter.workflowIdPrefix ?? '').replace(/[\\%_]/g, '\\$&')}%`;
      const rows = await database.transaction((tx) =>
        tx.query<RunRow>(
          `SELECT * FROM runs WHERE ($4::text IS NULL OR workflow_id = $4) AND workflow_id LIKE $1
             AND ($2::text IS NULL OR status = $2)
           ORDER BY ordinal DESC LIMIT $3`,
          [storable(pattern), filter.status ?? null, filter.limit, storable(filter.workflowId ?? null)],
        ),
      );
      return rows.map(readRun);
    },

    async finishRun(runKey: string, result: AgentRunResult, { by, head, refused = [] }: RunEnding = {}): Promise<void> {
      await database.transaction(async (tx) => {
        const [run, calls, nowMs] = await Promise.all([lockRun(tx, runKey), lockCalls(tx, refused), tx.now()]);
        if (!run) throw await noRun(name, tx, runKey);
        refuseOvertaken(name, run, by);
        await tx.commit([
          ...writeOutcomes(tx, refused, calls, nowMs),
          tx.query(
            `UPDATE runs SET status = $2, result = $3, updated_at_ms = $4, ended_by = $5, head = coalesce($6, head)
             WHERE run_key = $1`,
            [runKey, result.status, JSON.stringify(result), nowMs, by?.runId ?? null, head ?? null],
          ),
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
        if (!found) throw await noRun(name, tx, runKey);
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
  };
}
