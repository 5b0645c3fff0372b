import type { Client } from '@temporalio/client';
import proto from '@temporalio/proto';

const { EventType, TimeoutType } = proto.temporal.api.enums.v1;

type Event = proto.temporal.api.history.v1.IHistoryEvent;

/**
 * What a workflow waited for between two moments (epoch ms, the server's clock): each gap of at least `atLeastMs` between
 * events of its history, as "3.0 s to ActivityTaskCompleted: the heartbeat timed out, attempt 2".
 */
export async function waitsOf(
  client: Client,
  workflowId: string,
  of: { fromMs: number; toMs: number; atLeastMs: number },
): Promise<string[]> {
  const { events } = await client.workflow.getHandle(workflowId).fetchHistory();
  const waits: string[] = [];
  let beforeMs = of.fromMs;
  for (const event of events ?? []) {
    const atMs = epochMs(event);
    if (atMs < of.fromMs || atMs > of.toMs) continue;
    if (atMs - beforeMs >= of.atLeastMs) waits.push(`${((atMs - beforeMs) / 1_000).toFixed(1)} s to ${words(event)}`);
    beforeMs = atMs;
  }
  return waits;
}

function words(event: Event): string {
  const name = EventType[event.eventType ?? 0]?.replace('EVENT_TYPE_', '').toLowerCase().replaceAll('_', ' ') ?? '';
  const task = event.workflowTaskTimedOutEventAttributes;
  if (task) return `${name} (${TimeoutType[task.timeoutType ?? 0]?.replace('TIMEOUT_TYPE_', '').toLowerCase()})`;
  const started = event.activityTaskStartedEventAttributes;
  if (!started) return name;
  const timeout = started.lastFailure?.timeoutFailureInfo?.timeoutType;
  const why = timeout ? ` after ${TimeoutType[timeout]?.replace('TIMEOUT_TYPE_', '').toLowerCase()}` : '';
  return `${name} (attempt ${started.attempt}${why})`;
}

function epochMs({ eventTime }: Event): number {
  return Number(eventTime?.seconds ?? 0) * 1_000 + (eventTime?.nanos ?? 0) / 1e6;
}
