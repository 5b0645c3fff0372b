import { PerdureError } from '../../client/perdure-error.js';
import type { RunDescription } from '../../client/run-description.js';
import { exitCodes } from '../exit-code.js';
import type { Client, Platform } from '../platform.js';
import { renderCall } from '../render/call-view.js';
import { renderRun } from '../render/step-view.js';
import { makeStyle } from '../render/style.js';
import { type AddCommand, jsonOption, runArgument, withNotes } from '../registration.js';

export interface ShowCommandOptions {
  /** One call, e.g. `c3.1`. */
  call?: string;
  json?: boolean;
}

/** `perdure show RUN`: steps, calls and the answer; `--call` everything about one call. */
export async function showCommand(
  platform: Platform,
  idOrPrefix: string,
  options: ShowCommandOptions,
): Promise<number> {
  const client = await platform.openClient();
  try {
    const { colour, columns } = platform.out;
    const style = makeStyle({ colour, columns, nowMs: platform.nowMs() });
    const run = await client.get(idOrPrefix);
    if (options.call !== undefined) {
      const call = await client.describeCall(run, options.call);
      if (!call) throw noSuchCall(options.call, await client.describe(run));
      platform.out.write(`${options.json ? JSON.stringify(call, null, 2) : renderCall(run.runId, call, style)}\n`);
    } else {
      const description = await client.describe(run);
      platform.out.write(`${options.json ? JSON.stringify(description, null, 2) : renderRun(description, style)}\n`);
      await sayWhatIsUnknown(platform, client, description);
    }
    return exitCodes.done;
  } finally {
    await client.close();
  }
}

export function noSuchCall(callId: string, run: RunDescription): PerdureError {
  const known = run.steps.flatMap((step) => step.calls.map((call) => call.callId));
  const which =
    known.length === 0
      ? 'it made none yet'
      : `it made ${known.slice(0, 10).join(', ')}${known.length > 10 ? ', …' : ''}`;
  return new PerdureError('usage', `The run ${run.id} has no call "${callId}"; ${which}.`, {
    next: `perdure show ${run.id}`,
  });
}

/** A run that the store takes for running may be no such thing; nobody should wait for it in vain. */
async function sayWhatIsUnknown(platform: Platform, client: Client, run: RunDescription): Promise<void> {
  if (run.state !== 'running' && run.state !== 'waiting') return;
  if (!run.server) {
    platform.err.write('\nNo server that knows this run answers: it goes on when its server does (perdure dev).\n');
  } else if (!(await client.hasWorker().catch(() => true))) {
    platform.err.write('\nNo worker is there for this run. Start one: perdure worker\n');
  }
}

export const addShow: AddCommand = (program, { platform, finish }) => {
  const command = program
    .command('show')
    .description("show a run's steps, calls and answer")
    .addArgument(runArgument())
    .option('--call <call>', 'everything about one call, for example c3.1')
    .addOption(jsonOption())
    .action(async (run: string, options: ShowCommandOptions) => finish(await showCommand(platform, run, options)));
  withNotes(command, {
    examples: [
      'perdure show refund-1042',
      'perdure show refund-1042 --call c3.1',
      "perdure show refund-1042 --json | jq '.steps[].calls[] | select(.failure)'",
    ],
  });
};
