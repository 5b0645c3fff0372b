import type { RunDescription, RunState } from '../../client/run-description.js';
import type { RunHandle } from '../../client/run-handle.js';
import { exitCodes } from '../exit-code.js';
import { followRun } from '../follow-run.js';
import type { Client, Platform } from '../platform.js';
import { ProgressView, type RunView } from '../progress-view.js';
import { type AddCommand, jsonOption, runArgument, withNotes } from '../registration.js';
import { progressBetween } from '../render/progress.js';
import { paintRunState } from '../render/state-word.js';
import { makeStyle, type Style } from '../render/style.js';
import { oneLine } from '../render/text-width.js';
import { budgetLines, downTools, renderWatch } from '../render/watch-view.js';

export interface WatchCommandOptions {
  json?: boolean;
}

/** Steps of before the watching that are shown. */
const SHOWN_STEPS = 5;

/** `perdure watch RUN`: the run as it goes on, until it ends. Changes nothing; Ctrl-C only ends the watching. */
export async function watchCommand(
  platform: Platform,
  idOrPrefix: string,
  options: WatchCommandOptions,
): Promise<number> {
  const client = await platform.openClient();
  try {
    const run = await client.get(idOrPrefix);
    const limits = await client.limitsOf(run).catch(() => undefined);
    const seen = new Seen(
      options.json
        ? new JsonView(platform)
        : new ProgressView(platform, {
            screen: platform.out,
            live: (now, spinner, style) => renderWatch(now, limits, spinner, style),
          }),
    );
    const end = await followRun({ platform, client, run, broken: new Promise(() => undefined), view: seen });
    const last = seen.last;
    if (end === 'detached' || !last) return detached(platform, run, client);
    const description = await client.describe(run);
    if (options.json) writeJson(platform, { type: 'end', state: description.state, result: description.result });
    else
      platform.out.write(
        `${[endLine(description, styleOf(platform)), ...budgetLines(description, limits, styleOf(platform))].join('\n')}\n`,
      );
    return exitOf(description.state);
  } finally {
    await client.close();
  }
}

function detached(platform: Platform, run: RunHandle, { unanswered }: Client): number {
  const how = unanswered ? 'goes on when its server does' : 'goes on';
  platform.err.write(`${run.runId} ${how}. See it again: perdure watch ${run.runId}\n`);
  return exitCodes.detached;
}

function endLine(run: RunDescription, { colours }: Style): string {
  const down = downTools(run);
  const why = run.result && run.state !== 'completed' ? `: ${oneLine(run.result.termination.summary)}` : '';
  const which = down.length > 0 ? `, down at the end: ${down.join(', ')}` : '';
  return `${run.id} ${paintRunState(run.state, colours)}${why}${which}${colours.dim(`  perdure show ${run.id}`)}`;
}

function exitOf(state: RunState): number {
  if (state === 'completed') return exitCodes.done;
  return state === 'capped' ? exitCodes.capped : exitCodes.failed;
}

/** Begins with the last steps of a run that has gone on for long, and remembers what was seen last. */
class Seen implements RunView {
  readonly #view: RunView;
  last: RunDescription | undefined;

  constructor(view: RunView) {
    this.#view = view;
  }

  show(before: RunDescription | undefined, now: RunDescription): boolean {
    this.last = now;
    return this.#view.show(before ?? { ...now, steps: now.steps.slice(0, -SHOWN_STEPS) }, now);
  }

  note(text: string): void {
    this.#view.note(text);
  }

  clear(): void {
    this.#view.clear();
  }
}

/** One JSON value a line for each thing that happens. */
class JsonView implements RunView {
  readonly #platform: Platform;

  constructor(platform: Platform) {
    this.#platform = platform;
  }

  show(before: RunDescription | undefined, now: RunDescription): boolean {
    const events = progressBetween(before, now);
    for (const event of events) writeJson(this.#platform, event);
    return events.length > 0;
  }

  note(text: string): void {
    this.#platform.err.write(`${text}\n`);
  }

  clear(): void {
    // Nothing is drawn that would have to go.
  }
}

function writeJson(platform: Platform, value: object): void {
  platform.out.write(`${JSON.stringify(value)}\n`);
}

function styleOf(platform: Platform): Style {
  const { colour, columns } = platform.out;
  return makeStyle({ colour, columns, nowMs: platform.nowMs() });
}

export const addWatch: AddCommand = (program, { platform, finish }) => {
  const command = program
    .command('watch')
    .description('watch a run as it goes on: calls, attempts, waits, budgets')
    .addArgument(runArgument())
    .addOption(jsonOption())
    .action(async (run: string, options: WatchCommandOptions) => finish(await watchCommand(platform, run, options)));
  withNotes(command, {
    examples: [
      'perdure watch refund-1042',
      'perdure watch refund-1042 --json | jq -c \'select(.type == "retry").call.callId\'',
    ],
    exits: ['capped', 'failed', 'detached'],
  });
};
