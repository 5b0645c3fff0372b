import type { JsonObject } from '../contract/json.js';
import type { Outcome } from '../contract/call.js';
import type { AgentRunResult } from '../contract/run.js';
import type { CallDescription, InterventionDescription, RunDescription, StepDescription } from './run-description.js';
import type { ServerEvent } from './run-server.js';

/** One thing that happened in a run, for operators. */
export interface RunLogEntry {
  atMs: number;
  event:
    | 'run_started'
    | 'turn'
    | 'attempt_started'
    | 'attempt_failed'
    | 'attempt_ended'
    | 'outcome'
    /** A limit left no room for another turn with tools; the model is asked for its last words. */
    | 'cap_reached'
    | 'run_ended'
    /** What people did: by perdure's commands, and by Temporal's. */
    | 'retried'
    | 'resolved'
    | 'restarted'
    | 'cancel_requested'
    | 'terminated'
    | 'reset'
    /** What people did by Temporal's commands to an execution is not known any more. */
    | 'history_gone';
  /** Equal for the same thing in every look at the run. */
  id: string;
  step?: number;
  callId?: string;
  tool?: string;
  /** 1 for the first start of the body. */
  start?: number;
  worker?: string;
  /** Who did it, where that is known. */
  by?: string;
  /** Why, in that person's words. */
  note?: string;
  /** How long the start, or the whole call, took. */
  tookMs?: number;
  /** State of the call or of the run, or the model's words. */
  said?: string;
  /** The operator's record of a failed start, as it was stored; redacted. */
  record?: JsonObject;
}

/** Everything that the store, and with `onServer` the server, know to have happened in a run, in the order of time. */
export function runLog(run: RunDescription, onServer: readonly ServerEvent[] = []): RunLogEntry[] {
  const entries: RunLogEntry[] = [{ atMs: run.startedAtMs, event: 'run_started', id: 'run', said: run.task }];
  for (const { step, atMs, text, node, calls } of run.steps) {
    if (node !== undefined) entries.push({ atMs, event: 'turn', id: `turn/${node}`, step, said: text });
    for (const call of calls) entries.push(...callLog(step, call));
  }
  entries.push(...onServer.flatMap(serverEntry));
  for (const intervention of run.interventions ?? []) entries.push(...interventionLog(run, intervention, onServer));
  if (run.endedAtMs !== undefined) {
    if (run.result) entries.push(...capEntry(run.result, beforeLastWords(run.steps) ?? run.endedAtMs, 'cap'));
    entries.push(endEntry(run.state, run.result, run.endedAtMs, 'end'));
  }
  // Things of the same millisecond stay in the order of steps, calls and starts.
  return entries.sort((a, b) => a.atMs - b.atMs);
}

function callLog(step: number, call: CallDescription): RunLogEntry[] {
  const { callId, tool, key, attempts, failure, endedAtMs } = call;
  const base = { step, callId, tool };
  const entries = attempts.flatMap(
    ({ start, worker, startedAtMs, endedAtMs: ended, failure: record }): RunLogEntry[] => {
      const id = `${key}/${start}`;
      const began: RunLogEntry = { atMs: startedAtMs, event: 'attempt_started', id, ...base, start, worker };
      if (ended === undefined) return [began];
      return [
        began,
        {
          atMs: ended,
          event: record ? 'attempt_failed' : 'attempt_ended',
          id: `${id}/end`,
          ...base,
          start,
          worker,
          tookMs: ended - startedAtMs,
          ...(record && { record }),
        },
      ];
    },
  );
  if (endedAtMs === undefined) return entries;
  const said = failure ? `${call.state}: ${failure.class} (${failure.code})` : call.state;
  const took = call.starts > 0 && call.elapsedMs !== undefined ? { tookMs: call.elapsedMs } : {};
  return [...entries, { atMs: endedAtMs, event: 'outcome', id: `${key}/outcome`, ...base, ...took, said }];
}

function serverEntry({ type, atMs, executionId, by, reason }: ServerEvent): RunLogEntry[] {
  // The run's own end is told by the store, or by the state that the server gives it.
  if (type === 'closed') return [];
  if (type === 'history_gone') return [{ atMs, event: type, id: `${type}/${executionId}`, said: executionId }];
  const who = { ...(by !== undefined && { by }), ...(reason !== undefined && { note: reason }) };
  return [{ atMs, event: type, id: `${type}/${executionId}/${atMs}`, ...who }];
}

