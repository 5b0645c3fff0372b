import { PerdureError } from '../../client/perdure-error.js';
import type { RunHandle } from '../../client/run-handle.js';
import type { AgentRunResult } from '../../contract/run.js';
import { exitCodeOf, exitCodes } from '../exit-code.js';
import { followRun } from '../follow-run.js';
import type { Engine, Platform } from '../platform.js';
import { paintRunState } from '../render/state-word.js';
import { makeStyle } from '../render/style.js';
import { printable } from '../render/text-width.js';
import { type AddCommand, jsonOption, withNotes } from '../registration.js';
import { InvalidArgumentError } from 'commander';

export interface RunCommandOptions {
  id?: string;
  model?: string;
  maxSteps?: number | 'none';
  /** Default: on a terminal, and where this process runs the server. */
  follow?: boolean;
  json?: boolean;
}

/** `perdure run "task"`: starts a run and, where it follows it, prints the answer. `-` reads the task from stdin. */
export async function runCommand(platform: Platform, task: string, options: RunCommandOptions): Promise<number> {
  const text = task === '-' ? await platform.readStdin() : task;
  const engine = await platform.openEngine(options.model === undefined ? {} : { model: options.model });
  try {
    if (engine.embedded && options.follow === false) throw nobodyToRunIt();
    const run = await engine.client.start(text, startOptions(options));
    const follows = options.follow ?? (engine.embedded || platform.out.isTerminal);
    return follows
      ? await follow(platform, engine, run, options.json ?? false)
      : printStarted(platform, engine, run, options.json ?? false);
  } finally {
    await engine.stop();
  }
}

function startOptions(options: RunCommandOptions): Parameters<Engine['client']['start']>[1] {
  const { id, model, maxSteps } = options;
  return {
    ...(id !== undefined && { id }),
    ...(model !== undefined && { model }),
    ...(maxSteps !== undefined && { limits: { steps: maxSteps === 'none' ? null : maxSteps } }),
  };
}

function nobodyToRunIt(): PerdureError {
  return new PerdureError('usage', 'With --no-follow nobody would run the task: no server is running.', {
    next: 'Start one in another terminal with: perdure dev - or leave --no-follow away.',
  });
}

function printStarted(platform: Platform, engine: Engine, run: RunHandle, json: boolean): number {
  const url = engine.client.runUrl(run);
  if (json) {
    const started = { id: run.runId, runKey: run.runKey, ...(url !== undefined && { url }) };
    platform.out.write(`${JSON.stringify(started, null, 2)}\n`);
  } else {
    platform.out.write(`${run.runId}\n`);
    platform.err.write(`See how it goes: perdure show ${run.runId}\n`);
  }
  return exitCodes.done;
}

async function follow(platform: Platform, engine: Engine, run: RunHandle, json: boolean): Promise<number> {
  const { dim } = errStyle(platform).colours;
  const url = engine.client.runUrl(run);
  platform.err.write(`${dim(`${run.runId}${url === undefined ? '' : `  ${url}`}`)}\n`);
  if (engine.logPath !== undefined) platform.err.write(`${dim(`log in ${engine.logPath}`)}\n`);

  const end = await followRun({ platform, client: engine.client, run, broken: engine.broken });
  if (end === 'detached') {
    platform.err.write(`${detachedWords(engine, run)}\n`);
    return exitCodes.detached;
  }
  const result = await engine.client.waitForResult(run);
  if (json) {
    platform.out.write(`${JSON.stringify({ id: run.runId, runKey: run.runKey, ...result }, null, 2)}\n`);
  } else {
    printEnd(platform, run, result);
  }
  return exitCodeOf(result.status);
}

function detachedWords(engine: Engine, run: RunHandle): string {
  const see = `See it again: perdure show ${run.runId}`;
  return engine.embedded
    ? `${run.runId} is paused: it goes on when perdure dev or perdure run is started next in this folder.\n${see}`
    : `${run.runId} goes on without this terminal.\n${see}`;
}

function printEnd(platform: Platform, run: RunHandle, result: AgentRunResult): void {
  const { colours } = errStyle(platform);
  const why = result.status === 'completed' ? '' : `: ${printable(result.termination.summary)}`;
  const look = colours.dim(`  perdure show ${run.runId}`);
  platform.err.write(`${run.runId} ${paintRunState(result.status, colours)}${why}${look}\n`);
  if (result.answer === '') return;
  // Escape sequences of a model are for no terminal; a file or another program gets the answer as it is.
  platform.out.write(`${platform.out.isTerminal ? printable(result.answer) : result.answer}\n`);
}

function errStyle(platform: Platform): ReturnType<typeof makeStyle> {
  const { colour, columns } = platform.err;
  return makeStyle({ colour, columns, nowMs: platform.nowMs() });
}

export const addRun: AddCommand = (program, { platform, finish }) => {
  const command = program
    .command('run')
    .description('run the agent on a task')
    .argument('<task>', 'what the agent is to do; - reads it from standard input')
    .option('--id <id>', "the run's name; default: a short random one")
    .option('--model <model>', 'provider:model, instead of the one in the configuration')
    .option('--max-steps <count>', 'model turns that may ask for tools, or "none" for no limit', stepLimit)
    .option('--follow', 'wait for the answer (the default on a terminal)')
    .option('--no-follow', "print the run's id and leave")
    .addOption(jsonOption())
    .action(async (task: string, options: RunCommandOptions) => finish(await runCommand(platform, task, options)));
  withNotes(command, {
    examples: [
      'perdure run "Refund order 1042 and tell the customer"',
      'perdure run --id refund-1042 --max-steps 50 "Refund order 1042"',
      'perdure run --model openai:gpt-5 - < task.txt > answer.txt',
      'perdure run --json --follow "Refund order 1042" | jq .termination',
    ],
    exits: ['capped', 'failed', 'detached'],
  });
};

function stepLimit(text: string): number | 'none' {
  if (text === 'none') return text;
  const number = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(number)) return number;
  throw new InvalidArgumentError('Expected a whole number, or none.');
}
