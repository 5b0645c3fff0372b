import type { StoreCheck } from '../../store/check-store.js';
import type { Collection } from '../../store/collect-garbage.js';
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
  const { dryRun, runs, turns, calls, nodes, bodies, files, bytes } = collection;
  const went = dryRun ? 'would go' : 'removed';
  const lines = [
    `${went}: ${counted(runs.length, 'run')} with ${counted(turns, 'turn')} and ${counted(calls, 'call')}, ` +
      `${counted(nodes, 'node')}, ${counted(bodies, 'body', 'bodies')}, ${counted(files, 'file')}, ` +
      `${formatBytes(bytes)} of bodies and files`,
    ...runs
      .slice(0, MOST_RUNS)
      .map(({ workflowId, endedAtMs }) =>
        style.colours.dim(`  ${oneLine(workflowId)}, ended ${new Date(endedAtMs).toISOString().slice(0, 10)}`),
      ),
    ...(runs.length > MOST_RUNS ? [`  and ${runs.length - MOST_RUNS} more`] : []),
  ];
  if (dryRun && runs.length > 0) {
    lines.push(
      'What only these runs refer to goes with them, past the grace age, and is not counted among the bodies yet.',
    );
  }
  return lines.join('\n');
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
