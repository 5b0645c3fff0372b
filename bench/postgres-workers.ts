import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { openPostgresStore } from '../src/store/postgres-store.js';
import { startPostgres } from '../test/support/postgres.js';
import { taskOf } from './perdure/task.ts';
import type { Stage } from './stage.ts';
import { percentile, table } from './statistics.ts';
import { familyCpuMs, usageOf } from './usage.ts';
import type { WorkerProcess } from './worker-process.ts';

export interface Crowd {
  workers: number;
  /** All open at once. */
  runs: number;
  steps: number;
}

/** Between the claims that are asked beside the load, milliseconds. */
const probeEveryMs = 50;

/** So many worker processes on one PostgreSQL store, with fsync as it should be, and the runs that they share. */
export async function measurePostgresWorkers(stage: Stage, crowd: Crowd): Promise<void> {
  await using resources = new AsyncDisposableStack();
  const postgres = await startPostgres({ fsync: true });
  resources.defer(() => postgres.stop());
  const backend = resources.use(await startBackend());
  const url = postgres.url('postgres');
  const workers: WorkerProcess[] = [];
  // One after another: compiling ten at once takes longer.
  while (workers.length < crowd.workers) {
    const worker = await stage.startPerdure({ env: { BENCH_STORE: url, BENCH_BACKEND: backend.url } });
    resources.defer(() => worker.stop());
    workers.push(worker);
  }
  // Compiled code, filled caches and open connections are not what is measured.
  await play(stage, workers, { name: 'warm', runs: 4 * crowd.workers, steps: 2 });
  backend.reset();

  const cpu = () => ({
    workers: workers.reduce((sum, { pid }) => sum + usageOf(pid).cpuMs, 0),
    postgres: familyCpuMs(postgres.pid),
    server: usageOf(stage.server.pid).cpuMs,
  });
  const before = cpu();
  const probing = await probeClaims(url);
  const startedAt = performance.now();
  const completed = await play(stage, workers, { name: 'crowd', ...crowd });
  const elapsedMs = performance.now() - startedAt;
  const claimsMs = await probing.end();
  const after = cpu();

  const steps = crowd.runs * crowd.steps;
  const stepsMs = await stepsOf(url, 'crowd-');
  const perStep = (part: keyof typeof before): string => ((after[part] - before[part]) / steps).toFixed(1);
  const within = (ms: number[]): string => `${percentile(ms, 0.5).toFixed(0)}, ${percentile(ms, 0.99).toFixed(0)}`;
  const memoryMb = workers.reduce((sum, { pid }) => sum + usageOf(pid).memoryMb, 0) / workers.length;
  console.log(
    `\n### ${crowd.workers} workers on one PostgreSQL store, ${crowd.runs} runs at once of ${crowd.steps} steps\n\n` +
      table(
        ['', ''],
        [
          ['runs completed', `${completed} of ${crowd.runs}`],
          ['effects, and of them doubled', `${backend.effects()}, ${backend.doubles()}`],
          ['steps/s', ((steps / elapsedMs) * 1_000).toFixed(1)],
          ['a step of one run, ms: 50 %, 99 % within', within(stepsMs)],
          [`a claim beside it (${claimsMs.length} asked), ms: 50 %, 99 % within`, within(claimsMs)],
          ['CPU of all workers, ms a step', perStep('workers')],
          ['CPU of PostgreSQL, ms a step', perStep('postgres')],
          ['CPU of the Temporal server, ms a step', perStep('server')],
          ['memory of a worker, MB', memoryMb.toFixed(0)],
        ],
      ),
  );
}

/** Starts all at once and waits for their end. Resolves with how many were completed. */
async function play(
  { client }: Stage,
  [worker]: WorkerProcess[],
  { name, runs, steps }: { name: string; runs: number; steps: number },
): Promise<number> {
  const taskQueue = worker?.taskQueue ?? '';
  const results = await Promise.all(
    Array.from({ length: runs }, async () => {
      const workflowId = `${name}-${randomUUID()}`;
      const args = [{ runKey: workflowId, task: taskOf('pay', steps) }];
      const handle = await client.workflow.start('agentRun', { workflowId, taskQueue, args });
      return (await handle.result()) as { status: string };
    }),
  );
  return results.filter(({ status }) => status === 'completed').length;
}

/** Counts what the tool `pay` does, by the key that it sends. */
async function startBackend(): Promise<
  { url: string; reset(): void; effects(): number; doubles(): number } & AsyncDisposable
> {
  const requests = new Map<string, number>();
  const server = createServer((request, response) => {
    const key = String(request.headers['idempotency-key']);
    requests.set(key, (requests.get(key) ?? 0) + 1);
    request.resume().on('end', () => response.end('{}'));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    reset: () => requests.clear(),
    effects: () => requests.size,
    doubles: () => [...requests.values()].reduce((sum, count) => sum + count - 1, 0),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      const closed = once(server, 'close');
      server.close();
      await closed;
    },
  };
}

/** Claims from a process that does nothing else, one at a time: what a store request takes under this load. */
async function probeClaims(url: string): Promise<{ end(): Promise<number[]> }> {
  const store = await openPostgresStore({ connectionString: url, poolSize: 1 });
  const took: number[] = [];
  let isOver = false;
  const asking = (async () => {
    for (let number = 0; !isOver; number += 1) {
      const askedAt = performance.now();
      await store.applyLedger(`probe-${number}`, {
        type: 'claim',
        call: { runKey: 'probe', callId: `c${number}.0`, tool: 'pay', digest: 'd', effect: { kind: 'once' } },
        token: 'probe',
        leaseMs: 10_000,
        graceMs: 0,
      });
      took.push(performance.now() - askedAt);
      await sleep(probeEveryMs);
    }
  })();
  return {
    async end() {
      isOver = true;
      await asking;
      await store.close();
      return took;
    },
  };
}

/** From each turn's commit to the next one of its run: a call and a model turn. Milliseconds, by the store's clock. */
async function stepsOf(url: string, prefix: string): Promise<number[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<{ ms: string | null }>(
      `SELECT committed_at_ms - lag(committed_at_ms) OVER (PARTITION BY run_key ORDER BY committed_order) AS ms
       FROM perdure.turns WHERE starts_with(run_key, $1) AND committed_order IS NOT NULL`,
      [prefix],
    );
    return rows.flatMap(({ ms }) => (ms === null ? [] : [Number(ms)]));
  } finally {
    await client.end();
  }
}
