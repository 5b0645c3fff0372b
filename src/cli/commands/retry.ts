import type { RetryOptions, RetryPlan } from '../../client/run-retry.js';
import { deliverRun, type DeliverOptions } from '../deliver-run.js';
import { type LimitOptions, limitsOf } from '../limit-options.js';
import type { Platform } from '../platform.js';
import { printable } from '../render/text-width.js';
import { nobodyToRunIt } from './run.js';
import { addDelivery } from '../deliver-run.js';
import { addLimitOptions } from '../limit-options.js';
import { type AddCommand, runArgument, withNotes } from '../registration.js';

export interface RetryCommandOptions extends LimitOptions, DeliverOptions {
  model?: string;
  askAgain?: boolean;
  /** End the execution of a run that is stuck. */
  yes?: boolean;
  note?: string;
}

/**
 * `perdure retry RUN`: has a run go on that ended badly and, where it follows it, prints what is new and the answer. What was
 * before is not told again: a failure that is taken back would look like one of the retry's.
 */
export async function retryCommand(
  platform: Platform,
  idOrPrefix: string,
  options: RetryCommandOptions,
): Promise<number> {
  const engine = await platform.openEngine({
    ...(options.model !== undefined && { model: options.model }),
    modelAdvice: `, or give one: perdure retry ${idOrPrefix} --model provider:model`,
    async check(client) {
      if (options.follow === false) throw nobodyToRunIt();
      await client.checkRetry(await client.get(idOrPrefix), retryOptions(options));
    },
  });
  try {
    const run = await engine.client.get(idOrPrefix);
    const before = await engine.client.describe(run);
    const plan = await engine.client.retry(run, retryOptions(options));
    for (const line of planLines(run.runId, plan)) platform.err.write(`${printable(line)}\n`);
    return await deliverRun(platform, engine, run, { ...options, since: before });
  } finally {
    await engine.stop();
  }
}

function retryOptions(options: RetryCommandOptions): RetryOptions {
  const { model, askAgain, yes, note } = options;
  const limits = limitsOf(options);
  return {
    ...(model !== undefined && { model }),
    ...(askAgain !== undefined && { askAgain }),
    ...(yes !== undefined && { endStuck: yes }),
    ...(note !== undefined && { note }),
    ...(limits && { limits }),
  };
}

function planLines(runId: string, { rerun, unresolved }: RetryPlan): string[] {
  return [
    ...(rerun.length > 0 ? [`runs now: ${rerun.map(rerunWords).join(', ')}`] : []),
    ...unresolved.map(
      ({ callId, tool }) =>
        `not run again: ${callId} ${tool}, which may or may not have happened. ` +
        `Say which: perdure resolve ${runId} --call ${callId} --happened (or --did-not)`,
    ),
  ];
}

function rerunWords({ callId, tool, former }: RetryPlan['rerun'][number]): string {
  return `${callId} ${tool}${former === undefined ? '' : ` (formerly ${former})`}`;
}

export const addRetry: AddCommand = (program, { platform, finish }) => {
  const command = program
    .command('retry')
    .description('go on from the last good step of a run that ended badly')
    .addArgument(runArgument())
    .option('--ask-again', 'ask the model anew for its last turn')
    .option('--model <model>', 'provider:model, from here on')
    .option('--yes', 'end the execution of a run that is stuck')
    .option('--note <text>', 'why, for the record');
  addDelivery(addLimitOptions(command)).action(async (run: string, options: RetryCommandOptions) =>
    finish(await retryCommand(platform, run, options)),
  );
  withNotes(command, {
    examples: [
      'perdure retry refund-1042  a tool or a credential was mended',
      'perdure retry refund-1042 --max-steps 50  a limit ended it',
      'perdure retry refund-1042 --ask-again  the model is to answer anew',
    ],
    exits: ['capped', 'failed', 'detached'],
  });
};
