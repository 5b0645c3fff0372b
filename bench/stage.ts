import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { startDevServer, type DevServer } from 'perdure/testing';
import { startWorker, type WorkerProcess } from './worker-process.ts';

/** An embedded server in a folder of its own, a client, and whatever workers a benchmark starts. */
export interface Stage {
  readonly server: DevServer;
  readonly client: Client;
  readonly storePath: string;
  readonly serverDbPath: string;
  startFloor(): Promise<WorkerProcess>;
  startPerdure(options?: {
    heartbeatTimeoutMs?: number;
    nodeArgs?: string[];
    env?: Record<string, string>;
  }): Promise<WorkerProcess>;
}

/** Sets the stage, runs the benchmark, and leaves nothing behind, whatever happens. */
export async function onStage<T>(play: (stage: Stage) => Promise<T>): Promise<T> {
  const rootDir = await mkdtemp(join(tmpdir(), 'perdure-bench-'));
  const storePath = join(rootDir, 'store.db');
  const server = await startDevServer({ rootDir });
  const connection = await Connection.connect({ address: server.address });
  const { address, namespace } = server;
  const workers: WorkerProcess[] = [];
  const started = async (starting: Promise<WorkerProcess>) => {
    const worker = await starting;
    workers.push(worker);
    return worker;
  };
  try {
    return await play({
      server,
      client: new Client({ connection, namespace }),
      storePath,
      serverDbPath: join(rootDir, '.perdure', 'temporal.db'),
      startFloor: () => started(startWorker('floor', [address, namespace], { nodeArgs: profiling('floor') })),
      startPerdure: ({ heartbeatTimeoutMs = 10_000, nodeArgs = [], env = {} } = {}) =>
        started(
          startWorker('perdure', [address, namespace], {
            nodeArgs: [...profiling('perdure'), ...nodeArgs],
            env: { BENCH_STORE: storePath, BENCH_HEARTBEAT_MS: String(heartbeatTimeoutMs), ...env },
          }),
        ),
    });
  } finally {
    await Promise.all(workers.map((worker) => worker.stop()));
    await connection.close();
    await server.stop();
    await rm(rootDir, { recursive: true, force: true });
  }
}

/** `BENCH_PROFILE=DIR` writes a CPU profile of each thread of each worker there. */
function profiling(name: string): string[] {
  const dir = process.env['BENCH_PROFILE'];
  return dir === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${join(dir, name)}`];
}
