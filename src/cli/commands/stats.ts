import { exitCodes } from '../exit-code.js';
import type { Platform } from '../platform.js';
import { renderStats } from '../render/stats-view.js';
import { makeStyle } from '../render/style.js';
import { type AddCommand, jsonOption, timeSpan, withNotes } from '../registration.js';

export interface StatsCommandOptions {
  /** Milliseconds before now. */
  since?: number;
  tool?: string;
  json?: boolean;
}

/** `perdure stats`: how the tools do over all runs of the store. */
export async function statsCommand(platform: Platform, options: StatsCommandOptions): Promise<number> {
  const { since, tool, json } = options;
  const client = await platform.openClient();
  try {
    const figures = await client.stats({
      ...(since !== undefined && { withinMs: since }),
      ...(tool !== undefined && { tool }),
    });
    if (json) {
      platform.out.write(`${JSON.stringify(figures, null, 2)}\n`);
    } else if (figures.tools.length === 0) {
      const which = tool === undefined ? 'No call has ended' : `No call of ${tool} has ended`;
      platform.err.write(`${which}${since === undefined ? ' yet' : ' in that time'}.\n`);
    } else {
      const { colour, columns } = platform.out;
      platform.out.write(`${renderStats(figures, makeStyle({ colour, columns, nowMs: platform.nowMs() }))}\n`);
    }
    return exitCodes.done;
  } finally {
    await client.close();
  }
}

export const addStats: AddCommand = (program, { platform, finish }) => {
  const command = program
    .command('stats')
    .description('how the tools do: success, durations, failures, corrections')
    .option('--since <time>', 'only calls of the last 30m, 12h, 7d … (default: all)', timeSpan)
    .option('--tool <tool>', 'only this tool')
    .addOption(jsonOption())
    .action(async (options: StatsCommandOptions) => finish(await statsCommand(platform, options)));
  withNotes(command, {
    details:
      'Counts what happened: a failure that a retry took back, or that a person settled, stays counted beside the outcome that\nfollowed. ' +
      'Steps are those of "perdure show": model turns, the one with the answer included, the last words at a\nlimit not.',
    examples: [
      'perdure stats --since 7d',
      'perdure stats --since 24h --tool refund_payment',
      "perdure stats --json | jq '.tools[] | {tool, successRate}'",
    ],
  });
};
