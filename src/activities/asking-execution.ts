import { Context } from '@temporalio/activity';
import type { AskingExecution } from '../store/store.js';

/** The execution whose activity this is; absent for an activity that no workflow started. */
export function askingExecution(): { by?: AskingExecution } {
  const { workflowExecution, scheduledTimestampMs } = Context.current().info;
  if (!workflowExecution) return {};
  return { by: { runId: workflowExecution.runId, askedAtMs: Math.floor(scheduledTimestampMs) } };
}
