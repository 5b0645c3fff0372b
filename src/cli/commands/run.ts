import { PerdureError } from '../../client/perdure-error.js';
import { deliverRun, type DeliverOptions } from '../deliver-run.js';
import { type LimitOptions, limitsOf } from '../limit-options.js';
import type { Engine, Platform } from '../platform.js';

export interface RunCommandOptions extends LimitOptions, DeliverOptions {
  id?: string;
  model?: string;
}

/** `perdure run "task"`: starts a run and, where it follows it, prints the answer. `-` reads the task from stdin. */
export async function runCommand(platform: Platform, task: string, options: RunCommandOptions): Promise<number> {
  const text = task === '-' ? await platform.readStdin() : task;
  const engine = await platform.openEngine(options.model === undefined ? {} : { model: options.model });
  try {
    if (engine.embedded && options.follow === false) throw nobodyToRunIt();
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
