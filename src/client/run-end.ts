import { CancelledFailure, TerminatedFailure, TimeoutFailure, WorkflowFailedError } from '@temporalio/client';
import { readRunFailure } from '../temporal/failure-mapper.js';
import type { RunEnd } from './run-server.js';

/** Reads how a workflow ended from what waiting for it rejected with. Anything else is thrown on. */
export function runEndOf(error: unknown): RunEnd {
  if (!(error instanceof WorkflowFailedError)) throw error;
  const { cause } = error;
  if (cause instanceof CancelledFailure) return { status: 'cancelled' };
  if (cause instanceof TerminatedFailure) return { status: 'terminated', reason: cause.message };
  if (cause instanceof TimeoutFailure) return { status: 'timed_out', reason: cause.message };
  const result = readRunFailure(error);
  return result ? { status: 'reported', result } : { status: 'failed', reason: innermost(error).message };
}

/** What came first: an activity that failed ends its workflow with no more than "Activity task failed". */
function innermost(error: Error): Error {
  return error.cause instanceof Error ? innermost(error.cause) : error;
}
