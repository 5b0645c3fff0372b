/** What events of a history stand for, in a person's words. Knows perdure's own activities; reads payloads that are JSON. */
import proto from '@temporalio/proto';
import type { google, temporal } from '@temporalio/proto';
import type { RunLimits } from '../contract/run-limits.js';
import type { HistoryEvent } from './recorded-execution.js';

const { EventType } = proto.temporal.api.enums.v1;

export interface ScheduledActivity {
  type: string;
  /** Ours for model turns (`turn-3`) and calls (`c3.0`), Temporal's counter for others. */
  id: string;
}

/** Which call of which step something belongs to. */
export interface Place {
  step?: number;
  callId?: string;
  tool?: string;
}

export function scheduledActivity(event: HistoryEvent): ScheduledActivity | undefined {
  const attributes = event.activityTaskScheduledEventAttributes;
  return attributes ? { type: attributes.activityType?.name ?? '', id: attributes.activityId ?? '' } : undefined;
}

/** `the call c1.0 of print_label`, `the model's turn of step 2`, `the start of the run`. */
export function activityWords({ type, id }: ScheduledActivity, tool: string | undefined): string {
  const named = `(activity ${type}, id ${id})`;
  switch (type) {
    case 'callTool':
      return `the call ${id}${tool === undefined ? '' : ` of ${tool}`} ${named}`;
    case 'callModel':
      return `the model's turn of step ${turnOf(id) ?? '?'} ${named}`;
    case 'startRun':
      return `the start of the run ${named}`;
    case 'finishRun':
      return `the record of the run's end ${named}`;
    case 'settleCall':
      return `the settling of a call ${named}`;
    case 'openAgentCall':
    case 'closeAgentCall':
      return `a call of an agent tool ${named}`;
    default:
      return `the activity ${type} (id ${id})`;
  }
}

/** What the event records, e.g. `a timer of 5 s`. */
export function eventWords(event: HistoryEvent, tool: string | undefined): string {
  const activity = scheduledActivity(event);
  if (activity) return activityWords(activity, tool);
  const patch = patchId(event);
  if (patch !== undefined) return `patched('${patch}')`;
  const timer = event.timerStartedEventAttributes;
  if (timer) return `a timer of ${secondsOf(timer.startToFireTimeout)} s`;
  const child = event.startChildWorkflowExecutionInitiatedEventAttributes;
  if (child) return `the child workflow ${child.workflowType?.name ?? ''} with the id ${child.workflowId ?? ''}`;
  switch (event.eventType) {
    case EventType.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED:
      return 'the end of the workflow';
    case EventType.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED:
      return "the workflow's failure";
    case EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED:
      return 'the end of the workflow as cancelled';
    case EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW:
      return 'a continue-as-new';
    case EventType.EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES:
      return 'a change of search attributes';
    default:
      return typeWords(event);
  }
}

function typeWords(event: HistoryEvent): string {
  const name = EventType[event.eventType ?? 0] ?? 'EVENT_TYPE_UNSPECIFIED';
  return name
    .replace(/^EVENT_TYPE_/, '')
    .toLowerCase()
    .replaceAll('_', ' ');
}

/** The name of a `patched()` marker. */
export function patchId(event: HistoryEvent): string | undefined {
  const marker = event.markerRecordedEventAttributes;
  if (marker?.markerName !== 'core_patch') return undefined;
  const data = json(marker.details?.['patch-data']?.payloads?.[0]) as { id?: unknown } | undefined;
  return typeof data?.id === 'string' ? data.id : 'unknown';
}

/** Names of machines in Temporal's words on what the code wanted. */
const MACHINES: readonly [RegExp, string][] = [
  [/^Timer machine/, 'a timer'],
  [/^Child workflow machine/, 'a child workflow'],
  [/^Complete workflow machine/, 'the end of the workflow'],
  [/^Fail workflow machine/, 'to fail the workflow'],
  [/^Cancel workflow machine/, 'to end the workflow as cancelled'],
  [/^Continue as new workflow machine/, 'a continue-as-new'],
  [/^UpsertWorkflowSearchAttributesMachine/, 'a change of search attributes'],
  [/^ModifyWorkflowPropertiesMachine/, 'a change of the memo'],
  [/^Signal external WF machine/, 'a signal to another workflow'],
  [/^Cancel external WF machine/, 'to cancel another workflow'],
  [/^(?:Local activity|Nexus operation) machine/, 'a local activity or a Nexus operation'],
  [/^Change machine/, 'a patched() that the history does not have here'],
  [/^Activity /, 'an activity'],
  [/^No command scheduled for event/, 'nothing: there the code waits, or has ended'],
];

