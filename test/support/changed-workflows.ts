/** A deployment that changed the agent's workflow without `patched`: runs that are under way cannot be replayed by it. */
import { sleep } from '@temporalio/workflow';
import { agentRun as unchanged, type AgentRunInput, type AgentRunResult } from '../../src/workflows/index.js';

export async function agentRun(input: AgentRunInput): Promise<AgentRunResult> {
  await sleep(1);
  return await unchanged(input);
}
