/**
 * The floor: the least that "each model turn and each tool call is an activity" can cost on Temporal. No validation, no
 * keys, no ledger, no transcript, no policy.
 */
import { continueAsNew, proxyActivities, workflowInfo } from '@temporalio/workflow';
import type { FloorActivities } from './activities.ts';

const { model, tool } = proxyActivities<FloorActivities>({ startToCloseTimeout: '1 minute' });

export async function floor(input: { steps: number; done: number }): Promise<number> {
  for (let step = input.done; step < input.steps; step += 1) {
    await tool(await model(step));
    const done = step + 1;
    if (workflowInfo().continueAsNewSuggested && done < input.steps) {
      await continueAsNew<typeof floor>({ steps: input.steps, done });
    }
  }
  return input.steps;
}
