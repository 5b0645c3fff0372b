import type { Command } from 'commander';
import type { RunDescription } from '../client/run-description.js';
import type { RunHandle } from '../client/run-handle.js';
import type { AgentRunResult } from '../contract/run.js';
import { exitCodeOf, exitCodes } from './exit-code.js';
import { followRun } from './follow-run.js';
import type { Engine, Platform } from './platform.js';
import { paintRunState } from './render/state-word.js';
import { jsonOption } from './registration.js';
import { makeStyle } from './render/style.js';
import { printable } from './render/text-width.js';

export interface DeliverOptions {
  /** Default: on a terminal, and where this process runs the server. */
  follow?: boolean;
  json?: boolean;
}

/** Adds the options of a command that ends in `deliverRun`. */
export function addDelivery(command: Command): Command {
  return command
    .option('--follow', 'wait for the answer (the default on a terminal)')
    .option('--no-follow', "print the run's id and leave")
    .addOption(jsonOption());
}

/**
 * A run that was just started, or goes on from `since`: follows it and prints its answer, or says where it can be seen. The
 * exit code.
 */
export async function deliverRun(
  platform: Platform,
  engine: Engine,
  run: RunHandle,
  options: DeliverOptions & { since?: RunDescription },
): Promise<number> {
  const follows = options.follow ?? (engine.embedded || platform.out.isTerminal);
  return follows
    ? await follow(platform, engine, run, options)
    : printStarted(platform, engine, run, options.json ?? false);
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

async function follow(
  platform: Platform,
  engine: Engine,
  run: RunHandle,
  { json = false, since }: { json?: boolean; since?: RunDescription },
): Promise<number> {
  const { dim } = errStyle(platform).colours;
  const url = engine.client.runUrl(run);
  platform.err.write(`${dim(`${run.runId}${url === undefined ? '' : `  ${url}`}`)}\n`);
  if (engine.logPath !== undefined) platform.err.write(`${dim(`log in ${engine.logPath}`)}\n`);

  const { client, broken } = engine;
  const end = await followRun({ platform, client, run, broken, ...(since && { since }) });
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