/** What was taken back, which is found nowhere else any more, then who did what. */
function interventionLog(
  run: RunDescription,
  intervention: InterventionDescription,
  onServer: readonly ServerEvent[],
): RunLogEntry[] {
  const { id, kind, atMs, by, note, former, calls } = intervention;
  const outcomes = calls.flatMap(({ key, outcome }) =>
    outcome ? [formerOutcome(outcome, outcomeAtMs(run, key, atMs), `${key}/outcome/${id}`)] : [],
  );
  const endedAtMs = onServer.findLast((event) => event.type === 'closed' && event.atMs <= atMs)?.atMs ?? atMs;
  const end = former
    ? [...capEntry(former, endedAtMs, `cap/${id}`), endEntry(former.status, former, endedAtMs, `end/${id}`)]
    : [];
  const did: RunLogEntry = {
    atMs,
    event: kind === 'retry' ? 'retried' : kind === 'resolution' ? 'resolved' : 'restarted',
    id: `${kind}/${id}`,
    ...placeOf(run, intervention),
    by,
    ...(note !== undefined && { note }),
    said: didWords(intervention),
  };
  return [...outcomes, ...end, did];
}

/** A resolution is about one call; the others are about the run. */
function placeOf(run: RunDescription, { kind, calls }: InterventionDescription): Partial<RunLogEntry> {
  const [call] = calls;
  if (kind !== 'resolution' || !call) return {};
  const tool = callOf(run, call.key)?.tool ?? call.outcome?.tool;
  return { callId: call.callId, ...(tool !== undefined && { tool }) };
}

function didWords({ kind, happened, askAgain, calls }: InterventionDescription): string {
  if (kind === 'resolution') return happened ? 'it happened' : 'it did not happen';
  const again = calls.length > 0 ? `runs again: ${calls.map(({ callId }) => callId).join(', ')}` : '';
  return [askAgain ? 'the model is asked anew' : '', again].filter((words) => words !== '').join('; ');
}

function formerOutcome(outcome: Outcome, atMs: number, id: string): RunLogEntry {
  const { callId, tool, status, attempts, elapsedMs } = outcome;
  const said = 'failure' in outcome ? `${status}: ${outcome.failure.class} (${outcome.failure.code})` : status;
  return { atMs, event: 'outcome', id, callId, tool, ...(attempts > 0 && { tookMs: elapsedMs }), said };
}

/** When the outcome was written that stood until `untilMs`: with the end of the last start, or by a person's word after it. */
function outcomeAtMs(run: RunDescription, key: string, untilMs: number): number {
  const ends = callOf(run, key)?.attempts.flatMap(({ endedAtMs }) => endedAtMs ?? []) ?? [];
  const words = (run.interventions ?? []).filter((one) => one.calls.some((call) => call.key === key));
  const before = [
    ...ends.filter((atMs) => atMs <= untilMs),
    ...words.map(({ atMs }) => atMs).filter((atMs) => atMs < untilMs),
  ];
  return before.length === 0 ? untilMs : Math.max(...before);
}

function callOf({ steps }: RunDescription, key: string): CallDescription | undefined {
  return steps.flatMap(({ calls }) => calls).find((call) => call.key === key);
}

function capEntry({ termination }: AgentRunResult, atMs: number, id: string): RunLogEntry[] {
  return termination.reason.endsWith('_cap') ? [{ atMs, event: 'cap_reached', id, said: termination.summary }] : [];
}

/** A cap is reached where the work before the last words ended: nothing else tells the moment. */
function beforeLastWords(steps: readonly StepDescription[]): number | undefined {
  const last = steps.findLast(({ calls }) => calls.length > 0);
  return last && Math.max(last.atMs, ...last.calls.map(({ endedAtMs = 0 }) => endedAtMs));
}

function endEntry(state: string, result: AgentRunResult | undefined, atMs: number, id: string): RunLogEntry {
  const why = result ? `: ${result.termination.summary}` : '';
  return { atMs, event: 'run_ended', id, said: `${state}${why}` };
}
