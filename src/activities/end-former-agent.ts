import { Context } from '@temporalio/activity';
import type { EndFormerAgentInput } from '../contract/activities.js';
import type { Services } from './services.js';

/** Between two looks at a child that is ending: its calls are told at their next heartbeat, at most a second apart. */
const pollMs = 500;

/**
 * Cancels the child that an earlier course of a run left going under this id, and waits for its end, however long its calls
 * take to stop. Touches nothing where the workflow of this id is another run.
 */
export async function endFormerAgent(services: Services, input: EndFormerAgentInput): Promise<{ ended: boolean }> {
  const context = Context.current();
  const handle = context.client.workflow.getHandle(input.workflowId);
  for (let asked = false; ; asked = true) {
    const { status, memo } = await handle.describe();
    if (status.name !== 'RUNNING') return { ended: true };
    if (memo?.['runKey'] !== input.runKey) return { ended: false };
    if (!asked) {
      services.log.info('the agent of an earlier course of the run is cancelled', { workflow_id: input.workflowId });
      await handle.cancel();
    }
    context.heartbeat();
    await context.sleep(pollMs);
  }
}
