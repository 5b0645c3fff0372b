/**
 * The laws of docs/guarantees.md, checked on what the witnesses say of a run that has ended. Written against the promises,
 * not against the code: nothing of `src/policy` is imported, and a key is hashed here anew.
 */
import { createHash } from 'node:crypto';
import type { OracleLine } from '../support/oracle.js';
import type { ActivityEvidence, Execution, Json, JsonObject, RunEvidence, StoredCall } from './evidence.js';
import type { PlannedCall } from './program.js';

/**
 * P: one outcome, E: keyed effects, N: once effects, S: counters, K: keys, C: cancellation, L: liveness, R: replay,
 * B: attempts, F: final state.
 */
export type Law = 'P' | 'E' | 'N' | 'S' | 'K' | 'C' | 'L' | 'R' | 'B' | 'F';

export interface Violation {
  law: Law;
  workflowId: string;
  callId?: string;
  what: string;
}

/** More starts than any class has that the oracle's answers belong to (`external_service_unavailable`, three). */
const mostRequests = 3;

function text(value: Json | undefined): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Of the run and of its agents' runs. */
export function checkLaws(run: RunEvidence): Violation[] {
  const found: Violation[] = [];
  const break_ = (law: Law, what: string, callId?: string): void => {
    found.push({ law, workflowId: run.workflowId, what, ...(callId === undefined ? {} : { callId }) });
  };
  checkEnd(run, break_);
  for (const execution of run.executions) {
    checkTurns(run, execution, break_);
    if (execution.cancelRequested && execution.closed === 'continued') {
      break_('C', 'it was asked to cancel and continued as new');
    }
  }
  checkTranscript(run, break_);
  checkCounters(run, break_);
  checkKeys(run, break_);
  for (const planned of run.program.calls) {
    if (planned.tool !== 'agent') checkCall(run, planned, break_);
  }
  return [...found, ...run.children.flatMap(checkLaws)];
}

type Break = (law: Law, what: string, callId?: string) => void;

function newest(run: RunEvidence): Execution {
  const execution = run.executions.at(-1);
  if (!execution) throw new Error(`${run.workflowId} has no execution`);
  return execution;
}

function checkEnd(run: RunEvidence, break_: Break): void {
  const { closed, result } = newest(run);
  if (closed === 'open') return break_('L', 'it has not ended');
  if (run.cancelled && closed === 'cancelled') return;
  if (closed !== 'completed') return break_('F', `it ended as ${closed}`);
  const { status, answer } = result as JsonObject;
  if (status !== 'completed' || answer !== run.program.answer) {
    break_('F', `it ended as ${text(status)} with the answer ${JSON.stringify(answer)}`);
  }
}

interface Turn {
  step: number;
  /** As the model asked for them, in its order. */
  calls: { callId: string; key: string; ready: boolean }[];
  endedAt: number;
}

function turnOf(activity: ActivityEvidence): Turn {
  const result = activity.result as {
    calls: { status: string; call?: JsonObject; callId?: string; outcome?: JsonObject }[];
  };
  return {
    step: Number(activity.input['step']),
    endedAt: activity.endedAt ?? 0,
    calls: result.calls.map(({ status, call, callId, outcome }) => ({
      callId: text(call?.['callId'] ?? callId),
      key: text(call?.['key'] ?? outcome?.['key']),
      ready: status === 'ready',
    })),
  };
}

interface Answered {
  callId: string;
  key: string;
  refused?: JsonObject;
}

