import type { NativeConnection } from '@temporalio/worker';

/** The end of a worker's process: says that it is ready, and works until it is told to stop. */
export async function serveUntilTold(
  worker: { run(): Promise<void>; shutdown(): void },
  connection: NativeConnection,
): Promise<void> {
  process.once('SIGTERM', () => worker.shutdown());
  const running = worker.run();
  process.stdout.write('ready\n');
  await running;
  await connection.close();
}
