import type { Platform } from '../platform.js';
import { workUntilInterrupt } from '../work-until-interrupt.js';
import { type AddCommand, withNotes } from '../registration.js';

/** `perdure worker`: executes the tools of runs, for the server that is there, until Ctrl-C. */
export async function workerCommand(platform: Platform): Promise<number> {
  return await workUntilInterrupt(platform, { embed: false });
}

export const addWorker: AddCommand = (program, { platform, finish }) => {
  const command = program
    .command('worker')
    .description('execute the tools of runs, until Ctrl-C')
    .action(async () => finish(await workerCommand(platform)));
  withNotes(command, {
    examples: [
      'perdure worker',
      'TEMPORAL_ADDRESS=temporal.internal:7233 perdure worker',
      'TEMPORAL_PROFILE=prod perdure worker',
    ],
  });
};
