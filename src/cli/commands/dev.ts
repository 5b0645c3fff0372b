import type { Platform } from '../platform.js';
import { workUntilInterrupt } from '../work-until-interrupt.js';

/** `perdure dev`: a worker and, where no other server is there, the embedded one with its Temporal UI, until Ctrl-C. */
export async function devCommand(platform: Platform): Promise<number> {
  return await workUntilInterrupt(platform, { embed: true });
}
