import type { FailureClass } from '../contract/failure.js';
import type { Outcome } from '../contract/call.js';
import { failureClasses } from '../policy/failure-classes.js';
import type { LedgerRow } from '../contract/ledger.js';

/** A model that answers a failure does so at once; what succeeds many steps later is another piece of work. */
export const correctionSteps = 3;

/** Keys of a failed call and of the corrected one that followed. */
export interface Correction {
  failed: string;
  corrected: string;
}

interface OpenFailure {
  key: string;
  step: number;
  digest: string;
}

/**
 * Finds the failed calls that the model corrected: a later call of the same tool in the same run, with other arguments, that
 * succeeds within the next `correctionSteps` steps. The first such success corrects all failures that are open then.
 *
 * Takes calls in the order of their runs' steps; those of several runs may be mixed. Keeps nothing of a call but its key.
 */
export class Corrections {
  readonly #open = new Map<string, OpenFailure[]>();

  /** The corrections that this call is. */
  add(row: LedgerRow): Correction[] {
    const step = stepOf(row.callId);
    if (!row.outcome || step === undefined) return [];
    const place = JSON.stringify([row.runKey, row.tool]);
    // A later call of the same step was asked for before the model knew of the failure.
    const open = (this.#open.get(place) ?? []).filter((failure) => step <= failure.step + correctionSteps);
    if (isCorrectable(row.outcome)) open.push({ key: row.key, step, digest: row.digest });
    const succeeded = row.outcome.status === 'succeeded';
    const corrects = ({ step: failedAt, digest }: OpenFailure): boolean =>
      succeeded && failedAt < step && digest !== row.digest;
    const left = open.filter((failure) => !corrects(failure));
    if (left.length > 0) this.#open.set(place, left);
    else this.#open.delete(place);
    return open.filter(corrects).map(({ key }) => ({ failed: key, corrected: row.key }));
  }
}

/** Their corrections have another name, or the call was not to blame. */
const neverCorrected = new Set<FailureClass>(['unknown_tool', 'skipped']);

/**
 * Whether other arguments may cure the failure. A backend that is down, a cap and a guard are cured by time or people; a
 * timeout often by asking for less.
 */
export function isCorrectable(outcome: Outcome): boolean {
  if (outcome.status !== 'failed' || neverCorrected.has(outcome.failure.class)) return false;
  const { family } = failureClasses[outcome.failure.class];
  return family === 'schema' || family === 'business' || family === 'internal' || outcome.failure.class === 'timeout';
}

/** The step of `c<step>.<index>`. */
export function stepOf(callId: string): number | undefined {
  const step = /^c(\d+)\.\d+$/.exec(callId)?.[1];
  return step === undefined ? undefined : Number(step);
}
