import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isAlive, stateDir } from '../server/dev-file.js';
import { startDevServer } from '../server/dev-server.js';

/** A Temporal server that tests may use. */
export interface TestServer {
  /** `host:port`. */
  address: string;
  namespace: string;
}

/**
 * Starts an embedded Temporal server for tests, with its state in a folder of its own; takes 1 to 2 s. Disposing of it
 * stops it and rejects where its process or its files are left over. Rejects as `startDevServer` does.
 */
export async function startTestServer(): Promise<TestServer & AsyncDisposable> {
  const rootDir = await mkdtemp(join(tmpdir(), 'perdure-test-server-'));
  const server = await startDevServer({ rootDir });
  return {
    address: server.address,
    namespace: server.namespace,
    async [Symbol.asyncDispose]() {
      await server.stop();
      const left = (await readdir(stateDir(rootDir))).filter((name) => name.startsWith('dev.'));
      if (isAlive(server.pid)) throw new Error(`the Temporal server (process ${server.pid}) outlived its stop`);
      if (left.length > 0) throw new Error(`the stopped Temporal server left ${left.join(' and ')} in ${rootDir}`);
      await rm(rootDir, { recursive: true, force: true });
    },
  };
}
