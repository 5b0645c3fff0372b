import { PerdureError } from '../../client/perdure-error.js';
import { addDelivery, deliverRun, type DeliverOptions } from '../deliver-run.js';
import { addLimitOptions, type LimitOptions, limitsOf } from '../limit-options.js';
import type { Engine, Platform } from '../platform.js';
import { type AddCommand, withNotes } from '../registration.js';

export interface RunCommandOptions extends LimitOptions, DeliverOptions {
  id?: string;
  model?: string;
}

/** `perdure run "task"`: starts a run and, where it follows it, prints the answer. `-` reads the task from stdin. */
export async function runCommand(platform: Platform, task: string, options: RunCommandOptions): Promise<number> {
  const text = task === '-' ? await platform.readStdin() : task;
  const engine = await platform.openEngine({
    ...(options.model !== undefined && { model: options.model }),
    modelAdvice: ', or give one: perdure run --model provider:model "…"',
    async check(client) {
      if (options.follow === false) throw nobodyToRunIt();
      await client.checkStart(text, startOptions(options));
    },
  });
  try {
    const run = await engine.client.start(text, startOptions(options));
    return await deliverRun(platform, engine, run, options);
  } finally {
    await engine.stop();
  }
}

function startOptions(options: RunCommandOptions): Parameters<Engine['client']['start']>[1] {
  const { id, model } = options;
  const limits = limitsOf(options);
  return {
    ...(id !== undefined && { id }),
    ...(model !== undefined && { model }),
    ...(limits && { limits }),
  };
}

export function nobodyToRunIt(): PerdureError {
  return new PerdureError('usage', 'With --no-follow nobody would run the task: no server is running.', {
    next: 'Start one in another terminal with: perdure dev - or leave --no-follow away.',
  });
}

export const addRun: AddCommand = (program, { platform, finish }) => {
  const command = program
    .command('run')
    .description('run the agent on a task')
    .argument('<task>', 'what the agent is to do; - reads it from standard input')
    .option('--id <id>', "the run's name; default: a short random one")
    .option('--model <model>', 'provider:model, instead of the one in the configuration');
  addDelivery(addLimitOptions(command)).action(async (task: string, options: RunCommandOptions) =>
    finish(await runCommand(platform, task, options)),
  );
  withNotes(command, {
    examples: [
      'perdure run "Refund order 1042 and tell the customer"',
      'perdure run --id refund-1042 --max-steps 50 "Refund order 1042"',
      'perdure run --model openai:gpt-5 - < task.txt > answer.txt',
      'perdure run --json --follow "Refund order 1042" | jq .termination',
    ],
    exits: ['capped', 'failed', 'detached'],
  });
};
