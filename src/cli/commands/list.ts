import type { RunState } from '../../client/run-description.js';
import { exitCodes } from '../exit-code.js';
import type { Platform } from '../platform.js';
import { renderRunList } from '../render/run-list.js';
import { makeStyle } from '../render/style.js';
import { type AddCommand, jsonOption, wholeNumber, withNotes } from '../registration.js';
import { Option } from 'commander';

export interface ListCommandOptions {
  status?: RunState;
  limit: number;
  json?: boolean;
}

/** `perdure list`: the newest runs first. */
export async function listCommand(platform: Platform, options: ListCommandOptions): Promise<number> {
  const client = await platform.openClient();
  try {
    const { status, limit } = options;
    const runs = await client.list({ limit, ...(status !== undefined && { state: status }) });
    if (options.json) {
      platform.out.write(`${JSON.stringify(runs, null, 2)}\n`);
    } else if (runs.length === 0) {
      const which = status === undefined ? 'No runs yet.' : `No run is ${status}.`;
      platform.err.write(`${which} Start one: perdure run "what the agent is to do"\n`);
    } else {
      const { colour, columns } = platform.out;
      platform.out.write(`${renderRunList(runs, makeStyle({ colour, columns, nowMs: platform.nowMs() }))}\n`);
    }
    return exitCodes.done;
  } finally {
    await client.close();
  }
}

const RUN_STATES: readonly RunState[] = [
  'running',
  'waiting',
  'completed',
  'capped',
  'failed',
  'cancelled',
  'terminated',
  'timed_out',
];

export const addList: AddCommand = (program, { platform, finish }) => {
  const command = program
    .command('list')
    .description('list runs, the newest first')
    .addOption(new Option('--status <status>', 'only runs in this state').choices(RUN_STATES))
    .option('--limit <count>', 'at most this many', wholeNumber, 50)
    .addOption(jsonOption())
    .action(async (options: ListCommandOptions) => finish(await listCommand(platform, options)));
  withNotes(command, { examples: ['perdure list --status running'] });
};
