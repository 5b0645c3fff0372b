import type { Client } from '@temporalio/client';
import proto from '@temporalio/proto';

const { EventType, TimeoutType } = proto.temporal.api.enums.v1;

type Event = proto.temporal.api.history.v1.IHistoryEvent;

/** A pause in a run's history. */
export interface Wait {
  ms: number;
  /** The event that ended it, e.g. "activity task started (attempt 2)". */
  until: string;
  /** The timeout that had to pass, where it was one. */
  timeout?: 'heartbeat' | 'sticky queue' | 'workflow task';
}

/** What a workflow waited for between two moments (epoch ms, the server's clock): pauses of at least `atLeastMs`. */
export async function waitsOf(
  client: Client,
  workflowId: string,
  of: { fromMs: number; toMs: number; atLeastMs: number },
): Promise<Wait[]> {
  const { events } = await client.workflow.getHandle(workflowId).fetchHistory();
  const waits: Wait[] = [];
  let beforeMs = of.fromMs;
  for (const event of events ?? []) {
    const atMs = epochMs(event);
    if (atMs < of.fromMs || atMs > of.toMs) continue;
    if (atMs - beforeMs >= of.atLeastMs) waits.push({ ms: atMs - beforeMs, ...endOf(event) });
    beforeMs = atMs;
  }
  return waits;
}

export function inWords({ ms, until, timeout }: Wait): string {
  return `${(ms / 1_000).toFixed(1)} s to ${until}${timeout ? `, ${timeout} timeout` : ''}`;
}

function endOf(event: Event): Omit<Wait, 'ms'> {
  const until = EventType[event.eventType ?? 0]?.replace('EVENT_TYPE_', '').toLowerCase().replaceAll('_', ' ') ?? '';
  const task = event.workflowTaskTimedOutEventAttributes;
  if (task) {
    const isSticky = task.timeoutType === TimeoutType.TIMEOUT_TYPE_SCHEDULE_TO_START;
    return { until, timeout: isSticky ? 'sticky queue' : 'workflow task' };
  }
  const started = event.activityTaskStartedEventAttributes;
  if (!started) return { until };
  const isHeartbeat = started.lastFailure?.timeoutFailureInfo?.timeoutType === TimeoutType.TIMEOUT_TYPE_HEARTBEAT;
  return { until: `${until} (attempt ${started.attempt})`, ...(isHeartbeat ? { timeout: 'heartbeat' } : {}) };
}

function epochMs({ eventTime }: Event): number {
  return Number(eventTime?.seconds ?? 0) * 1_000 + (eventTime?.nanos ?? 0) / 1e6;
}
