/** The table that a campaign ends with. */
import { percentile } from '../../../src/stats/distribution.js';
import type { CampaignReport } from './campaign.js';
import type { RunEvidence } from './evidence.js';
import { mostHealMs } from './campaign.js';

function withChildren(run: RunEvidence): RunEvidence[] {
  return [run, ...run.children.flatMap(withChildren)];
}

/**
 * From each strike's end until every run that was open then had taken its next step, milliseconds, by row: the slowest run
 * of each strike.
 */
function healTimes({ strikes, runs }: CampaignReport): Map<string, number[]> {
  const moves = runs.map((run) =>
    run.executions
      .flatMap(({ activities, closedAtMs }) => [...activities.map(({ endedAtMs }) => endedAtMs), closedAtMs])
      .filter((at) => at !== undefined)
      .sort((a, b) => a - b),
  );
  const times = new Map<string, number[]>();
  for (const { row, healedAtMs } of strikes) {
    const next = moves.flatMap((at) => {
      const [first = Infinity, last = -Infinity] = [at[0], at.at(-1)];
      if (first > healedAtMs || last < healedAtMs) return [];
      return [(at.find((each) => each >= healedAtMs) ?? healedAtMs) - healedAtMs];
    });
    times.set(row, [...(times.get(row) ?? []), Math.max(0, ...next)]);
  }
  return times;
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}

/** As text, for a terminal. */
export function describeCampaign(report: CampaignReport): string {
  const { seed, kills, strikes, runs, violations, healMs, elapsedMs } = report;
  const all = runs.flatMap(withChildren);
  const calls = all.flatMap(({ calls: each }) => each);
  const lines = all.flatMap(({ lines: each }) => each);
  const ends = Object.groupBy(calls, ({ outcome }) => {
    const { status, failure } = (outcome ?? {}) as { status?: string; failure?: { class: string } };
    return failure?.class ?? status ?? 'without an outcome';
  });
  const rows = [...healTimes(report)]
    .toSorted(([a], [b]) => a.localeCompare(b, 'en', { numeric: true }))
    .map(([row, times]) => {
      const struck = strikes.filter((strike) => strike.row === row);
      const killed = struck.reduce((sum, strike) => sum + strike.kills, 0);
      return [row, `${struck.length}`, `${killed}`, seconds(percentile(times, 0.5)), seconds(Math.max(...times))];
    });
  const table = [['row', 'strikes', 'kills', 'next step, median', 'slowest'], ...rows];
  const widths = table[0]?.map((_, column) => Math.max(...table.map((cells) => cells[column]?.length ?? 0))) ?? [];
  const text = table.map((cells) =>
    cells
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join('  '),
  );
  const executions = all.reduce((sum, run) => sum + run.executions.length, 0);
  return [
    ...text,
    '',
    `${kills} processes killed by ${strikes.length} strikes in ${seconds(elapsedMs)}`,
    `${all.length} runs (${all.length - runs.length} of them agents') in ${executions} executions, all replayed`,
    `${calls.length} calls: ${Object.entries(ends)
      .map(([end, of]) => `${of?.length ?? 0} ${end}`)
      .join(', ')}`,
    `${lines.length} requests at the backend, ${lines.filter(({ effect }) => effect).length} effects`,
    `the last run ended ${seconds(healMs)} after the last fault (limit ${seconds(mostHealMs)})`,
    `${violations.length} violations`,
    ...violations.map(({ law, workflowId, callId, what }) => `  ${law} ${workflowId} ${callId ?? ''}: ${what}`),
    `seed ${seed}: npm run crash -- --kills ${kills} --seed ${seed}`,
  ].join('\n');
}
