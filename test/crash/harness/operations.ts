/** What an operator may do to a run with Temporal's own commands, at a moment that nobody chose. */
import { randomUUID } from 'node:crypto';
import type { Client } from '@temporalio/client';
import type { Random } from './random.js';

/**
 * `temporal workflow reset` to a workflow task of its own past, while whatever it does is under way. `false` where there is
 * none, the run has just ended or the server is away.
 */
export async function resetToSomeTask(client: Client, workflowId: string, random: Random): Promise<boolean> {
  try {
    const { events } = await client.workflow.getHandle(workflowId).fetchHistory();
    const tasks = (events ?? []).filter((event) => event.workflowTaskCompletedEventAttributes);
    const task = tasks.length > 0 ? random.pick(tasks) : undefined;
    if (!task?.eventId) return false;
    await client.workflowService.resetWorkflowExecution({
      namespace: client.options.namespace,
      workflowExecution: { workflowId },
      workflowTaskFinishEventId: task.eventId,
      requestId: randomUUID(),
      reason: 'the crash harness',
    });
    return true;
  } catch (error) {
    if (isServerAway(error)) return false;
    throw error;
  }
}

/** `temporal activity reset` of one of those that are pending. `false` as above. */
export async function resetSomeActivity(client: Client, workflowId: string, random: Random): Promise<boolean> {
  try {
    const { raw } = await client.workflow.getHandle(workflowId).describe();
    const pending = raw.pendingActivities ?? [];
    const id = pending.length > 0 ? random.pick(pending).activityId : undefined;
    if (!id) return false;
    await client.workflowService.resetActivity({
      namespace: client.options.namespace,
      execution: { workflowId },
      id,
    });
    return true;
  } catch (error) {
    if (isServerAway(error)) return false;
    throw error;
  }
}

/** The run is gone or closed, or nobody answers: what an operator would read and try again. */
export function isServerAway(error: unknown): boolean {
  const code = (error as { code?: unknown }).code ?? (error as { cause?: { code?: unknown } }).cause?.code;
  // INVALID_ARGUMENT, DEADLINE_EXCEEDED, NOT_FOUND, UNAVAILABLE, and the SDK's own error of a workflow that is not there.
  return [3, 4, 5, 14].includes(Number(code)) || (error as Error).name === 'WorkflowNotFoundError';
}
