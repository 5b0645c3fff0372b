/** What the reason of a run's end says of it. */
import type { RunLimits } from '../contract/run-limits.js';
import type { RunStatus, TerminationReason } from '../contract/run.js';
import { describeCap, isCap, type CapReason } from './run-budget.js';

type EndStatus = Exclude<RunStatus, 'running'>;

/** The ends that are no caps. */
const ends: Record<Exclude<TerminationReason, CapReason>, { status: EndStatus; summary: string }> = {
  answered: { status: 'completed', summary: 'the model gave its answer' },
  cancelled: { status: 'cancelled', summary: 'the run was cancelled' },
  empty_turns: { status: 'failed', summary: 'the model gave neither an answer nor a call, twice in a row' },
  security_violation: { status: 'failed', summary: 'a call was refused as a security violation' },
  model_failed: { status: 'failed', summary: 'the model could not answer' },
};

export function statusOf(reason: TerminationReason): EndStatus {
  return isCap(reason) ? 'capped' : ends[reason].status;
}

export function summaryOf(reason: TerminationReason, limits: RunLimits): string {
  return isCap(reason) ? describeCap(reason, limits) : ends[reason].summary;
}
