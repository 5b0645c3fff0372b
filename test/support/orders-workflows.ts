/** A user's own workflow file: it re-exports the ready agent and takes only the tool calls for a workflow of its own. */
import { proxyActivities } from '@temporalio/workflow';
import { toolExecutor } from '../../src/workflows/index.js';

export * from '../../src/workflows/index.js';

const { greet } = proxyActivities<{ greet(name: string): Promise<string> }>({ startToCloseTimeout: '1 minute' });

export async function refundOrder(input: { id: string }): Promise<unknown> {
  const tools = await toolExecutor();
  const letter = await greet('customer');
  const outcome = await tools.call('refund', { id: input.id });
  if (outcome.status !== 'succeeded' || !('inline' in outcome.result)) return outcome;
  return { letter, result: outcome.result.inline };
}
