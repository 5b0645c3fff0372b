import { Context } from '@temporalio/activity';

/** The Temporal run, which an operator finds in the UI: what traces and lines have in common. */
export function traceIdOf(runKey: string): string {
  return Context.current().info.workflowExecution?.runId ?? runKey;
}
