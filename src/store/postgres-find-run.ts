/** Finds a run, and what belongs to it, within a transaction. */
import type { RecordedIntervention } from '../contract/intervention.js';
import type { Transaction } from './postgres-transaction.js';
import {
  collected,
  missingRun,
  readIntervention,
  type InterventionRow,
  type RunRow,
  type TombstoneRow,
} from './run-rows.js';
import type { StoreError } from './store-error.js';

export async function findRun(tx: Transaction, runKey: string): Promise<RunRow | undefined> {
  return (await tx.query<RunRow>('SELECT * FROM runs WHERE run_key = $1', [runKey]))[0];
}

export async function findTombstone(tx: Transaction, runKey: string): Promise<TombstoneRow | undefined> {
  return (await tx.query<TombstoneRow>('SELECT * FROM tombstones WHERE run_key = $1', [runKey]))[0];
}

/** Why there is no such run. */
export async function noRun(name: string, tx: Transaction, runKey: string): Promise<StoreError> {
  const tombstone = await findTombstone(tx, runKey);
  return tombstone ? collected(name, tombstone) : missingRun(name, runKey);
}

/** A condition on `runs`. An older version's collection may have been stopped between the tombstone and the deletion. */
export const NOT_COLLECTED = 'NOT EXISTS (SELECT 1 FROM tombstones WHERE tombstones.run_key = runs.run_key)';

/**
 * The run, for whoever writes of it; `undefined` where there is none, or it was collected (see `noRun`). Turns of one run are
 * written one after the other; that a row refers to the run is in nobody's way.
 */
export async function lockRun(tx: Transaction, runKey: string): Promise<RunRow | undefined> {
  const text = `SELECT * FROM runs WHERE run_key = $1 AND ${NOT_COLLECTED} FOR NO KEY UPDATE`;
  return (await tx.query<RunRow>(text, [runKey]))[0];
}

export async function findInterventions(tx: Transaction, runKey: string): Promise<RecordedIntervention[]> {
  const rows = await tx.query<InterventionRow>('SELECT * FROM interventions WHERE run_key = $1 ORDER BY ordinal', [
    runKey,
  ]);
  return rows.map(readIntervention);
}
