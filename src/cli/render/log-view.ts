import type { RunLogEntry } from '../../client/run-log.js';
import { attemptFailureWords } from './call-lines.js';
import { formatDuration, formatMoment } from './duration.js';
import type { Style } from './style.js';
import { cutToWidth, oneLine } from './text-width.js';

/** One entry on one line: when, which call, and what happened. */
export function renderLogEntry(entry: RunLogEntry, style: Style): string {
  const { dim, red, yellow, green } = style.colours;
  const line = `${formatMoment(entry.atMs)}  ${subject(entry)}  ${oneLine(happened(entry))}`;
  const cut = cutToWidth(line, style.columns);
  switch (entry.event) {
    case 'attempt_failed':
    case 'cap_reached':
    case 'cancel_requested':
    case 'terminated':
    case 'reset':
    case 'history_gone':
      return yellow(cut);
    case 'outcome':
      return entry.said === 'succeeded' ? green(cut) : red(cut);
    case 'run_started':
    case 'attempt_started':
    case 'attempt_ended':
      return dim(cut);
    case 'turn':
    case 'run_ended':
    case 'retried':
    case 'resolved':
    case 'restarted':
      return cut;
  }
}

function subject({ event, step, callId, tool }: RunLogEntry): string {
  if (callId !== undefined) return oneLine(`${callId} ${tool ?? ''}`);
  return event === 'turn' ? `step ${step ?? 0}` : 'run';
}

function happened(entry: RunLogEntry): string {
  const { event, said = '', start, worker, tookMs, record } = entry;
  const took = tookMs === undefined ? '' : ` after ${formatDuration(tookMs)}`;
  switch (event) {
    case 'run_started':
      return `started: ${said}`;
    case 'turn':
      return said === '' ? 'the model asked for calls' : `the model: ${said}`;
    case 'attempt_started':
      return `start ${start ?? 0} on ${worker ?? 'an unknown worker'}`;
    case 'attempt_failed':
      return `start ${start ?? 0} failed${took}: ${record ? attemptFailureWords(record) : ''}`;
    case 'attempt_ended':
      return `start ${start ?? 0} ended${took}`;
    case 'outcome':
      return `${said}${took}`;
    case 'run_ended':
      return said;
    case 'cap_reached':
      return `no more tools: ${said}`;
    case 'cancel_requested':
      return did('asked to end', entry);
    case 'history_gone':
      return `what Temporal's own commands did to the execution ${said} is not known: the server has its history no more`;
    case 'retried':
    case 'resolved':
    case 'restarted':
    case 'terminated':
    case 'reset':
      return did(event, entry);
  }
}

/** `retried by anna: new token; runs again: c1.0` */
function did(what: string, { by, note, said }: RunLogEntry): string {
  const words = [note, said].filter((part) => part !== undefined && part !== '').join('; ');
  return `${what}${by === undefined ? '' : ` by ${by}`}${words === '' ? '' : `: ${words}`}`;
}
