import type { Outcome } from '../../../src/contract/call.js';
import type { CrashRun } from './crash-bench.js';

/** The failure class of an outcome, or its status where it is no failure. */
export function classOf(outcome: Outcome): string {
  return outcome.status === 'failed' || outcome.status === 'aborted' ? outcome.failure.class : outcome.status;
}

export interface CallEnd {
  /** Failure class, or status. */
  ended: string;
  starts: number;
  /** Starts that the outcome tells of. */
  attempts: number;
  /** What the model is told: failure class, or status. */
  told: string;
}

/** How the run's calls ended, as the ledger has it. Throws where a call has no outcome. */
export async function callEnds(run: CrashRun): Promise<CallEnd[]> {
  return (await run.calls()).map(({ row, rendered }) => {
    if (!row.outcome || !rendered) throw new Error(`${row.callId} has no outcome; its state is ${row.state}`);
    const told = JSON.parse(rendered.content) as { status: string; error_type?: string };
    return {
      ended: classOf(row.outcome),
      starts: row.starts,
      attempts: row.outcome.attempts,
      told: told.error_type ?? told.status,
    };
  });
}

/** The run's only call, as `callEnds` has it. */
export async function callEnd(run: CrashRun): Promise<CallEnd> {
  const ends = await callEnds(run);
  if (ends.length !== 1 || !ends[0]) throw new Error(`expected one call, the run has ${ends.length}`);
  return ends[0];
}

/** A call that ended so after that many starts, told to the model in the same words. */
export function ending(ended: string, starts: number): CallEnd {
  return { ended, starts, attempts: starts, told: ended };
}
