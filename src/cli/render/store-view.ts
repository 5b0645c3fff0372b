import type { StoreCheck } from '../../store/check-store.js';
import type { Collection } from '../../store/collect-garbage.js';
import type { CollectedRun, DoubtfulRun } from '../../store/collect-runs.js';
import type { StoreSizes } from '../../store/measure-store.js';
import { counted } from '../../policy/counted.js';
import { formatBytes } from './bytes.js';
import type { Style } from './style.js';
import { renderTable } from './table.js';
import { oneLine } from './text-width.js';

const MOST_PROBLEMS = 50;
const MOST_RUNS = 20;

/** What `perdure store check` found. Ends without a line break. */
export function renderCheck(check: StoreCheck, style: Style): string {
  const { runs, nodes, bodies, calls, rehashed, problems } = check;
  const looked =
    `${check.store}: ${counted(runs, 'run')}, ${counted(nodes, 'node')}, ${counted(bodies, 'body', 'bodies')}, ` +
    `${counted(calls, 'call')}; ${rehashed} held against their ids`;
  if (problems.length === 0) return `${looked}\n${style.colours.green('Nothing is missing.')}`;
  const lines = problems.slice(0, MOST_PROBLEMS).map(({ kind, id, words, runs: concerned }) => {
    const which = concerned.length === 0 ? '' : ` (${concerned.length === 1 ? 'run' : 'runs'} ${named(concerned)})`;
    return `${style.colours.red(kind)} ${[id, oneLine(words)].filter(Boolean).join(': ')}${which}`;
  });
  const more =
    problems.length > MOST_PROBLEMS ? [`and ${problems.length - MOST_PROBLEMS} more: --json has them all`] : [];
  return [looked, ...lines, ...more, 'Restore the store from a backup; runs that are not named here go on.'].join('\n');
}

/** What `perdure store gc` removed. Ends without a line break. */
export function renderCollection(collection: Collection, style: Style): string {
  const { dryRun, runs, doubtful, turns, calls, nodes, bodies, files, bytes } = collection;
  const went = dryRun ? 'would go' : 'removed';
  const lines = [
    `${went}: ${counted(runs.length, 'run')} with ${counted(turns, 'turn')} and ${counted(calls, 'call')}, ` +
      `${counted(nodes, 'node')}, ${counted(bodies, 'body', 'bodies')}, ${counted(files, 'file')}, ` +
      `${formatBytes(bytes)} of bodies and files`,
    ...runs
      .slice(0, MOST_RUNS)
      .map(({ workflowId, endedAtMs, closedAs }) =>
        style.colours.dim(`  ${oneLine(workflowId)}, ${endWords(closedAs)} ${day(endedAtMs)}`),
      ),
    ...(runs.length > MOST_RUNS ? [`  and ${runs.length - MOST_RUNS} more`] : []),
  ];
  if (dryRun && runs.length > 0) {
    lines.push(
      'What only these runs refer to goes with them, past the grace age, and is not counted among the bodies yet.',
    );
  }
  for (const why of ['forgotten', 'unasked'] as const) {
    const kept = doubtful.filter((run) => run.why === why);
    if (kept.length > 0) lines.push(...doubtLines(kept, why));
  }
  return lines.join('\n');
}

function endWords(closedAs: CollectedRun['closedAs']): string {
  if (closedAs === undefined) return 'ended';
  return closedAs === 'forgotten' ? 'last written' : `${closedAs.replace('_', ' ')} by the server's account`;
}

/** Runs that are kept because nobody can say that they ended, and what a person can do about it. */
function doubtLines(kept: DoubtfulRun[], why: DoubtfulRun['why']): string[] {
  const reason = {
    forgotten: 'the server knows them no more: if it is the right one, they have ended, and go with --forgotten',
    unasked: 'no server was asked whether they have ended',
  }[why];
  return [
    `kept: ${counted(kept.length, 'run')} without an end, long silent; ${reason}`,
    ...kept
      .slice(0, MOST_RUNS)
      .map(({ workflowId, writtenAtMs }) => `  ${oneLine(workflowId)}, last written ${day(writtenAtMs)}`),
    ...(kept.length > MOST_RUNS ? [`  and ${kept.length - MOST_RUNS} more`] : []),
  ];
}

function day(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 10);
}

/** The tables of `perdure store stats`. Ends without a line break. */
export function renderSizes(sizes: StoreSizes, style: Style): string {
  const kinds = sizes.kinds.map(({ kind, rows, bytes }) => [kind, String(rows), formatBytes(bytes)]);
  const runs = sizes.biggestRuns.map(({ workflowId, status, turns, calls, bytes }) => [
    oneLine(workflowId),
    status,
    String(turns),
    String(calls),
    formatBytes(bytes),
  ]);
  return [
    `${sizes.store}: ${formatBytes(sizes.fileBytes)} on disk`,
    renderTable(['KIND', 'ROWS', 'CONTENT'], kinds, style),
    ...(runs.length === 0 ? [] : [renderTable(['BIGGEST RUNS', 'STATUS', 'TURNS', 'CALLS', 'CONTENT'], runs, style)]),
  ].join('\n\n');
}

function named(runs: string[]): string {
  const shown = runs.slice(0, 3).map(oneLine).join(', ');
  return runs.length > 3 ? `${shown} and ${runs.length - 3} more` : shown;
}
