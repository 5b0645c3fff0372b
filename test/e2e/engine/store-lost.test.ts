import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Worker as Thread } from 'node:worker_threads';
import { NativeConnection } from '@temporalio/worker';
import { expect, it } from 'vitest';
import { resolveConfig } from '../../../src/config/resolve-config.js';
import { createWorker } from '../../../src/worker.js';
import { temporalServer } from '../../support/temporal-server.js';
import '../../support/quiet-runtime.js';

it('a worker whose store is lost stops, and says why, instead of failing all that it takes', async () => {
  const rootDir = await mkdtemp(join(tmpdir(), 'perdure-lost-'));
  const { address, namespace } = temporalServer();
  const connection = await NativeConnection.connect({ address });
  const lines: string[] = [];
  const line = (message: string): void => void lines.push(message);
  try {
    const threads: Thread[] = [];
    const noted = (thread: Thread): void => void threads.push(thread);
    process.on('worker', noted);
    const config = await resolveConfig({ tools: [] }, { rootDir, env: {} });
    const log = { debug: line, info: line, warn: line, error: line };
    const worker = await createWorker({ config, connection, namespace, log });
    process.off('worker', noted);
    const running = worker.run();
    running.catch(() => undefined);
    await new Promise((resolve) => setTimeout(resolve, 500));
    await threads[0]?.terminate();
    await expect(running).rejects.toMatchObject({ name: 'StoreError', code: 'unavailable' });
    expect(lines).toContain('the store is lost: this worker stops');
  } finally {
    await connection.close();
    await rm(rootDir, { recursive: true, force: true });
  }
});
