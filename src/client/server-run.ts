/** What Temporal tells of an execution, in this project's words. */
import type { WorkflowExecutionInfo } from '@temporalio/client';
import proto from '@temporalio/proto';
import type { temporal } from '@temporalio/proto';
import type { PendingWork, ServerRun, ServerStatus } from './run-server.js';
import { timestampMs } from './server-events.js';

// A CommonJS package whose names an ES module import does not see.
const { PendingActivityState } = proto.temporal.api.enums.v1;

export function serverRun(info: Omit<WorkflowExecutionInfo, 'raw'>): ServerRun {
  const { runKey, task } = info.memo ?? {};
  return {
    id: info.workflowId,
    ...(typeof runKey === 'string' && { runKey }),
    ...(typeof task === 'string' && { task }),
    status: serverStatus(info.status.name),
    executionId: info.runId,
    taskQueue: info.taskQueue,
    startedAtMs: info.startTime.getTime(),
    ...(info.closeTime && { closedAtMs: info.closeTime.getTime() }),
    historyEvents: info.historyLength,
    ...(info.historySize !== undefined && { historyBytes: info.historySize }),
  };
}

function serverStatus(name: WorkflowExecutionInfo['status']['name']): ServerStatus {
  switch (name) {
    case 'COMPLETED':
      return 'completed';
    case 'FAILED':
      return 'failed';
    case 'CANCELLED':
      return 'cancelled';
    case 'TERMINATED':
      return 'terminated';
    case 'TIMED_OUT':
      return 'timed_out';
    // Continued as new: the newest execution of the chain is what counts, and until it is listed the run goes on.
    default:
      return 'running';
  }
}

export function pendingWork(info: temporal.api.workflow.v1.IPendingActivityInfo): PendingWork {
  const scheduledAtMs = timestampMs(info.scheduledTime);
  const state = pendingState(info.state);
  return {
    id: info.activityId ?? '',
    activity: info.activityType?.name ?? 'activity',
    state,
    attempt: info.attempt ?? 1,
    ...(info.lastFailure?.message && { lastFailure: info.lastFailure.message }),
    ...(state === 'scheduled' && scheduledAtMs !== undefined && { nextAttemptAtMs: scheduledAtMs }),
  };
}

function pendingState(state: temporal.api.enums.v1.PendingActivityState | null | undefined): PendingWork['state'] {
  switch (state) {
    case PendingActivityState.PENDING_ACTIVITY_STATE_CANCEL_REQUESTED:
      return 'cancelling';
    case PendingActivityState.PENDING_ACTIVITY_STATE_STARTED:
      return 'started';
    default:
      return 'scheduled';
  }
}
