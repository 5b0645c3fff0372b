import { ActivityCancellationType, proxyActivities } from '@temporalio/workflow';
import type { ActivityOptions } from '@temporalio/workflow';
import { bookkeepingHeartbeatTimeoutMs } from '../contract/activities.js';
import type { RunActivities } from '../contract/activities.js';
import type { ToolCall } from '../contract/call.js';
import type { ToolSummary } from '../contract/manifest.js';

/**
 * Attempts are counted in the store, at body starts: the server's own attempts would also count polls of a stopping
 * worker and time without any worker. So the server retries for ever within days, and the activity says when it is over.
 */
const base = {
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
  scheduleToCloseTimeout: '7 days',
  // For timeouts, which have waited long enough, and a store that is away; other failures name their own delay.
  retry: { initialInterval: '250ms', backoffCoefficient: 2, maximumInterval: '60s' },
} as const satisfies ActivityOptions;

/** One model turn's deadline; the provider's client is aborted a little earlier by the activity itself. */
export const modelTurnTimeoutMs = 600_000;

/** Time an attempt may take besides the tool's own deadline: validation, claim, `reconcile` (with a deadline of its own), recording. */
const overheadMs = 30_000;

/** The bookkeeping activities: short, no effects outside the store. A worker that dies in one is noticed by its silence. */
export const bookkeeping = proxyActivities<
  Pick<RunActivities, 'startRun' | 'resumeRun' | 'settleCall' | 'finishRun' | 'openAgentCall' | 'closeAgentCall'>
>({
  ...base,
  startToCloseTimeout: '1 minute',
  heartbeatTimeout: bookkeepingHeartbeatTimeoutMs,
});

const effectful = proxyActivities<Pick<RunActivities, 'callModel' | 'callTool'>>({
  ...base,
  startToCloseTimeout: '1 minute',
});

const waiting = proxyActivities<Pick<RunActivities, 'endFormerAgent'>>({ ...base, startToCloseTimeout: '1 day' });

export const callModel = (
  input: Parameters<RunActivities['callModel']>[0],
  heartbeatTimeoutMs: number,
): ReturnType<RunActivities['callModel']> =>
  effectful.callModel.executeWithOptions(
    {
      ...base,
      activityId: input.take === 0 ? `turn-${input.step}` : `turn-${input.step}-take-${input.take}`,
      startToCloseTimeout: modelTurnTimeoutMs,
      heartbeatTimeout: heartbeatTimeoutMs,
      summary: input.finalTurn ? `step ${input.step}: final answer` : `step ${input.step}`,
    },
    [input],
  );

export const callTool = (
  input: Parameters<RunActivities['callTool']>[0],
  tool: ToolSummary,
  heartbeatTimeoutMs: number,
): ReturnType<RunActivities['callTool']> =>
  effectful.callTool.executeWithOptions(
    {
      ...base,
      activityId: input.call.callId,
      // Twice, because a lost start may have to be reconciled before the next one.
      startToCloseTimeout: 2 * tool.timeoutMs + overheadMs,
      heartbeatTimeout: heartbeatTimeoutMs,
      summary: summaryOf(input.call),
      ...(tool.taskQueue === undefined ? {} : { taskQueue: tool.taskQueue }),
    },
    [input],
  );

/** One line for the Temporal UI, e.g. `search_web {"q":"temporal"}`. */
function summaryOf(call: ToolCall): string {
  const args = 'inline' in call.arguments ? JSON.stringify(call.arguments.inline) : call.arguments.preview;
  const line = `${call.tool} ${args}`.replaceAll(/\s+/g, ' ');
  return line.length > 120 ? `${line.slice(0, 119)}…` : line;
}

/** A child that ends may have calls under way, each with its own deadline. */
export const endFormerAgent = (
  input: Parameters<RunActivities['endFormerAgent']>[0],
  heartbeatTimeoutMs: number,
): ReturnType<RunActivities['endFormerAgent']> =>
  waiting.endFormerAgent.executeWithOptions(
    {
      ...base,
      startToCloseTimeout: '1 day',
      heartbeatTimeout: heartbeatTimeoutMs,
      summary: `end the former ${input.workflowId}`,
    },
    [input],
  );