/** P, in the history: each turn is answered in full, once and in order, before anything is asked again. */
function checkTurns(run: RunEvidence, execution: Execution, break_: Break): void {
  const turns = execution.activities
    .filter(({ type, ended }) => type === 'callModel' && ended === 'completed')
    .map(turnOf);
  for (const turn of turns) {
    if (turn.calls.length === 0) continue;
    const next = execution.activities.find(
      ({ type, scheduledAt }) => (type === 'callModel' || type === 'finishRun') && scheduledAt > turn.endedAt,
    );
    const answered = (next ? next.input['answered'] : execution.carried?.['answered']) as Answered[] | undefined;
    // Terminated by a reset, or cancelled: nothing was asked after this turn.
    if (!answered) continue;
    const asked = turn.calls.map(({ callId, key }) => `${callId} ${key}`);
    const told = answered.map(({ callId, key }) => `${callId} ${key}`);
    if (asked.join() !== told.join()) {
      break_('P', `turn ${turn.step} asked for ${asked.join(', ')} and was answered ${told.join(', ')}`);
    }
    for (const call of turn.calls) {
      const refused = answered.find(({ callId }) => callId === call.callId)?.refused;
      const ends = execution.activities.filter((activity) => isEndOf(activity, call.callId));
      if (call.ready && !refused && ends.length === 0)
        break_('P', 'it was answered though nothing had ended', call.callId);
      if (next && ends.some(({ endedAt = Infinity }) => endedAt > next.scheduledAt)) {
        break_('P', `its outcome came after turn ${turn.step + 1} was asked`, call.callId);
      }
    }
  }
  const steps = turns.map(({ step }) => step);
  if (steps.some((step, index) => index > 0 && step < (steps[index - 1] ?? 0))) {
    break_('S', `steps do not rise: ${steps.join(', ')}`);
  }
}

function isEndOf({ type, input, ended }: ActivityEvidence, callId: string): boolean {
  const ends = type === 'callTool' || type === 'settleCall' || type === 'closeAgentCall' || type === 'openAgentCall';
  return ends && ended !== undefined && (input['call'] as JsonObject)['callId'] === callId;
}

/** P, in the store: the conversation answers each call once, in order, with the stored bytes. */
function checkTranscript(run: RunEvidence, break_: Break): void {
  const messages = run.transcript;
  messages.forEach(({ role, calls = [] }, index) => {
    if (role !== 'assistant' || calls.length === 0) return;
    const after = messages.slice(index + 1);
    const end = after.findIndex((message) => message.role !== 'tool');
    const told = after.slice(0, end === -1 ? undefined : end);
    // The last turn of a run that was cancelled is never answered to a model.
    if (told.length === 0 && end === -1) return;
    if (told.map(({ callId }) => callId).join() !== calls.map(({ callId }) => callId).join()) {
      break_(
        'P',
        `the conversation answers ${told.map(({ callId }) => callId).join()} to ${JSON.stringify(calls.map(({ callId }) => callId))}`,
      );
    }
    for (const message of told) {
      const stored = run.calls.find(({ callId }) => callId === message.callId);
      if (stored?.rendered?.content !== message.content)
        break_('P', 'the model was told something else than is stored', message.callId);
    }
  });
}

function checkCounters(run: RunEvidence, break_: Break): void {
  const { closed, result } = newest(run);
  const { program } = run;
  const carried = run.executions.flatMap((execution) =>
    execution.carried ? [execution.carried['counters'] as JsonObject] : [],
  );
  for (const counters of carried) {
    if (Number(counters['steps']) > program.steps || Number(counters['calls']) > program.charged) {
      break_('S', `continue-as-new carried ${JSON.stringify(counters)}, the whole run has ${program.steps} steps`);
    }
  }
  for (const execution of run.executions) {
    const before = (execution.input['carried'] as JsonObject | undefined)?.['counters'] as JsonObject | undefined;
    const after = execution.carried?.['counters'] as JsonObject | undefined;
    for (const [name, count] of Object.entries(before ?? {})) {
      if (after && Number(after[name]) < Number(count))
        break_('S', `${name} fell from ${text(count)} to ${text(after[name])}`);
    }
  }
  if (closed !== 'completed') return;
  const { steps, calls } = (result as { counters: { steps: number; calls: number } }).counters;
  if (steps !== program.steps) break_('S', `${steps} steps were counted, ${program.steps} were taken`);
  if (calls !== program.charged) break_('S', `${calls} calls were counted, ${program.charged} were made`);
}

