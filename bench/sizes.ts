import { existsSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import type { Client } from '@temporalio/client';
import proto from '@temporalio/proto';

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

/** The history of one run of a workflow's chain, as the server counts it. */
export interface HistoryPart {
  events: number;
  bytes: number;
  /** Steps of the agent that were behind it when it continued as new. */
  carriedSteps?: number;
}

/** The histories of a workflow over all its runs (continue-as-new), oldest first. */
export async function historyChain(client: Client, workflowId: string): Promise<HistoryPart[]> {
  const parts: HistoryPart[] = [];
  const last = await client.workflow.getHandle(workflowId).describe();
  let runId: string | undefined = last.raw.workflowExecutionInfo?.firstRunId ?? last.runId;
  while (runId) {
    const { raw } = await client.workflow.getHandle(workflowId, runId).describe();
    const continued = await continuedAs(client, workflowId, runId);
    parts.push({
      events: Number(raw.workflowExecutionInfo?.historyLength),
      bytes: Number(raw.workflowExecutionInfo?.historySizeBytes),
      ...(continued?.carriedSteps === undefined ? {} : { carriedSteps: continued.carriedSteps }),
    });
    runId = continued?.runId;
  }
  return parts;
}

async function continuedAs(
  client: Client,
  workflowId: string,
  runId: string,
): Promise<{ runId: string; carriedSteps: number | undefined } | undefined> {
  const { history } = await client.workflowService.getWorkflowExecutionHistory({
    namespace: client.options.namespace,
    execution: { workflowId, runId },
    historyEventFilterType: proto.temporal.api.enums.v1.HistoryEventFilterType.HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT,
  });
  const continued = history?.events?.at(-1)?.workflowExecutionContinuedAsNewEventAttributes;
  if (!continued?.newExecutionRunId) return undefined;
  const input = new TextDecoder().decode(continued.input?.payloads?.[0]?.data ?? undefined);
  const { carried } = JSON.parse(input) as { carried?: { counters: { steps: number } } };
  return { runId: continued.newExecutionRunId, carriedSteps: carried?.counters.steps };
}
