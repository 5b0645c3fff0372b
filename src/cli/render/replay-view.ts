import type { ReplayedExecution } from '../../replay/replay-executions.js';
import { type Style, textColumns } from './style.js';
import { oneLine, wrapToWidth } from './text-width.js';
import { renderTable } from './table.js';

const LABEL_COLUMNS = 13;

/** One execution and how it replayed, on one line. */
export function renderReplayed({ id, executionId, events, status, finding }: ReplayedExecution, style: Style): string {
  const { green, red, dim } = style.colours;
  const at = finding ? ` at event ${finding.eventId}` : '';
  const how = status === 'replays' ? green('✓ replays') : red(`✗ ${status === 'broken' ? 'fails' : status}${at}`);
  const which = executionId === '' ? '' : `  ${dim(executionId)}`;
  return `${how}  ${oneLine(id)}${which}  ${dim(counted(events, 'event'))}`;
}

/** What does not fit, in words, and what to do about it. */
export function renderFinding({ id, workflowType, closed, status, finding }: ReplayedExecution, style: Style): string {
  if (!finding) return '';
  const { bold } = style.colours;
  const { eventId, recorded, wanted, reason, step, callId, tool, advice } = finding;
  const call = callId === undefined ? '' : `, call ${callId}${tool === undefined ? '' : ` of ${tool}`}`;
  const facts: [string, string | undefined][] = [
    ['the history', wanted === undefined && status === 'broken' ? undefined : recorded],
    ['the code', wanted],
    ['where', step === undefined ? undefined : `step ${step}${call}`],
    [wanted === undefined ? 'the code says' : 'Temporal says', reason],
  ];
  const title = `${bold(oneLine(id))}, event ${eventId} of ${workflowType} (${closed ? 'closed' : 'open'})`;
  return [
    title,
    ...facts.flatMap(([label, text]) => (text === undefined ? [] : fact(label, text, style))),
    bold('what to do'),
    ...advice.flatMap((text) => listed(text, style)),
  ].join('\n');
}

/** How many executions of each kind of workflow replayed, for a gate before a deployment. */
export function renderReplaySummary(all: readonly ReplayedExecution[], style: Style): string {
  if (all.length === 0) return 'There is no run to replay.';
  const types = [...new Set(all.map((one) => one.workflowType))].sort();
  const rows = types.map((type) => {
    const of = all.filter((one) => one.workflowType === type);
    const count = (status: ReplayedExecution['status']): string =>
      String(of.filter((one) => one.status === status).length);
    const events = of.reduce((sum, one) => sum + one.events, 0);
    return [type, String(of.length), String(events), count('replays'), count('diverges'), count('broken')];
  });
  return renderTable(['WORKFLOW', 'EXECUTIONS', 'EVENTS', 'REPLAY', 'DIVERGE', 'FAIL'], rows, style);
}

function fact(label: string, text: string, style: Style): string[] {
  const lines = wrapToWidth(text, textColumns(style, LABEL_COLUMNS + 4));
  return lines.map((line, index) =>
    index === 0
      ? `  ${style.colours.dim(label.padEnd(LABEL_COLUMNS))}  ${line}`
      : `${' '.repeat(LABEL_COLUMNS + 4)}${line}`,
  );
}

function listed(text: string, style: Style): string[] {
  return wrapToWidth(text, textColumns(style, 4)).map((line, index) => `${index === 0 ? '  - ' : '    '}${line}`);
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
