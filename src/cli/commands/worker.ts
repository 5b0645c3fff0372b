import { InvalidArgumentError } from 'commander';
import type { Platform, WorkerEndpoints } from '../platform.js';
import { workUntilInterrupt } from '../work-until-interrupt.js';
import { type AddCommand, withNotes } from '../registration.js';

export interface WorkerCommandOptions extends WorkerEndpoints {
  taskQueue?: string;
}

/** `perdure worker`: executes the tools of runs, for the server that is there, until Ctrl-C. */
export async function workerCommand(platform: Platform, options: WorkerCommandOptions = {}): Promise<number> {
  return await workUntilInterrupt(platform, { embed: false, ...options });
}

export const addWorker: AddCommand = (program, { platform, finish }) => {
  const command = program
    .command('worker')
    .description('execute the tools of runs, until Ctrl-C')
    .option('--task-queue <queue>', 'serve this queue, which tools name, instead of the runs themselves')
    .option('--health-port <port>', 'serve /healthz and /readyz; 0 takes a free port', portNumber)
    .option('--metrics-port <port>', 'serve Prometheus metrics at /metrics; 0 takes a free port', portNumber)
    .option('--bind <address>', 'interface of these ports (default: 127.0.0.1)')
    .action(async (options: WorkerCommandOptions) => finish(await workerCommand(platform, options)));
  withNotes(command, {
    examples: [
      'perdure worker',
      'TEMPORAL_PROFILE=prod perdure worker',
      'perdure worker --health-port 8080 --metrics-port 9464 --bind 0.0.0.0',
      "perdure worker --task-queue gpu  only the calls of tools with taskQueue: 'gpu'",
    ],
  });
};

function portNumber(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  throw new InvalidArgumentError('Expected a port, 0 to 65535.');
}
