import type { Platform, WorkerEndpoints } from '../platform.js';
import { workUntilInterrupt } from '../work-until-interrupt.js';

export interface WorkerCommandOptions extends WorkerEndpoints {
  taskQueue?: string;
}

/** `perdure worker`: executes the tools of runs, for the server that is there, until Ctrl-C. */
export async function workerCommand(platform: Platform, options: WorkerCommandOptions = {}): Promise<number> {
  return await workUntilInterrupt(platform, { embed: false, ...options });
}
