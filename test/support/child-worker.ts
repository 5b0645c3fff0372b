import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Engine } from './engine.js';
import type { ChildOptions } from './worker-child.js';

export interface ChildWorker extends AsyncDisposable {
  /** SIGKILL, and its end awaited. */
  kill(): Promise<void>;
}

/**
 * Starts a worker with the engine's store and the tools of `backendTools` in a process of its own. Disposing of it ends it in
 * order, and fails where it did not end well.
 */
export async function startChildWorker(
  engine: Engine,
  options: Pick<ChildOptions, 'heartbeatTimeoutMs' | 'taskQueue'>,
): Promise<ChildWorker> {
  const resolver = new URL('../typescript-resolver.ts', import.meta.url).href;
  const program = fileURLToPath(new URL('./worker-child.ts', import.meta.url));
  const given: ChildOptions = {
    address: engine.server.address,
    namespace: engine.server.namespace,
    bundlePath: engine.server.workflowBundle,
    store: engine.storeChoice,
    backendUrl: engine.backend.url,
    ...options,
  };
  const child = spawn(process.execPath, ['--import', resolver, program], {
    env: { ...process.env, PERDURE_CHILD: JSON.stringify(given), PERDURE_LOG_LEVEL: 'error' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
  const ready = once(createInterface({ input: child.stdout }), 'line');
  const first = await Promise.race([ready.then(() => 'ready' as const), ended]);
  if (first !== 'ready') throw new Error(`the child worker ended before it was ready (${first.join()})`);
  let killed = false;
  return {
    async kill() {
      killed = true;
      child.kill('SIGKILL');
      await ended;
    },
    async [Symbol.asyncDispose]() {
      if (killed) return;
      child.kill('SIGTERM');
      const [code, signal] = await ended;
      if (code !== 0) throw new Error(`the child worker ended with ${code ?? signal}`);
    },
  };
}