/** What the code wanted instead, from Temporal's sentence; `undefined` where it does not say. */
export function wantedWords(reason: string): string | undefined {
  const patch = /patch marker encountered for change (.*?), but there is no corresponding/.exec(reason)?.[1];
  if (patch !== undefined) return `to go on without patched('${patch}')`;
  return MACHINES.find(([pattern]) => pattern.test(reason))?.[1];
}

/** Where in the run an event is: its own step and call, or the step that was reached before it. */
export function placeOf(events: readonly HistoryEvent[], index: number, wanted?: ScheduledActivity): Place {
  const event = events[index];
  const activity = event && scheduledActivity(event);
  for (const id of [activity?.id, wanted?.id]) {
    const step = id === undefined ? undefined : stepOf(id);
    if (id === undefined || step === undefined) continue;
    if (!isCallId(id)) return { step };
    const tool = toolOf(events.slice(0, index + 1), id);
    return { step, callId: id, ...(tool !== undefined && { tool }) };
  }
  const before = events.slice(0, index).map((one) => stepOf(scheduledActivity(one)?.id ?? ''));
  const step = before.findLast((one) => one !== undefined);
  return step === undefined ? {} : { step };
}

/** The tool of a call, from what the model's turn returned or the call was scheduled with; the ledger is not needed. */
export function toolOf(events: readonly HistoryEvent[], callId: string): string | undefined {
  for (const event of events.toReversed()) {
    const activity = scheduledActivity(event);
    if (activity?.type === 'callTool' && activity.id === callId) {
      const input = json(event.activityTaskScheduledEventAttributes?.input?.payloads?.[0]) as WithCall | undefined;
      if (typeof input?.call?.tool === 'string') return input.call.tool;
    }
    const result = json(event.activityTaskCompletedEventAttributes?.result?.payloads?.[0]) as WithCalls | undefined;
    const calls = Array.isArray(result?.calls) ? result.calls : [];
    const found = calls.find(({ call }) => call?.callId === callId)?.call?.tool;
    if (typeof found === 'string') return found;
  }
  return undefined;
}

/** The limits that a run of the agent goes by, from the beginning of its history: pinned at start, or carried over. */
export function pinnedLimits(events: readonly HistoryEvent[]): RunLimits | undefined {
  for (const event of events) {
    const input = event.workflowExecutionStartedEventAttributes?.input ?? undefined;
    const carried = (json(input?.payloads?.[0]) as { carried?: { limits?: RunLimits } } | undefined)?.carried;
    const started = json(event.activityTaskCompletedEventAttributes?.result?.payloads?.[0]) as
      { limits?: RunLimits } | undefined;
    const limits = carried?.limits ?? started?.limits;
    if (limits) return limits;
  }
  return undefined;
}

type WithCall = { call?: { callId?: unknown; tool?: unknown } };
type WithCalls = { calls?: WithCall[] };

function isCallId(id: string): boolean {
  return /^c\d+\.\d+$/.test(id);
}

function stepOf(activityId: string): number | undefined {
  const call = /^c(\d+)\.\d+$/.exec(activityId)?.[1];
  return call === undefined ? turnOf(activityId) : Number(call);
}

function turnOf(activityId: string): number | undefined {
  const turn = /^turn-(\d+)/.exec(activityId)?.[1];
  return turn === undefined ? undefined : Number(turn);
}

function secondsOf(duration: google.protobuf.IDuration | null | undefined): number {
  return Number(duration?.seconds ?? 0) + Number(duration?.nanos ?? 0) / 1e9;
}

/** `undefined` where the payload is no plain JSON, for example encrypted by a codec. */
function json(payload: temporal.api.common.v1.IPayload | null | undefined): unknown {
  const encoding = payload?.metadata?.['encoding'];
  if (!payload?.data || !encoding || new TextDecoder().decode(encoding) !== 'json/plain') return undefined;
  try {
    return JSON.parse(new TextDecoder().decode(payload.data));
  } catch {
    return undefined;
  }
}
