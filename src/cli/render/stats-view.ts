import { counted } from '../../policy/counted.js';
import type { CallFigures, FailureFigures, ToolFigures } from '../../stats/failure-stats.js';
import type { HiddenRetryFigures } from '../../stats/retry-owners.js';
import { formatDuration } from './duration.js';
import { textColumns, type Style } from './style.js';
import { renderTable } from './table.js';
import { cutToWidth, oneLine, wrapToWidth } from './text-width.js';

/** More hours are no table that anybody reads; `--json` has them all. */
const MOST_HOURS = 24;
const MOST_PATHS = 10;
const MOST_TOOL_COLUMNS = 32;

/** The tables of `perdure stats`: tools, failures, failing arguments, hours. Ends without a line break. */
export function renderStats(figures: FailureFigures, style: Style): string {
  const blocks = [headline(figures), toolTable(figures, style), failureTable(figures, style)];
  return [...blocks, retryTable(figures, style), pathTable(figures, style), hourTable(figures, style)]
    .filter((block) => block !== '')
    .join('\n\n');
}

function headline({ all, runs, stepsPerRun }: FailureFigures): string {
  const parts = [
    `${counted(all.calls, 'call')} in ${counted(runs, 'run')}`,
    all.successRate === undefined ? '' : `${percent(all.successRate)} succeeded`,
    stepsPerRun
      ? `${round(stepsPerRun.mean)} ${stepsPerRun.mean === 1 ? 'step' : 'steps'} a run (median ${stepsPerRun.p50}, most ${stepsPerRun.max})`
      : '',
    all.selfCorrectionRate === undefined
      ? ''
      : `${all.corrected} of ${counted(all.correctable, 'failure')} corrected (${percent(all.selfCorrectionRate)})`,
  ];
  return parts.filter((part) => part !== '').join(', ');
}

function toolTable({ tools }: FailureFigures, style: Style): string {
  const header = ['TOOL', 'CALLS', 'SUCCESS', 'FAILED', 'NOT RUN', 'P50', 'P99', 'ATTEMPTS', 'SEEN', 'CORRECTED'];
  const rows = tools.map((tool) => [
    cutToWidth(oneLine(tool.tool), MOST_TOOL_COLUMNS),
    String(tool.calls),
    tool.successRate === undefined ? '–' : percent(tool.successRate),
    String(tool.failed + tool.aborted),
    String(tool.notRun),
    durationOf(tool.p50Ms),
    durationOf(tool.p99Ms),
    tool.attemptsPerCall === undefined ? '–' : round(tool.attemptsPerCall),
    // Attempts that the backend saw for each that was made: 1 where the executor alone retries.
    tool.startsSeen === 0 ? '–' : `${round(tool.attemptsSeen / tool.startsSeen)}×`,
    corrections(tool),
  ]);
  return renderTable(header, rows, style);
}

function failureTable({ tools, all }: FailureFigures, style: Style): string {
  const failures = tools.flatMap(({ tool, failures }) => failures.map((failure) => ({ tool, ...failure })));
  if (failures.length === 0) return '';
  failures.sort((a, b) => b.count - a.count);
  const ended = all.calls + all.notRun;
  const rows = failures.map(({ tool, family, class: name, code, count }) => [
    name,
    String(count),
    percent(count / ended),
    family,
    code,
    oneLine(tool),
  ]);
  return renderTable(['CLASS', 'COUNT', 'OF ALL', 'FAMILY', 'CODE', 'TOOL'], rows, style);
}

/** Who retries besides the executor, and what to change. */
function retryTable({ hiddenRetries }: FailureFigures, style: Style): string {
  const blocks = hiddenRetries.map((found) => {
    const lines = hiddenRetryLines(found).flatMap((line) => wrapToWidth(line, textColumns(style, 2)));
    return lines.map((line) => `  ${line}`).join('\n');
  });
  return blocks.length === 0 ? '' : [style.colours.red('HIDDEN RETRIES'), ...blocks].join('\n');
}

/** Which tool or model, how much its attempts are multiplied, and the remedy. */
export function hiddenRetryLines(found: HiddenRetryFigures): [finding: string, remedy: string] {
  const { kind, name, host, client, mostInOneStart, worst } = found;
  const who = client === undefined ? 'its client' : `its client (${client})`;
  const where = worst.callId === undefined ? `step ${String(worst.step)}` : `call ${worst.callId}`;
  const most =
    worst.starts === 1
      ? `one attempt was ${worst.seen} at the backend (${where})`
      : `${worst.starts} attempts were ${worst.seen} at the backend (${where})`;
  return [
    `${kind} ${oneLine(name)}: ${who} retries by itself${host === undefined ? '' : ` at ${oneLine(host)}`}, ` +
      `up to ${mostInOneStart} times an attempt; ${most}`,
    `only the executor should retry: ${found.remedy}`,
  ];
}

function pathTable({ tools }: FailureFigures, style: Style): string {
  const paths = tools.flatMap(({ tool, failingPaths }) => failingPaths.map((failing) => ({ tool, ...failing })));
  if (paths.length === 0) return '';
  paths.sort((a, b) => b.count - a.count);
  const rows = paths
    .slice(0, MOST_PATHS)
    .map(({ tool, path, count }) => [oneLine(path) || '(the arguments as a whole)', String(count), oneLine(tool)]);
  return renderTable(['FAILING ARGUMENT', 'CALLS', 'TOOL'], rows, style);
}

function hourTable({ hours }: FailureFigures, style: Style): string {
  const rows = hours.slice(-MOST_HOURS).map(({ startMs, calls, failed }) => [
    // To the hour, in UTC as the logs.
    `${new Date(startMs).toISOString().slice(0, 13)}:00Z`,
    String(calls),
    String(failed),
    percent((calls - failed) / calls),
  ]);
  return rows.length === 0 ? '' : renderTable(['HOUR', 'CALLS', 'FAILED', 'SUCCESS'], rows, style);
}

function corrections({ corrected, correctable, selfCorrectionRate }: CallFigures | ToolFigures): string {
  return selfCorrectionRate === undefined ? '–' : `${corrected} of ${correctable}`;
}

function durationOf(ms: number | undefined): string {
  return ms === undefined ? '–' : formatDuration(ms);
}

/** Never rounded to 100 % where something failed, nor to 0 % where something succeeded. */
function percent(rate: number): string {
  const tenths = Math.round(rate * 1_000);
  const shown = rate < 1 ? Math.min(tenths, 999) : tenths;
  return `${(rate > 0 ? Math.max(shown, 1) : shown) / 10} %`;
}

function round(value: number): string {
  return value.toFixed(1).replace(/\.0$/, '');
}
