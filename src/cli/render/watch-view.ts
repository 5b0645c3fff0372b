import { type CallDescription, countersOf, type RunDescription } from '../../client/run-description.js';
import type { RunLimits } from '../../contract/run-limits.js';
import { callLine } from './call-lines.js';
import { formatDuration } from './duration.js';
import { isEnded } from './progress.js';
import { countWords } from './step-view.js';
import type { Style } from './style.js';
import { cutToWidth, oneLine } from './text-width.js';

/** More open calls than that push the rest of the view off a small terminal. */
const MAX_OPEN_CALLS = 8;

/** The live lines of `perdure watch`: open calls with their waits, tools that are down, budgets, and what goes on. */
export function renderWatch(
  run: RunDescription,
  limits: RunLimits | undefined,
  spinner: string,
  style: Style,
): string[] {
  const open = run.steps.flatMap((step) => step.calls.filter((call) => !isEnded(call)));
  const calls = open.slice(0, MAX_OPEN_CALLS).flatMap((call) => openCall(run, call, style));
  const more = open.length > MAX_OPEN_CALLS ? [style.colours.dim(`  and ${open.length - MAX_OPEN_CALLS} more`)] : [];
  const down = downTools(run);
  const step = run.steps.at(-1)?.step ?? 0;
  const head = `${spinner} ${oneLine(run.id)}  ${doing(run, open)}  ${secondsSince(run.startedAtMs, style)}  ${countWords(run)}`;
  return [
    ...calls,
    ...more,
    ...modelWait(run, style),
    ...(down.length > 0 ? [style.colours.red(cutToWidth(`  down: ${down.join(', ')}`, style.columns))] : []),
    ...budgetLines(run, limits, style),
    style.colours.dim(cutToWidth(step === 0 ? head : `${head}, step ${step}`, style.columns)),
  ];
}

function openCall(run: RunDescription, call: CallDescription, style: Style): string[] {
  const work = run.server?.pending.find((one) => one.id === call.callId);
  const last = call.attempts.findLast((attempt) => attempt.failure)?.failure?.['error_type'];
  const why = typeof last === 'string' ? `after ${last}` : work?.lastFailure;
  const inMs = work?.state === 'scheduled' ? (work.nextAttemptAtMs ?? 0) - style.nowMs : 0;
  const wait = inMs > 0 ? `next start in ${formatDuration(Math.ceil(inMs / 1_000) * 1_000)}` : undefined;
  const running = call.state === 'running' ? runningFor(call, style) : undefined;
  const words = [wait, running, why && oneLine(why)].filter((part) => part !== undefined).join(', ');
  const line = callLine(call, style, '  ');
  return words === '' ? [line] : [line, style.colours.yellow(cutToWidth(`          ${words}`, style.columns))];
}

function runningFor(call: CallDescription, style: Style): string | undefined {
  const started = call.attempts.at(-1)?.startedAtMs;
  return started === undefined ? undefined : `running for ${secondsSince(started, style)}`;
}

/** A model turn that is tried again looks like a slow model. */
function modelWait(run: RunDescription, style: Style): string[] {
  const turn = run.server?.pending.find((one) => one.activity === 'callModel' && one.lastFailure !== undefined);
  if (!turn) return [];
  const inMs = (turn.nextAttemptAtMs ?? 0) - style.nowMs;
  const wait = inMs > 0 ? `next try in ${formatDuration(Math.ceil(inMs / 1_000) * 1_000)}` : `try ${turn.attempt}`;
  return [style.colours.yellow(cutToWidth(`  ↻ model: ${wait}, ${oneLine(turn.lastFailure ?? '')}`, style.columns))];
}

/** Tools whose last call was refused because their breaker is open or the run's fuse is blown. */
export function downTools(run: RunDescription): string[] {
  const last = new Map(run.steps.flatMap((step) => step.calls).map((call) => [call.tool, call]));
  return [...last.values()].filter(isDown).map((call) => {
    const seconds = call.failure?.retryAfterMs;
    return oneLine(seconds === undefined ? call.tool : `${call.tool} (again after ${formatDuration(seconds)})`);
  });
}

function isDown(call: CallDescription): boolean {
  const waiting = call.attempts.at(-1)?.failure?.['error_type'];
  const word = isEnded(call) ? call.failure?.class : waiting;
  return word === 'tool_temporarily_disabled';
}

/** What is used of each limit that the run has: `steps 3 of 25, cost $0.0100 of $2`. */
export function budgetLines(run: RunDescription, limits: RunLimits | undefined, style: Style): string[] {
  if (!limits) return [];
  const used = run.result?.counters ?? countersOf(run.steps);
  const elapsed = (run.endedAtMs ?? style.nowMs) - run.startedAtMs;
  const rows: [string, number | null, number, (value: number) => string][] = [
    ['steps', limits.steps, used.steps, String],
    ['calls', limits.calls, used.calls, String],
    ['tokens', limits.tokens, used.inputTokens + used.outputTokens, (value) => value.toLocaleString('en-US')],
    ['cost', limits.costUsd, used.costUsd, (value) => `$${Number(value.toFixed(4))}`],
    ['time', limits.wallTimeMs, elapsed, formatDuration],
    ['failed calls', limits.failures, used.failures, String],
  ];
  const parts = rows.flatMap(([name, limit, value, word]) =>
    limit === null ? [] : [`${name} ${word(value)} of ${word(limit)}`],
  );
  return parts.length === 0 ? [] : [style.colours.dim(cutToWidth(`  ${parts.join(', ')}`, style.columns))];
}

function doing(run: RunDescription, open: readonly CallDescription[]): string {
  if (run.state !== 'running') return run.state === 'waiting' ? 'waiting for a worker' : run.state;
  return open.length > 0 ? 'calling' : 'thinking';
}

function secondsSince(atMs: number, style: Style): string {
  const seconds = Math.max(0, Math.floor((style.nowMs - atMs) / 1_000));
  return seconds < 60 ? `${seconds} s` : formatDuration(seconds * 1_000);
}
