import type { RunSummary } from '../../client/run-description.js';
import { formatAgo, formatDuration } from './duration.js';
import { paintRunState, runStateWord } from './state-word.js';
import type { Style } from './style.js';
import { cutToWidth, displayWidth, oneLine, padStartToWidth, padToWidth } from './text-width.js';

const GAP = '  ';
const MIN_TASK_COLUMNS = 16;
const MIN_ID_COLUMNS = 12;

/** The table of `perdure list`: one line a run, the task taking what the terminal leaves. Ends without a line break. */
export function renderRunList(runs: readonly RunSummary[], style: Style): string {
  const header = ['ID', 'STATUS', 'STEPS', 'STARTED', 'TOOK', 'TASK'];
  const rows = runs.map((run) => cellsOf(run, style));
  const widths = header.map((title, column) =>
    Math.max(displayWidth(title), ...rows.map((cells) => displayWidth(cells[column] ?? ''))),
  );
  const others = widths.slice(1, -1).reduce((sum, width) => sum + width + GAP.length, GAP.length);
  // A cut id still serves: any unique beginning of it names the run.
  widths[0] = Math.min(widths[0] ?? 0, Math.max(MIN_ID_COLUMNS, style.columns - others - MIN_TASK_COLUMNS));
  const taskColumns = Math.max(MIN_TASK_COLUMNS, style.columns - others - widths[0]);

  const line = (cells: string[], paintState: (padded: string) => string): string => {
    const [id = '', state = '', steps = '', started = '', took = '', task = ''] = cells;
    const [idWidth = 0, stateWidth = 0, stepsWidth = 0, startedWidth = 0, tookWidth = 0] = widths;
    return [
      padToWidth(cutToWidth(id, idWidth), idWidth),
      paintState(padToWidth(state, stateWidth)),
      padStartToWidth(steps, stepsWidth),
      padToWidth(started, startedWidth),
      padStartToWidth(took, tookWidth),
      cutToWidth(task, taskColumns),
    ]
      .join(GAP)
      .trimEnd();
  };
  const title = style.colours.dim(line(header, (padded) => padded));
  return [
    title,
    ...runs.map((run, index) => line(rows[index] ?? [], (padded) => paintRunState(run.state, style.colours, padded))),
  ].join('\n');
}

function cellsOf(run: RunSummary, style: Style): string[] {
  const took = (run.endedAtMs ?? style.nowMs) - run.startedAtMs;
  return [
    oneLine(run.id),
    runStateWord(run.state),
    run.result ? String(run.result.counters.steps) : '',
    formatAgo(run.startedAtMs, style.nowMs),
    run.state === 'waiting' ? '' : formatDuration(took),
    oneLine(run.task),
  ];
}
