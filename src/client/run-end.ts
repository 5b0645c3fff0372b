import { CancelledFailure, TerminatedFailure, TimeoutFailure, WorkflowFailedError } from '@temporalio/client';
import type { AgentRunResult } from '../contract/run.js';
import type { RunEnd } from './run-server.js';

/** Type of the failure that a failed run ends with; its first detail is the `AgentRunResult`. */
const RUN_FAILED = 'RunFailed';

/** Reads how a workflow ended from what waiting for it rejected with. Anything else is thrown on. */
export function runEndOf(error: unknown): RunEnd {
  if (!(error instanceof WorkflowFailedError)) throw error;
  const { cause } = error;
  if (cause instanceof CancelledFailure) return { status: 'cancelled' };
  if (cause instanceof TerminatedFailure) return { status: 'terminated', reason: cause.message };
  if (cause instanceof TimeoutFailure) return { status: 'timed_out', reason: cause.message };
  const result = reportedResult(cause);
  return result ? { status: 'reported', result } : { status: 'failed', reason: cause?.message ?? error.message };
}

/** Read by its shape: the failure may have been made by another copy of the SDK. */
function reportedResult(failure: Error | undefined): AgentRunResult | undefined {
  const { type, details } = (failure ?? {}) as { type?: unknown; details?: unknown };
  if (type !== RUN_FAILED || !Array.isArray(details)) return undefined;
  const result: unknown = details[0];
  return isAgentRunResult(result) ? result : undefined;
}

export function isAgentRunResult(value: unknown): value is AgentRunResult {
  const { status, answer, termination, counters } = (value ?? {}) as Partial<AgentRunResult>;
  return (
    typeof status === 'string' &&
    typeof answer === 'string' &&
    typeof termination?.reason === 'string' &&
    typeof counters === 'object'
  );
}
