import { exitCodes } from '../exit-code.js';
import type { Platform } from '../platform.js';

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
