import { PerdureError } from '../../client/perdure-error.js';
import type { RunDescription } from '../../client/run-description.js';
import type { RunHandle } from '../../client/run-handle.js';
import { runLog, type RunLogEntry } from '../../client/run-log.js';
import type { ServerEvent } from '../../client/run-server.js';
import { exitCodes } from '../exit-code.js';
import { followRun } from '../follow-run.js';
import type { Client, Platform, Screen } from '../platform.js';
import type { RunView } from '../progress-view.js';
import { type AddCommand, jsonOption, runArgument, withNotes } from '../registration.js';
import { renderLogEntry } from '../render/log-view.js';
import { makeStyle } from '../render/style.js';
import { noSuchCall } from './show.js';

export interface LogsCommandOptions {
  call?: string;
  follow?: boolean;
  json?: boolean;
}

/**
 * `perdure logs RUN`: starts, failures, outcomes and what people did, in the order of time; with `--follow` until the run
 * ends.
 */
export async function logsCommand(
  platform: Platform,
  idOrPrefix: string,
  options: LogsCommandOptions,
): Promise<number> {
  const client = await platform.openClient();
  try {
    const run = await client.get(idOrPrefix);
    const log = new LogView(platform, options);
    if (options.follow) {
      const end = await followRun({ platform, client, run, broken: new Promise(() => undefined), view: log });
      if (end === 'detached') return exitCodes.detached;
    }
    const description = await client.describe(run);
    const isThere = description.steps.some((step) => step.calls.some(({ callId }) => callId === options.call));
    if (options.call !== undefined && !isThere) throw noSuchCall(options.call, description);
    log.finish(description, await eventsOnServer(platform, client, run));
    return exitCodes.done;
  } finally {
    await client.close();
  }
}

/** The store's part is told without them. */
async function eventsOnServer(platform: Platform, client: Client, run: RunHandle): Promise<ServerEvent[]> {
  try {
    return await client.serverEvents(run);
  } catch (error) {
    if (!(error instanceof PerdureError)) throw error;
    platform.err.write(`What was done by Temporal's own commands is not known: ${error.message}\n`);
    return [];
  }
}

/** Writes each entry once, however often the run is looked at. */
class LogView implements RunView {
  readonly #screen: Screen;
  readonly #platform: Platform;
  readonly #options: LogsCommandOptions;
  readonly #written = new Set<string>();

  constructor(platform: Platform, options: LogsCommandOptions) {
    this.#platform = platform;
    this.#screen = platform.out;
    this.#options = options;
  }

  show(_before: RunDescription | undefined, now: RunDescription): boolean {
    // The end is told last, after what only the server knows.
    return this.#write(runLog(now).filter(({ id }) => id !== 'end'));
  }

  /** Writes what is left of the whole log. */
  finish(run: RunDescription, onServer: readonly ServerEvent[]): void {
    this.#write(runLog(run, onServer));
  }

  #write(entries: readonly RunLogEntry[]): boolean {
    const { call } = this.#options;
    const fresh = entries.filter(
      (entry) => !this.#written.has(entry.id) && (call === undefined || entry.callId === call),
    );
    for (const entry of fresh) {
      this.#written.add(entry.id);
      this.#screen.write(`${this.#line(entry)}\n`);
    }
    return fresh.length > 0;
  }

  #line(entry: RunLogEntry): string {
    const { id: _, atMs, record, ...fields } = entry;
    // The record's own fields last: it is what an operator greps for.
    if (this.#options.json)
      return JSON.stringify({ at: new Date(atMs).toISOString(), ...fields, ...(record && { record }) });
    const { colour, columns } = this.#screen;
    return renderLogEntry(entry, makeStyle({ colour, columns, nowMs: this.#platform.nowMs() }));
  }

  note(text: string): void {
    this.#platform.err.write(`${text}\n`);
  }

  clear(): void {
    // Nothing is drawn that would have to go.
  }
}

export const addLogs: AddCommand = (program, { platform, finish }) => {
  const command = program
    .command('logs')
    .description("a run's starts, failures, outcomes and what people did to it, in the order of time")
    .addArgument(runArgument())
    .option('--call <call>', 'only this call, for example c3.1')
    .option('-f, --follow', 'go on until the run has ended')
    .addOption(jsonOption())
    .action(async (run: string, options: LogsCommandOptions) => finish(await logsCommand(platform, run, options)));
  withNotes(command, {
    examples: [
      'perdure logs refund-1042',
      'perdure logs refund-1042 --call c3.1',
      'perdure logs refund-1042 --follow',
      'perdure logs refund-1042 --json | jq \'select(.event == "attempt_failed").record\'',
      "perdure logs refund-1042 --json | jq 'select(.by)'  what people did: retried, resolved, cancelled, reset",
    ],
    exits: ['detached'],
  });
};
