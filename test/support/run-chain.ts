import type { Client } from '@temporalio/client';
import type proto from '@temporalio/proto';

export type History = proto.temporal.api.history.v1.IHistory;

/** The histories of a workflow's runs, over its continue-as-new, in order. */
export async function historiesOf(client: Client, workflowId: string, firstRunId: string): Promise<History[]> {
  const histories: History[] = [];
  for (let runId: string | undefined | null = firstRunId; runId;) {
    const history: History = await client.workflow.getHandle(workflowId, runId).fetchHistory();
    histories.push(history);
    runId = history.events?.at(-1)?.workflowExecutionContinuedAsNewEventAttributes?.newExecutionRunId;
  }
  return histories;
}
