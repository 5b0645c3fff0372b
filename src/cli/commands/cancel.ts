import { exitCodes } from '../exit-code.js';
import { followRun } from '../follow-run.js';
import type { Platform } from '../platform.js';
import { paintRunState } from '../render/state-word.js';
import { makeStyle } from '../render/style.js';
import { type AddCommand, jsonOption, runArgument, withNotes } from '../registration.js';

export interface CancelCommandOptions {
  json?: boolean;
}

/**
 * `perdure cancel RUN`: asks the run to end, and does not wait for it. A run that is paused because its embedded server is
 * not running has nobody to end it: server and worker are started for that, and end with the run.
 */
export async function cancelCommand(
  platform: Platform,
  idOrPrefix: string,
  options: CancelCommandOptions,
): Promise<number> {
  const client = await platform.openClient();
  try {
    const run = await client.get(idOrPrefix);
    const isPaused = client.unanswered !== undefined && (await client.describe(run)).state === 'running';
    if (!isPaused) {
      await client.cancel(run);
      sayRequested(platform, run.runId, options);
      return exitCodes.done;
    }
  } finally {
    await client.close();
  }
  return await endPaused(platform, idOrPrefix, options);
}

async function endPaused(platform: Platform, idOrPrefix: string, options: CancelCommandOptions): Promise<number> {
  // The worker that ends this run would have to ask it for the others.
  const engine = await platform.openEngine({
    modelAdvice: `, then: perdure cancel ${idOrPrefix} - other paused runs of this folder go on meanwhile, and would fail without one.`,
  });
  try {
    const { client, broken } = engine;
    const run = await client.get(idOrPrefix);
    const since = await client.describe(run);
    await client.cancel(run);
    // Somebody else has started the server meanwhile, and has a worker.
    if (!engine.embedded) {
      sayRequested(platform, run.runId, options);
      return exitCodes.done;
    }
    const end = await followRun({ platform, client, run, broken, since });
    if (end === 'detached') {
      platform.err.write(
        `${run.runId} was asked to end, which it does when perdure dev or perdure run is started next.\n`,
      );
      return exitCodes.detached;
    }
    const { state } = await client.describe(run);
    const { colour, columns } = platform.err;
    const { colours } = makeStyle({ colour, columns, nowMs: platform.nowMs() });
    if (options.json) writeJson(platform, { id: run.runId, cancellation: 'requested', state });
    else platform.err.write(`${run.runId} ${paintRunState(state, colours)}  perdure show ${run.runId}\n`);
    return exitCodes.done;
  } finally {
    await engine.stop();
  }
}

function sayRequested(platform: Platform, id: string, { json }: CancelCommandOptions): void {
  if (json) writeJson(platform, { id, cancellation: 'requested' });
  else platform.err.write(`${id} was asked to end. See how it does: perdure show ${id}\n`);
}

function writeJson(platform: Platform, value: object): void {
  platform.out.write(`${JSON.stringify(value, null, 2)}\n`);
}

export const addCancel: AddCommand = (program, { platform, finish }) => {
  const command = program
    .command('cancel')
    .description('ask a run to end')
    .addArgument(runArgument())
    .addOption(jsonOption())
    .action(async (run: string, options: CancelCommandOptions) => finish(await cancelCommand(platform, run, options)));
  withNotes(command, {
    details:
      'Where no server is configured and none runs, the embedded one is started until the run has ended; other runs\n' +
      'that are paused in this folder go on meanwhile, as they do with "perdure run".',
    examples: ['perdure cancel refund-1042'],
    exits: ['detached'],
  });
};
