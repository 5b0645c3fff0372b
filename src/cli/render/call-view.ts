import type { CallDescription } from '../../client/run-description.js';
import type { Json, JsonObject } from '../../contract/json.js';
import { counted } from '../../policy/counted.js';
import { retryRemedy } from '../../policy/retry-owner.js';
import type { AttemptRecord } from '../../store/records.js';
import { attemptFate, callFate } from './call-lines.js';
import { formatMoment } from './duration.js';
import { callMark, paintCallState } from './state-word.js';
import { textColumns, type Style } from './style.js';
import { oneLine, padToWidth, wrapToWidth } from './text-width.js';

const LABEL_COLUMNS = 18;

/** The view of `perdure show RUN --call c3.1`: everything about one call, for the model first, for operators after. */
export function renderCall(runId: string, call: CallDescription, style: Style): string {
  return [
    renderHead(runId, call, style),
    block('arguments, as the model wrote them', argumentLines(call, style), style),
    block('what the model was given', modelLines(call, style), style),
    block('what happened, for operators', attemptLines(call, style), style),
  ].join('\n\n');
}

function renderHead(runId: string, call: CallDescription, style: Style): string {
  const fate = callFate(call);
  const state = paintCallState(call.state, style.colours, `${callMark(call.state)} ${call.state}`);
  const facts: [string, string | undefined][] = [
    ['run', oneLine(runId)],
    ['outcome', fate === '' || fate.startsWith(call.state) ? fate || undefined : `${call.state}, ${fate}`],
    ['effect', call.effect],
    ['effect state', call.effectState],
    ['starts', String(call.starts)],
    ['seen by backend', call.attemptsSeen === undefined ? undefined : counted(call.attemptsSeen, 'attempt')],
    ['ledger', call.ledger],
    ['key', call.key],
    ['digest', call.digest],
  ];
  const title = `${style.colours.bold(`${call.callId} ${oneLine(call.tool)}`)}  ${state}`;
  return [title, ...facts.flatMap(([label, value]) => (value === undefined ? [] : [fact(label, value, style)]))].join(
    '\n',
  );
}

function fact(label: string, value: string, style: Style): string {
  return `  ${style.colours.dim(padToWidth(label, LABEL_COLUMNS))}${value}`;
}

function block(title: string, lines: string[], style: Style): string {
  return [style.colours.bold(title), ...lines].join('\n');
}

function argumentLines(call: CallDescription, style: Style): string[] {
  const raw = call.rawArguments ?? (call.arguments === undefined ? undefined : asText(call.arguments));
  if (raw === undefined) return [style.colours.dim('  not recorded')];
  const repairs = call.repairs ?? [];
  const note = repairs.length === 0 ? [] : [style.colours.dim(`  repaired before reading: ${repairs.join(', ')}`)];
  return [...jsonLines(raw, style), ...note];
}

function modelLines(call: CallDescription, style: Style): string[] {
  return call.modelSees === undefined ? [style.colours.dim('  nothing yet')] : jsonLines(call.modelSees, style);
}

/** JSON text spread over lines; other text as it is. */
function jsonLines(text: string, style: Style): string[] {
  return wrapToWidth(spread(text), textColumns(style, 2)).map((line) => `  ${line}`);
}

export function spread(text: string): string {
  try {
    // Only spread where nothing is changed by it: numbers beyond double precision would be.
    const value = JSON.parse(text) as Json;
    return JSON.stringify(value) === text.trim() ? JSON.stringify(value, null, 2) : text;
  } catch {
    return text;
  }
}

function attemptLines(call: CallDescription, style: Style): string[] {
  if (call.attempts.length > 0) return call.attempts.flatMap((attempt) => attemptBlock(call, attempt, style));
  return [style.colours.dim(call.starts === 0 ? '  the body was never started' : '  no start was recorded')];
}

function attemptBlock(call: CallDescription, attempt: AttemptRecord, style: Style): string[] {
  const title = `  start ${attempt.start}  ${attemptFate(call, attempt)}`;
  const painted = attempt.failure ? style.colours.red(title) : title;
  const facts = [
    fact('  at', formatMoment(attempt.startedAtMs), style),
    fact('  worker', oneLine(attempt.worker), style),
  ];
  const requests = requestLines(attempt.requests).map((line) => fact('  requests', line, style));
  return [painted, ...facts, ...requests, ...(attempt.failure ? recordLines(attempt.failure, style) : [])];
}

/** What a start sent, and what of it its client sent again by itself. */
function requestLines(requests: AttemptRecord['requests']): string[] {
  if (!requests) return [];
  const { sent, reported, retried = [] } = requests;
  const total =
    reported === undefined ? `${sent} sent` : `${sent} sent, ${counted(reported, 'attempt')} reported by the backend`;
  const again = retried.map(
    ({ method, host, path, attempts, after, client }) =>
      `${attempts} × ${oneLine(`${method} ${host}${path}`)} after ${after.join(', ')}: ` +
      `${client ?? 'the client'} retried by itself; ${retryRemedy(client)}`,
  );
  return [total, ...again];
}

/** What the head of the view says already. */
const TOLD_ABOVE = new Set(['at', 'worker', 'tool', 'call_id', 'idempotency_key', 'run_key', 'attempt']);

/** The operator's record, field by field in the order it was written; long and structured values on lines of their own. */
function recordLines(record: JsonObject, style: Style): string[] {
  const fields = Object.entries(record).filter(([name]) => !TOLD_ABOVE.has(name));
  return fields.flatMap(([name, value]) => {
    const text = asText(value);
    const inline = !text.includes('\n') && text.length <= textColumns(style, LABEL_COLUMNS + 2);
    if (inline) return [fact(`  ${oneLine(name)}`, oneLine(text), style)];
    const lines = wrapToWidth(text, textColumns(style, 6)).map((line) => `      ${line}`);
    return [`  ${style.colours.dim(`  ${oneLine(name)}`)}`, ...lines];
  });
}

function asText(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
