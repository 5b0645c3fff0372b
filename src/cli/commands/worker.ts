import type { Platform } from '../platform.js';
import { workUntilInterrupt } from '../work-until-interrupt.js';

/** `perdure worker`: executes the tools of runs, for the server that is there, until Ctrl-C. */
export async function workerCommand(platform: Platform): Promise<number> {
  return await workUntilInterrupt(platform, { embed: false });
}