/** One key a call, whatever was restarted, continued or reset; and it is the hash that the documentation says. */
function checkKeys(run: RunEvidence, break_: Break): void {
  const keys = new Map<string, Set<string>>();
  const see = (callId: string, key: Json | undefined): void => {
    keys.set(callId, (keys.get(callId) ?? new Set()).add(text(key)));
  };
  for (const { activities } of run.executions) {
    for (const { type, input, ended, result } of activities) {
      const call = input['call'] as JsonObject | undefined;
      if (call && typeof call['callId'] === 'string') {
        see(call['callId'], call['key']);
        const parts = [call['runKey'], call['callId'], call['tool'], call['digest']];
        const key = `k1:${createHash('sha256').update(JSON.stringify(parts)).digest('hex')}`;
        if (key !== call['key']) break_('K', `its key is not the hash of ${JSON.stringify(parts)}`, call['callId']);
        if (call['runKey'] !== run.runKey)
          break_('K', `it was made for the run ${text(call['runKey'])}`, call['callId']);
      }
      if (type === 'callModel' && ended === 'completed') {
        const { calls } = result as { calls: { call?: JsonObject }[] };
        for (const { call: made } of calls) if (made) see(text(made['callId']), made['key']);
      }
    }
  }
  for (const { callId, key } of run.calls) see(callId, key);
  for (const { of, callId } of run.program.calls) {
    for (const line of run.lines) if (line.of === of) see(callId, line.key);
  }
  for (const [callId, seen] of keys) {
    if (seen.size > 1) break_('K', `it has the keys ${[...seen].join(', ')}`, callId);
  }
  if (new Set([...keys.values()].flatMap((seen) => [...seen])).size < keys.size) break_('K', 'two calls share a key');
}

function checkCall(run: RunEvidence, planned: PlannedCall, break_: Break): void {
  const { callId, tool, of } = planned;
  const wrong = (law: Law, what: string): void => break_(law, `${tool}: ${what}`, callId);
  const lines = run.lines.filter((line) => line.of === of);
  const effects = lines.filter(({ effect }) => effect).length;
  const rows = run.calls.filter((call) => call.callId === callId);
  if (rows.length > 1) wrong('P', `${rows.length} rows are stored`);
  const [row] = rows;
  if (!row?.outcome || !row.rendered) {
    // A run that was cancelled may have ended before its model asked for this.
    const wasAsked = row !== undefined || lines.length > 0 || isAsked(run, callId);
    if (!run.cancelled || wasAsked) wrong('P', `no outcome is stored; ${effects} effects`);
    return;
  }
  const end = endOf(row);
  checkEffects(planned, { lines, effects, end, state: effectStateOf(row) }, wrong);
  checkAttempts(run, row, lines, wrong);
  checkFinalState(run, planned, row, end, wrong);
}

type Wrong = (law: Law, what: string) => void;

function isAsked(run: RunEvidence, callId: string): boolean {
  return run.executions.some(({ activities }) =>
    activities.some(({ type, input }) => type === 'callTool' && (input['call'] as JsonObject)['callId'] === callId),
  );
}

function endOf({ outcome }: StoredCall): string {
  const failure = outcome?.['failure'] as JsonObject | undefined;
  return text(failure?.['class'] ?? outcome?.['status']);
}

function effectStateOf({ outcome }: StoredCall): string {
  return text((outcome?.['failure'] as JsonObject | undefined)?.['effectState'] ?? 'done');
}

interface Seen {
  lines: OracleLine[];
  effects: number;
  end: string;
  state: string;
}

function checkEffects({ tool }: PlannedCall, { lines, effects, end, state }: Seen, wrong: Wrong): void {
  const law = tool.startsWith('once') ? 'N' : 'E';
  const single = law === 'N' || tool === 'keyed';
  if (single && effects > 1) wrong(law, `it happened ${effects} times`);
  if (end === 'succeeded' && effects === 0) wrong(law, 'it is told as done and never happened');
  if (end !== 'succeeded' && tool !== 'read' && effects > 0 && state === 'none') {
    wrong(law, `it is told as ${end} without an effect, and happened`);
  }
  // What a `once` tool's backend has met may be met again only where it refuses the first for good.
  if (tool === 'once' || tool === 'once_found') {
    if (lines.length > 1) wrong('N', `it was sent ${lines.length} times`);
  }
}

