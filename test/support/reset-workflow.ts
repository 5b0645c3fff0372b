import { randomUUID } from 'node:crypto';
import type { Client } from '@temporalio/client';

/**
 * `temporal workflow reset` of the workflow's latest execution, or of the one named, to the workflow task that scheduled an
 * activity (its id, or its type) or, for `start`, to the first one or, for `signal`, to the one that the first signal led to:
 * what was scheduled before it and had not ended is carried over. Returns the new execution's run id.
 */
export async function resetWorkflow(
  client: Client,
  workflow: string | { workflowId: string; runId: string },
  to: string,
): Promise<string> {
  const { workflowId, runId: former } =
    typeof workflow === 'string' ? { workflowId: workflow, runId: undefined } : workflow;
  const { events } = await client.workflow.getHandle(workflowId, former).fetchHistory();
  const first = events?.find((event) => event.workflowTaskCompletedEventAttributes)?.eventId;
  const scheduled = events?.find(({ activityTaskScheduledEventAttributes: activity }) =>
    [activity?.activityId, activity?.activityType?.name].includes(to),
  );
  const signal = events?.findIndex((event) => event.workflowExecutionSignaledEventAttributes) ?? -1;
  const signalled = events?.find(
    (event, index) => index > signal && event.workflowTaskCompletedEventAttributes,
  )?.eventId;
  const named: Record<string, typeof first> = { start: first, ...(signal >= 0 ? { signal: signalled } : {}) };
  const taskId = named[to] ?? scheduled?.activityTaskScheduledEventAttributes?.workflowTaskCompletedEventId;
  if (!taskId) throw new Error(`the history of ${workflowId} does not schedule ${to}`);
  const { runId } = await client.workflowService.resetWorkflowExecution({
    namespace: client.options.namespace,
    workflowExecution: { workflowId, ...(former === undefined ? {} : { runId: former }) },
    workflowTaskFinishEventId: taskId,
    requestId: randomUUID(),
    reason: 'the test wants it',
  });
  return runId;
}
