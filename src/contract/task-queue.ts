/** Type of the agent workflow, as it is registered and started. */
export const AGENT_WORKFLOW_TYPE = 'agentRun';

/**
 * The default task queue of everything that uses one store. It holds the store's identity, so that a worker with
 * another store never polls for this one's runs.
 */
export function taskQueueFor(storeId: string): string {
  return `perdure-${storeId.slice(0, 8)}`;
}
