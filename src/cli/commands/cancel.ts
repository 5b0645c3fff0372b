import { exitCodes } from '../exit-code.js';
import type { Platform } from '../platform.js';
import { type AddCommand, jsonOption, runArgument, withNotes } from '../registration.js';

/** `perdure cancel RUN`: asks the run to end, and does not wait for it. */
export async function cancelCommand(
  platform: Platform,
  idOrPrefix: string,
  options: { json?: boolean },
): Promise<number> {
  const client = await platform.openClient();
  try {
    const run = await client.get(idOrPrefix);
    await client.cancel(run);
    if (options.json) {
      platform.out.write(`${JSON.stringify({ id: run.runId, cancellation: 'requested' }, null, 2)}\n`);
    } else {
      platform.err.write(`${run.runId} was asked to end. See how it does: perdure show ${run.runId}\n`);
    }
    return exitCodes.done;
  } finally {
    await client.close();
  }
}

export const addCancel: AddCommand = (program, { platform, finish }) => {
  const command = program
    .command('cancel')
    .description('ask a run to end')
    .addArgument(runArgument())
    .addOption(jsonOption())
    .action(async (run: string, options: { json?: boolean }) => finish(await cancelCommand(platform, run, options)));
  withNotes(command, { examples: ['perdure cancel refund-1042'] });
};
