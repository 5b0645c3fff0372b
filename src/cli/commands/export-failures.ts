import { exitCodes } from '../exit-code.js';
import type { Platform } from '../platform.js';
import { type AddCommand, timeSpan, withNotes } from '../registration.js';

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

export const addExport: AddCommand = (program, { platform, finish }) => {
  const failures = program
    .command('export')
    .description('write records for other programs')
    .command('failures')
    .description('failed calls with the corrected ones that followed, as JSON Lines')
    .option('--since <time>', 'only calls of the last 30m, 12h, 7d … (default: all)', timeSpan)
    .option('--tool <tool>', 'only this tool')
    .action(async (options: { since?: number; tool?: string }) =>
      finish(await exportFailuresCommand(platform, options)),
    );
  withNotes(failures, {
    examples: ['perdure export failures > failures.jsonl', 'perdure export failures --since 30d --tool refund_payment'],
  });
};
