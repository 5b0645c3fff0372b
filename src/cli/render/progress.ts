import type { CallDescription, RunDescription, StepDescription } from '../../client/run-description.js';
import { callLine, failureWords } from './call-lines.js';
import { formatDuration } from './duration.js';
import { countWords } from './step-view.js';
import type { Style } from './style.js';
import { cutToWidth, displayWidth, oneLine } from './text-width.js';

/** Something that happened between two looks at a run. */
export type ProgressEvent =
  | { type: 'turn'; step: StepDescription }
  /** A start of the body failed and another follows. */
  | { type: 'retry'; call: CallDescription }
  | { type: 'call'; call: CallDescription };

/** What is new in `after`, in the order of steps and calls. `before` is absent at the first look. */
export function progressBetween(before: RunDescription | undefined, after: RunDescription): ProgressEvent[] {
  // A retry may put calls in the place of the answer that ended the run.
  const stepsWithCalls = new Set(before?.steps.filter((step) => step.calls.length > 0).map((step) => step.step));
  const answers = new Set(before?.steps.filter((step) => step.calls.length === 0).map((step) => step.step));
  const seenCalls = new Map(before?.steps.flatMap((step) => step.calls.map((call) => [call.key, call] as const)));
  return after.steps.flatMap((step) => [
    ...((step.calls.length > 0 ? stepsWithCalls : answers).has(step.step) ? [] : [{ type: 'turn' as const, step }]),
    ...step.calls.flatMap((call) => callProgress(seenCalls.get(call.key), call)),
  ]);
}

function callProgress(before: CallDescription | undefined, after: CallDescription): ProgressEvent[] {
  if (isEnded(after)) {
    // A retry or a person may give an ended call another outcome.
    const isKnown =
      before?.state === after.state && before.starts === after.starts && before.endedAtMs === after.endedAtMs;
    return isKnown ? [] : [{ type: 'call', call: after }];
  }
  const failedBefore = before?.attempts.filter((attempt) => attempt.failure).length ?? 0;
  const failedNow = after.attempts.filter((attempt) => attempt.failure).length;
  return failedNow > failedBefore ? [{ type: 'retry', call: after }] : [];
}

export function isEnded(call: CallDescription): boolean {
  return call.state !== 'waiting' && call.state !== 'running' && call.state !== 'retrying';
}

/** The lines that an event leaves behind. A turn's text is one line; the answer itself is printed at the end. */
export function renderProgress(event: ProgressEvent, style: Style): string[] {
  switch (event.type) {
    case 'turn': {
      if (event.step.calls.length === 0) return [];
      const label = `step ${event.step.step}`;
      const words = oneLine(event.step.text);
      const text = cutToWidth(words, style.columns - displayWidth(label) - 2);
      return [text === '' ? style.colours.bold(label) : `${style.colours.bold(label)}  ${text}`];
    }
    case 'retry': {
      const failed = event.call.attempts.filter((attempt) => attempt.failure).at(-1);
      const type = failed?.failure?.['error_type'];
      const why = typeof type === 'string' ? type : 'failed';
      const line = `↻ ${event.call.callId}  ${event.call.tool} start ${failed?.start ?? event.call.starts}: ${why}, trying again`;
      return [style.colours.yellow(cutToWidth(`  ${oneLine(line)}`, style.columns))];
    }
    case 'call': {
      const line = callLine(event.call, style, '  ');
      if (!event.call.failure) return [line];
      const words = cutToWidth(oneLine(failureWords(event.call.failure)), style.columns - 10);
      return [line, style.colours.dim(`          ${words}`)];
    }
  }
}

const MAX_LIVE_CALLS = 4;

/** The lines that change while the run goes on: calls under way, then what is waited for. At most `1 + MAX_LIVE_CALLS`. */
export function renderLive(run: RunDescription, spinner: string, style: Style): string[] {
  const open = run.steps.flatMap((step) => step.calls.filter((call) => !isEnded(call)));
  const calls = open.slice(0, MAX_LIVE_CALLS).map((call) => callLine(call, style, '  '));
  const more = open.length > MAX_LIVE_CALLS ? [style.colours.dim(`  and ${open.length - MAX_LIVE_CALLS} more`)] : [];
  const seconds = Math.max(0, Math.floor((style.nowMs - run.startedAtMs) / 1_000));
  const took = seconds < 60 ? `${seconds} s` : formatDuration(seconds * 1_000);
  const line = cutToWidth(`${spinner} ${run.id}  ${doingWord(run, open)}  ${took}  ${countWords(run)}`, style.columns);
  return [...calls, ...more, style.colours.dim(line)];
}

function doingWord(run: RunDescription, open: readonly CallDescription[]): string {
  if (run.state === 'waiting') return 'starting';
  return open.length > 0 ? 'calling' : 'thinking';
}
