import type { JsonObject } from '../contract/json.js';
import type { CallDescription, RunDescription } from './run-description.js';

/** One thing that happened in a run, for operators. */
export interface RunLogEntry {
  atMs: number;
  event: 'run_started' | 'turn' | 'attempt_started' | 'attempt_failed' | 'attempt_ended' | 'outcome' | 'run_ended';
  /** Equal for the same thing in every look at the run. */
  id: string;
  step?: number;
  callId?: string;
  tool?: string;
  /** 1 for the first start of the body. */
  start?: number;
  worker?: string;
  /** How long the start, or the whole call, took. */
  tookMs?: number;
  /** State of the call or of the run, or the model's words. */
  said?: string;
  /** The operator's record of a failed start, as it was stored; redacted. */
  record?: JsonObject;
}

/** Everything that the store knows to have happened in a run, in the order of time. */
export function runLog(run: RunDescription): RunLogEntry[] {
  const entries: RunLogEntry[] = [{ atMs: run.startedAtMs, event: 'run_started', id: 'run', said: run.task }];
  for (const { step, atMs, text, node, calls } of run.steps) {
    if (node !== undefined) entries.push({ atMs, event: 'turn', id: `turn/${node}`, step, said: text });
    for (const call of calls) entries.push(...callLog(step, call));
  }
  if (run.endedAtMs !== undefined) {
    const why = run.result ? `: ${run.result.termination.summary}` : '';
    entries.push({ atMs: run.endedAtMs, event: 'run_ended', id: 'end', said: `${run.state}${why}` });
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
