import { exitCodes } from '../exit-code.js';
import type { Platform } from '../platform.js';

/** `perdure export failures`: one JSON object a line, each a failed call and the corrected one that followed. */
export async function exportFailuresCommand(
  platform: Platform,
  { since, tool }: { since?: number; tool?: string },
): Promise<number> {
  const client = await platform.openClient();
  try {
    let pairs = 0;
    const options = { ...(since !== undefined && { withinMs: since }), ...(tool !== undefined && { tool }) };
    for await (const pair of client.failurePairs(options)) {
      platform.out.write(`${JSON.stringify(pair)}\n`);
      pairs += 1;
    }
    if (pairs === 0) platform.err.write('No failed call was followed by a corrected one.\n');
    return exitCodes.done;
  } finally {
    await client.close();
  }
}