function checkAttempts(run: RunEvidence, row: StoredCall, lines: OracleLine[], wrong: Wrong): void {
  // Attempts are given anew by `perdure retry`, and to an agent that is started again because its parent was reset.
  const resumed = run.executions.filter(({ input }) => input['resume'] !== undefined && !input['carried']).length;
  const stopped = run.executions.filter(({ closed }) => closed === 'cancelled').length;
  const courses = 1 + Math.max(resumed, stopped);
  if (lines.length > mostRequests * courses) wrong('B', `the backend was asked ${lines.length} times`);
  if (lines.length > row.starts) wrong('B', `the backend was asked ${lines.length} times in ${row.starts} starts`);
  // Reads may run side by side, and the first to end tells of itself.
  const told = Number(row.outcome?.['attempts']);
  if (!(row.tool === 'read' ? told <= row.starts : told === row.starts)) {
    wrong('S', `${text(row.outcome?.['attempts'])} attempts are told of ${row.starts} starts`);
  }
  if (row.attempts.length > row.starts)
    wrong('S', `${row.attempts.length} starts are noted, ${row.starts} are counted`);
}

const lostEnds = ['timeout', 'outcome_unknown', 'server_error', 'external_service_unavailable', 'network_error'];

/** The end is the one that was foretold, unless a start was lost or another's end stood in the way; then one that says so. */
function checkFinalState(run: RunEvidence, planned: PlannedCall, row: StoredCall, end: string, wrong: Wrong): void {
  if (end === planned.ended) return;
  const [step, index] = callPosition(planned.callId);
  const siblings = run.calls.filter(({ callId }) => callPosition(callId)[0] === step);
  if (end === 'cancelled' && run.cancelled) return;
  // An agent whose parent was reset while it ran: what that stopped has run again, but for `once` calls that may have
  // happened, and those of the step that may rest on one.
  const isRestarted = run.executions.some(({ closed }) => closed === 'cancelled');
  const restsOnUnknown = siblings.some(
    (call) =>
      call.tool.startsWith('once') && callPosition(call.callId)[1] <= index && effectStateOf(call) === 'unknown',
  );
  if (end === 'cancelled' && isRestarted && planned.tool.startsWith('once') && restsOnUnknown) return;
  if (planned.ended === 'outcome_unknown' && end === 'succeeded') {
    wrong('F', 'nobody could know that it happened, and it is told as done');
    return;
  }
  // The backend's refusal and a lost answer meet: whatever came first counts, and both are told as failures.
  const hasFailed = row.attempts.some(({ failure }) => failure !== null);
  const isUntold = row.attempts.length < row.starts || row.attempts.some(({ failure }) => failure === null);
  if (lostEnds.includes(end) && (hasFailed || isUntold || row.starts > planned.starts)) return;
  // Also after a call that was cancelled and may have happened: a retry does not ask for what may rest on it.
  const followsUnknown = siblings.some(
    (call) => call.tool.startsWith('once') && callPosition(call.callId)[1] < index && effectStateOf(call) === 'unknown',
  );
  if (end === 'skipped' && (followsUnknown || siblings.some((call) => endOf(call) === 'outcome_unknown'))) return;
  if (planned.ended === 'skipped' && !siblings.some((call) => endOf(call) === 'outcome_unknown')) return;
  if (planned.ended === 'skipped' && (end === 'succeeded' || lostEnds.includes(end))) return;
  const failuresOfTool = run.calls.filter((call) => call.tool === row.tool && lostEnds.includes(endOf(call))).length;
  if (end === 'tool_temporarily_disabled' && failuresOfTool >= 3) return;
  wrong('F', `it ended as ${end} after ${row.starts} starts, foretold was ${planned.ended}`);
}

function callPosition(callId: string): [step: number, index: number] {
  const [, step, index] = /^c(\d+)\.(\d+)$/.exec(callId) ?? [];
  return [Number(step), Number(index)];
}
