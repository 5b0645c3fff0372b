import type { Platform } from '../platform.js';
import { workUntilInterrupt } from '../work-until-interrupt.js';
import { type AddCommand, withNotes } from '../registration.js';

/** `perdure dev`: a worker and, where no other server is there, the embedded one with its Temporal UI, until Ctrl-C. */
export async function devCommand(platform: Platform): Promise<number> {
  return await workUntilInterrupt(platform, { embed: true });
}

export const addDev: AddCommand = (program, { platform, finish }) => {
  const command = program
    .command('dev')
    .description('start server and worker here, and run until Ctrl-C')
    .action(async () => finish(await devCommand(platform)));
  withNotes(command, { examples: ['perdure dev', 'perdure --config shop/perdure.config.ts dev'] });
};
