import proto from '@temporalio/proto';
import type { google, temporal } from '@temporalio/proto';
import type { ServerEvent } from './run-server.js';

// A CommonJS package whose names an ES module import does not see.
const { WorkflowTaskFailedCause } = proto.temporal.api.enums.v1;

/** What somebody did to this execution, by its history. */
export function serverEvents(
  events: readonly temporal.api.history.v1.IHistoryEvent[],
  executionId: string,
): ServerEvent[] {
  return events.flatMap((event): ServerEvent[] => {
    const told = tellEvent(event, executionId);
    return told ? [{ ...told, atMs: timestampMs(event.eventTime) ?? 0, executionId }] : [];
  });
}

function tellEvent(
  event: temporal.api.history.v1.IHistoryEvent,
  executionId: string,
): Omit<ServerEvent, 'atMs' | 'executionId'> | undefined {
  const cancel = event.workflowExecutionCancelRequestedEventAttributes;
  if (cancel) return { type: 'cancel_requested', ...by(cancel.identity), ...because(cancel.cause) };
  const end = event.workflowExecutionTerminatedEventAttributes;
  if (end) return { type: 'terminated', ...by(end.identity), ...because(end.reason) };
  const failed = event.workflowTaskFailedEventAttributes;
  const isReset =
    failed?.cause === WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_RESET_WORKFLOW &&
    failed.newRunId === executionId;
  return isReset ? { type: 'reset', ...by(failed.identity), ...because(failed.failure?.message) } : undefined;
}

/** A reset is written by the server itself, which keeps nobody's name but what the reason holds. */
const SERVER_ITSELF = 'history-service';

function by(identity: string | null | undefined): { by?: string } {
  return identity && identity !== SERVER_ITSELF ? { by: identity } : {};
}

function because(reason: string | null | undefined): { reason?: string } {
  return reason ? { reason } : {};
}

export function timestampMs(timestamp: google.protobuf.ITimestamp | null | undefined): number | undefined {
  if (!timestamp) return undefined;
  return Number(timestamp.seconds ?? 0) * 1_000 + (timestamp.nanos ?? 0) / 1e6;
}
