import { existsSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import type { Client } from '@temporalio/client';

/** Bytes of pages in use of a SQLite file, its log included; free pages do not count. 0 where there is no file. */
export function databaseBytes(path: string): number {
  if (!existsSync(path)) return 0;
  const db = new DatabaseSync(path, { readOnly: true, timeout: 10_000 });
  try {
    const value = (pragma: string) => Number(Object.values(db.prepare(`PRAGMA ${pragma}`).get() ?? {})[0]);
    return (value('page_count') - value('freelist_count')) * value('page_size');
  } finally {
    db.close();
  }
}

/** Events and bytes of a workflow's histories over all its runs (continue-as-new), as the server counts them. */
export async function historyOf(client: Client, workflowId: string): Promise<{ events: number; bytes: number }> {
  const total = { events: 0, bytes: 0 };
  const first = await client.workflow.getHandle(workflowId).describe();
  let runId: string | undefined = first.raw.workflowExecutionInfo?.firstRunId ?? first.runId;
  while (runId) {
    const { raw } = await client.workflow.getHandle(workflowId, runId).describe();
    total.events += Number(raw.workflowExecutionInfo?.historyLength);
    total.bytes += Number(raw.workflowExecutionInfo?.historySizeBytes);
    runId = await continuedAs(client, workflowId, runId);
  }
  return total;
}

async function continuedAs(client: Client, workflowId: string, runId: string): Promise<string | undefined> {
  const { history } = await client.workflowService.getWorkflowExecutionHistory({
    namespace: client.options.namespace,
    execution: { workflowId, runId },
    // The last event alone: HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT.
    historyEventFilterType: 2,
  });
  const [last] = history?.events ?? [];
  return last?.workflowExecutionContinuedAsNewEventAttributes?.newExecutionRunId ?? undefined;
}
