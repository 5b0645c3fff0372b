import { readFile } from 'node:fs/promises';
import { PerdureError } from '../../client/perdure-error.js';
import type { Json } from '../../contract/json.js';
import { exitCodes } from '../exit-code.js';
import type { Platform } from '../platform.js';
import { type AddCommand, jsonOption, runArgument, withNotes } from '../registration.js';

export interface ResolveCommandOptions {
  call: string;
  happened?: boolean;
  didNot?: boolean;
  /** File with the call's result, JSON or text; `-` is standard input. */
  result?: string;
  note?: string;
  json?: boolean;
}

/** `perdure resolve RUN --call c3.1 --happened | --did-not`: settles a call whose outcome is unknown. */
export async function resolveCommand(
  platform: Platform,
  idOrPrefix: string,
  options: ResolveCommandOptions,
): Promise<number> {
  const { happened = false, didNot = false, call, note } = options;
  if (happened === didNot) {
    throw new PerdureError('usage', 'Say what became of the call: either --happened or --did-not.', {
      next: `perdure resolve ${idOrPrefix} --call ${call} --happened`,
    });
  }
  if (didNot && options.result !== undefined) {
    throw new PerdureError('usage', 'A call that did not happen has no result.', { next: 'Leave --result away.' });
  }
  const result = options.result === undefined ? undefined : await readResult(platform, options.result);
  const client = await platform.openClient();
  try {
    const run = await client.get(idOrPrefix);
    const outcome = await client.resolve(run, call, {
      happened,
      ...(result !== undefined && { result }),
      ...(note !== undefined && { note }),
    });
    if (options.json) {
      platform.out.write(`${JSON.stringify({ id: run.runId, ...outcome }, null, 2)}\n`);
      return exitCodes.done;
    }
    platform.err.write(`${call} of ${run.runId}: ${happened ? 'it happened' : 'it did not happen'}.\n`);
    const { state } = await client.describe(run);
    if (state !== 'running' && state !== 'waiting') {
      const again = state === 'completed' ? ' --ask-again' : '';
      platform.err.write(`Have the run go on with that: perdure retry ${run.runId}${again}\n`);
    }
    return exitCodes.done;
  } finally {
    await client.close();
  }
}

async function readResult(platform: Platform, file: string): Promise<Json> {
  const text = file === '-' ? await platform.readStdin() : await readNamed(file);
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text.trim();
  }
}

async function readNamed(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new PerdureError('usage', `--result ${file} cannot be read: ${reason}`, {
      next: 'Name a file with the result, or - for standard input.',
      cause,
    });
  }
}

export const addResolve: AddCommand = (program, { platform, finish }) => {
  const command = program
    .command('resolve')
    .description('say what became of a call whose outcome is unknown')
    .addArgument(runArgument())
    .requiredOption('--call <call>', 'which call, for example c3.1')
    .option('--happened', 'it did happen')
    .option('--did-not', 'it did not; a retry of the run makes the call again')
    .option('--result <file>', 'what it gave, JSON or text; - reads it from standard input')
    .option('--note <text>', 'how you know; told to the model')
    .addOption(jsonOption())
    .action(async (run: string, options: ResolveCommandOptions) =>
      finish(await resolveCommand(platform, run, options)),
    );
  withNotes(command, {
    examples: [
      'perdure resolve refund-1042 --call c3.1 --happened --result label.json',
      'perdure resolve refund-1042 --call c3.1 --did-not --note "no label in the printer\'s log"',
    ],
  });
};
