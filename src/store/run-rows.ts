/** Runs and their model turns as rows, and who of several turns speaks for a run. */
import type { CallModelResult } from '../contract/activities.js';
import type { Intervention, PinnedRun, RecordedIntervention } from '../contract/intervention.js';
import type { AgentRunResult, RunStatus } from '../contract/run.js';
import { collectedText } from './collected-text.js';
import type {
  AskingExecution,
  RunRecord,
  StoredTurn,
  TakenBackOutcome,
  Tombstone,
  TurnCommit,
  TurnKey,
} from './records.js';
import { StoreError } from './store-error.js';

export interface RunRow {
  run_key: string;
  workflow_id: string;
  task: string;
  manifest_hash: string;
  head: string | null;
  status: RunStatus;
  result: string | null;
  started_at_ms: number;
  updated_at_ms: number;
  pinned: string | null;
  ended_by: string | null;
  execution: string | null;
}

export interface InterventionRow {
  run_key: string;
  at_ms: number;
  intervention: string;
}

export interface TurnRow {
  run_key: string;
  step: number;
  head: string;
  settings: string;
  take: number;
  started_order: number;
  committed_at_ms: number | null;
  result: string | null;
}

export function readRun(row: RunRow): RunRecord {
  return {
    runKey: row.run_key,
    workflowId: row.workflow_id,
    task: row.task,
    manifestHash: row.manifest_hash,
    head: row.head ?? '',
    status: row.status,
    ...(row.result !== null && { result: JSON.parse(row.result) as AgentRunResult }),
    ...(row.execution !== null && { execution: row.execution }),
    ...(row.ended_by !== null && { endedBy: row.ended_by }),
    ...(row.pinned !== null && { pinned: JSON.parse(row.pinned) as PinnedRun }),
    startedAtMs: row.started_at_ms,
    updatedAtMs: row.updated_at_ms,
  };
}

export function missingRun(name: string, runKey: string): StoreError {
  return new StoreError(
    'missing_run',
    `store ${name}: it has no run ${runKey}; was the run started with another store?`,
  );
}

export interface TombstoneRow {
  run_key: string;
  workflow_id: string;
  status: RunStatus;
  started_at_ms: number;
  ended_at_ms: number;
  collected_at_ms: number;
}

export function readTombstone(row: TombstoneRow): Tombstone {
  return {
    runKey: row.run_key,
    workflowId: row.workflow_id,
    status: row.status,
    startedAtMs: row.started_at_ms,
    endedAtMs: row.ended_at_ms,
    collectedAtMs: row.collected_at_ms,
  };
}

export function collected(name: string, row: TombstoneRow): StoreError {
  const what = collectedText(readTombstone(row));
  return new StoreError('collected', `store ${name}: the ${what}; nothing of it can run again. Start a new run`);
}

export function readAnswer(row: TurnRow | undefined): CallModelResult | undefined {
  return row?.result == null ? undefined : (JSON.parse(row.result) as CallModelResult);
}

export function readStoredTurn(row: TurnRow | undefined, interventions: RecordedIntervention[]): StoredTurn {
  const answer = readAnswer(row);
  return { ...(answer && { answer }), interventions };
}

export function readTurn(row: TurnRow): { turn: TurnKey; result: CallModelResult; atMs: number } {
  return {
    turn: { runKey: row.run_key, step: row.step, head: row.head, settings: row.settings, take: row.take },
    result: JSON.parse(row.result ?? 'null') as CallModelResult,
    atMs: row.committed_at_ms ?? 0,
  };
}

/** Throws where the run is not known to be this execution's. */
export function refuseOvertaken(
  name: string,
  run: Pick<RunRow, 'run_key' | 'execution'>,
  by: AskingExecution | undefined,
): void {
  if (by === undefined || run.execution === by.runId) return;
  const owner = run.execution === null ? "not known to be any execution's" : `that of execution ${run.execution}`;
  throw new StoreError(
    'overtaken',
    `store ${name}: the run ${run.run_key} is ${owner}, so what execution ${by.runId} asks for is refused`,
  );
}

export function readIntervention(row: InterventionRow): RecordedIntervention {
  return { ...(JSON.parse(row.intervention) as Intervention), atMs: row.at_ms };
}

export function takenBackBy(row: InterventionRow): TakenBackOutcome[] {
  const intervention = readIntervention(row);
  const calls =
    intervention.kind === 'resolution'
      ? [{ key: intervention.key, outcome: intervention.former }]
      : intervention.reopened;
  return calls.flatMap(({ key, outcome }) => (outcome ? [{ runKey: row.run_key, key, atMs: row.at_ms, outcome }] : []));
}

/** What committing a turn comes to: the answer, and whether the run's head moves to it. */
export function turnAnswer(
  commit: TurnCommit,
  found: { run: RunRow; turn: TurnRow | undefined; lastStarted: number | null; head: string },
): { answer: CallModelResult; movesHead: boolean } {
  // Only the turn started last speaks for the run; another is left over from a branch that the run has abandoned. One that
  // was never counted as started counts as started now.
  const isCurrent = !found.turn || found.turn.started_order === found.lastStarted;
  return {
    answer: { ...commit.result, head: found.head },
    movesHead: isCurrent && found.head !== '' && found.head !== found.run.head,
  };
}
