import type { CallDescription } from '../../client/run-description.js';
import type { Failure } from '../../contract/failure.js';
import type { Json } from '../../contract/json.js';
import type { AttemptRecord } from '../../store/records.js';
import { formatDuration } from './duration.js';
import { callMark, paintCallState } from './state-word.js';
import type { Style } from './style.js';
import { cutToWidth, displayWidth, oneLine } from './text-width.js';

/** `find_order {"orderId":"1042"}` on one line; `columns` wide at most. */
export function callTitle(call: Pick<CallDescription, 'tool' | 'arguments' | 'rawArguments'>, columns: number): string {
  const args = typeof call.arguments === 'object' ? JSON.stringify(call.arguments) : call.arguments;
  return cutToWidth(oneLine(`${call.tool} ${args ?? call.rawArguments ?? ''}`), columns);
}

/** How the call stands, in a few words: `120 ms`, `validation_error, not run`, `running, start 2`. */
export function callFate(call: CallDescription): string {
  const took = call.elapsedMs === undefined || call.starts === 0 ? [] : [formatDuration(call.elapsedMs)];
  // A client that retries by itself is seen here first.
  const seen =
    call.attemptsSeen !== undefined && call.attemptsSeen > call.starts ? [`${call.attemptsSeen} attempts seen`] : [];
  const starts = [...(call.starts > 1 ? [`${call.starts} starts`] : []), ...seen];
  switch (call.state) {
    case 'succeeded':
      return [...took, ...starts].join(', ');
    case 'failed':
    case 'aborted':
      return [call.failure?.class ?? call.state, ...(call.starts === 0 ? ['not run'] : took), ...starts].join(', ');
    case 'running':
    case 'retrying':
      return call.starts > 1 || call.state === 'retrying' ? `${call.state}, start ${call.starts}` : call.state;
    case 'partial':
    case 'pending':
    case 'waiting':
      return [call.state, ...took, ...starts].join(', ');
  }
}

/** The call's first line: mark, id, tool with arguments, and its fate; never wider than the terminal. */
export function callLine(call: CallDescription, style: Style, indent = ''): string {
  const fate = cutToWidth(callFate(call), Math.floor(style.columns / 2));
  const head = `${indent}${callMark(call.state)} ${call.callId}  `;
  const titleColumns = style.columns - displayWidth(head) - displayWidth(fate) - (fate === '' ? 0 : 2);
  const mark = paintCallState(call.state, style.colours, callMark(call.state));
  const end = fate === '' ? '' : `  ${call.failure ? style.colours.red(fate) : style.colours.dim(fate)}`;
  return `${indent}${mark} ${style.colours.dim(call.callId)}  ${callTitle(call, titleColumns)}${end}`;
}

/** A failure as the model was told it, without the JSON around. */
export function failureWords({ message, suggestedAction }: Failure): string {
  // After a list of violations the advice would read as a part of the last one.
  return [message, suggestedAction].filter((words) => words !== '').join(message.includes('\n') ? '\n' : ' ');
}

/** One start of the body on one line, without its details. */
export function attemptLine(call: CallDescription, attempt: AttemptRecord): string {
  const failure = attempt.failure ? `  ${attemptFailureWords(attempt.failure)}` : '';
  return `start ${attempt.start} ${attemptFate(call, attempt)}${failure}`;
}

/** How one start of the body went: `failed after 1.2 s`, `running`, `no end reported`. */
export function attemptFate(call: CallDescription, { start, startedAtMs, endedAtMs, failure }: AttemptRecord): string {
  if (endedAtMs === undefined) {
    return call.state === 'running' && start === call.starts ? 'running' : 'no end reported';
  }
  return `${failure ? 'failed' : 'ended'} after ${formatDuration(endedAtMs - startedAtMs)}`;
}

export function attemptFailureWords(record: Record<string, Json>): string {
  const parts = [record['error_type'], record['upstream_status'], record['error_message']];
  return oneLine(parts.filter((part) => typeof part === 'string' || typeof part === 'number').join(' '));
}
