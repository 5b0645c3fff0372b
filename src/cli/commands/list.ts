import { InvalidArgumentError, Option } from 'commander';
import type { RunState } from '../../client/run-description.js';
import type { FailureClass } from '../../contract/failure.js';
import { failureClassNames } from '../../policy/failure-classes.js';
import { exitCodes } from '../exit-code.js';
import type { Platform } from '../platform.js';
import { type AddCommand, jsonOption, timeSpan, wholeNumber, withNotes } from '../registration.js';
import { renderRunList } from '../render/run-list.js';
import { makeStyle } from '../render/style.js';

/** A moment that may be told from now: given the time, epoch milliseconds. */
type Moment = (nowMs: number) => number;

export interface ListCommandOptions {
  status?: RunState;
  tool?: string;
  class?: FailureClass;
  since?: Moment;
  until?: Moment;
  limit: number;
  json?: boolean;
}

/** `perdure list`: the newest runs first. */
export async function listCommand(platform: Platform, options: ListCommandOptions): Promise<number> {
  const client = await platform.openClient();
  try {
    const { status, tool, class: failureClass, since, until, limit } = options;
    const filter = {
      ...(status !== undefined && { state: status }),
      ...(tool !== undefined && { tool }),
      ...(failureClass !== undefined && { failureClass }),
      ...(since && { startedSinceMs: since(platform.nowMs()) }),
      ...(until && { startedBeforeMs: until(platform.nowMs()) }),
    };
    const runs = await client.list({ limit, ...filter });
    if (options.json) {
      platform.out.write(`${JSON.stringify(runs, null, 2)}\n`);
    } else if (runs.length === 0) {
      platform.err.write(`${noneWords(status, Object.keys(filter).length)}\n`);
    } else {
      const { colour, columns } = platform.out;
      platform.out.write(`${renderRunList(runs, makeStyle({ colour, columns, nowMs: platform.nowMs() }))}\n`);
    }
    return exitCodes.done;
  } finally {
    await client.close();
  }
}

function noneWords(status: RunState | undefined, filters: number): string {
  const which = filters === 0 ? 'No runs yet.' : status !== undefined && filters === 1 ? `No run is ${status}.` : '';
  if (which === '') return 'No run fits. All of them: perdure list';
  return `${which} Start one: perdure run "what the agent is to do"`;
}

/** `7d` is seven days ago; else a date or a time as ISO 8601 has it. */
function moment(text: string): Moment {
  if (/^\d{4}-\d\d-\d\d/.test(text)) {
    const atMs = Date.parse(text);
    if (Number.isNaN(atMs)) throw new InvalidArgumentError('Expected a date such as 2026-03-31 or 2026-03-31T14:00Z.');
    return () => atMs;
  }
  const agoMs = timeSpan(text);
  return (nowMs) => nowMs - agoMs;
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
    .option('--tool <tool>', 'only runs that called this tool')
    .addOption(
      new Option(
        '--class <class>',
        'only runs in which a call failed with this class, whatever a retry made of it',
      ).choices(failureClassNames),
    )
    .option('--since <time>', 'only runs started in the last 30m, 12h, 7d …, or since a date', moment)
    .option('--until <time>', 'only runs started before 12h, 7d … ago, or before a date', moment)
    .option('--limit <count>', 'at most this many', wholeNumber, 50)
    .addOption(jsonOption())
    .action(async (options: ListCommandOptions) => finish(await listCommand(platform, options)));
  withNotes(command, {
    examples: [
      'perdure list --status running',
      'perdure list --class outcome_unknown --since 7d',
      'perdure list --tool refund_payment --since 2026-03-01 --until 2026-04-01 --json',
    ],
  });
};
