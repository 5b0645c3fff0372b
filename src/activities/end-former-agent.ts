import { Context } from '@temporalio/activity';
import { WorkflowNotFoundError } from '@temporalio/client';
import type { EndFormerAgentInput } from '../contract/activities.js';
import { requireOpen } from './asking-execution.js';
import type { Services } from './services.js';

/** Between two looks at a child that is ending: its calls are told at their next heartbeat, at most a second apart. */
const pollMs = 500;

/**
 * Cancels the child that an earlier course of a run left going under this id, and waits for its end, however long its calls
 * take to stop. Touches nothing where the workflow of this id is another run.
 */
export async function endFormerAgent(services: Services, input: EndFormerAgentInput): Promise<{ ended: boolean }> {
  const context = Context.current();
  const { workflow } = context.client;
  let cancelled: string | undefined;
  for (;;) {
    const { status, memo, runId } = await workflow.getHandle(input.workflowId).describe();
    if (status.name !== 'RUNNING') return { ended: true };
    if (memo?.['runKey'] !== input.runKey) return { ended: false };
    if (runId !== cancelled) {
      // In this order: a child that was there before this execution was still open is no later execution's. An attempt that
      // is left over from before a reset must not cancel the child that the newest execution has started.
      await requireOpen(services);
      services.log.info('the agent of an earlier course of the run is cancelled', { workflow_id: input.workflowId });
      await cancelExecution(workflow.getHandle(input.workflowId, runId));
      cancelled = runId;
    }
    context.heartbeat();
    await context.sleep(pollMs);
  }
}

/** One that has ended meanwhile needs no cancelling. */
async function cancelExecution(child: { cancel(): Promise<unknown> }): Promise<void> {
  try {
    await child.cancel();
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) throw error;
  }
}
