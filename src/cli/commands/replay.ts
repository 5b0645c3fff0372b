import { PerdureError } from '../../client/perdure-error.js';
import type { RecordedExecution } from '../../replay/recorded-execution.js';
import type { ReplayedExecution } from '../../replay/replay-executions.js';
import { exitCodes } from '../exit-code.js';
import type { Client, Platform } from '../platform.js';
import { type AddCommand, jsonOption, timeSpan, withNotes } from '../registration.js';
import { renderFinding, renderReplayed, renderReplaySummary } from '../render/replay-view.js';
import { makeStyle } from '../render/style.js';

export interface ReplayCommandOptions {
  history?: string;
  all?: boolean;
  /** Milliseconds before now. */
  since?: number;
  json?: boolean;
}

/** Findings that are explained in full after many replays; the others are in the list above them. */
const MOST_FINDINGS = 5;

/** `perdure replay RUN | --history FILE | --all`: recorded histories against today's workflow code. */
export async function replayCommand(
  platform: Platform,
  run: string | undefined,
  options: ReplayCommandOptions,
): Promise<number> {
  checkChoice(run, options);
  if (options.history !== undefined) {
    return await replayAndTell(platform, only(await platform.readHistory(options.history)), options);
  }
  const client = await platform.openClient();
  try {
    return await replayAndTell(platform, await historiesOf(client, run, options), options);
  } finally {
    await client.close();
  }
}

function checkChoice(run: string | undefined, { history, all, since }: ReplayCommandOptions): void {
  const chosen = [run, history, all].filter((one) => one !== undefined).length;
  const next = 'perdure replay RUN - or: perdure replay --history FILE - or: perdure replay --all --since 7d';
  if (chosen === 0) throw new PerdureError('usage', 'It is not said what to replay.', { next });
  if (chosen > 1) throw new PerdureError('usage', 'A run, --history and --all exclude each other.', { next });
  if (since !== undefined && !all) throw new PerdureError('usage', '--since goes with --all only.', { next });
}

async function historiesOf(
  client: Client,
  run: string | undefined,
  { since }: ReplayCommandOptions,
): Promise<AsyncIterable<RecordedExecution>> {
  if (run !== undefined) return client.histories(await client.get(run));
  return client.allHistories(since === undefined ? {} : { withinMs: since });
}

async function* only(execution: RecordedExecution): AsyncGenerator<RecordedExecution> {
  yield execution;
}

async function replayAndTell(
  platform: Platform,
  executions: AsyncIterable<RecordedExecution>,
  options: ReplayCommandOptions,
): Promise<number> {
  const { colour, columns } = platform.out;
  const style = makeStyle({ colour, columns, nowMs: platform.nowMs() });
  const all: ReplayedExecution[] = [];
  for await (const one of platform.replay(executions)) {
    all.push(one);
    // Of all runs of a store, only those that matter are named.
    if (!options.json && (!options.all || one.status !== 'replays')) {
      platform.out.write(`${renderReplayed(one, style)}\n`);
    }
  }
  const bad = all.filter((one) => one.status !== 'replays');
  if (options.json) {
    platform.out.write(`${JSON.stringify(all, null, 2)}\n`);
  } else {
    const findings = bad.slice(0, MOST_FINDINGS).map((one) => `\n${renderFinding(one, style)}\n`);
    platform.out.write(findings.join(''));
    if (options.all) platform.out.write(`${bad.length > 0 ? '\n' : ''}${renderReplaySummary(all, style)}\n`);
  }
  return bad.length === 0 ? exitCodes.done : exitCodes.diverged;
}

export const addReplay: AddCommand = (program, { platform, finish }) => {
  const command = program
    .command('replay')
    .description("replay recorded histories with today's workflow code; nothing is executed")
    .argument('[run]', "the run's id, or any unique beginning of it")
    .option('--history <file>', 'JSON as the Temporal UI and "temporal workflow show --output json" export it')
    .option('--all', 'every run of the store that the server knows: a gate before a deployment')
    .option('--since <time>', 'with --all: open runs, and those closed in the last 12h, 7d … (default: all)', timeSpan)
    .addOption(jsonOption())
    .action(async (run: string | undefined, options: ReplayCommandOptions) =>
      finish(await replayCommand(platform, run, options)),
    );
  withNotes(command, {
    examples: [
      'perdure replay refund-1042',
      'perdure replay --history refund-1042.json',
      'perdure replay --all --since 7d && npm run deploy',
      'perdure replay --all --json | jq \'.[] | select(.status != "replays")\'',
    ],
    exits: ['diverged'],
  });
};
