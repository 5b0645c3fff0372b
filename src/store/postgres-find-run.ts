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

/** Turns of one run are written one after the other; that a row refers to the run is in nobody's way. */
export async function lockRun(tx: Transaction, runKey: string): Promise<RunRow | undefined> {
  return (await tx.query<RunRow>('SELECT * FROM runs WHERE run_key = $1 FOR NO KEY UPDATE', [runKey]))[0];
}

export async function findInterventions(tx: Transaction, runKey: string): Promise<RecordedIntervention[]> {
  const rows = await tx.query<InterventionRow>('SELECT * FROM interventions WHERE run_key = $1 ORDER BY ordinal', [
    runKey,
  ]);
  return rows.map(readIntervention);
}
