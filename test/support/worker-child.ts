/**
 * A worker in a process of its own, to be killed. Reads what it needs from `PERDURE_CHILD` (JSON), says `ready` on standard
 * output, and ends in order on SIGTERM.
 */
import { NativeConnection } from '@temporalio/worker';
import { resolveConfig } from '../../src/config/resolve-config.js';
import type { StoreChoice } from '../../src/store/store-choice.js';
import { createWorker } from '../../src/worker.js';
import { backendTools } from './backend-tools.js';
import { guardedTools } from './guarded-tools.js';
import { serveUntilTold } from './serve-until-told.js';
import './quiet-runtime.js';

export interface ChildOptions {
  address: string;
  namespace: string;
  store: StoreChoice;
  backendUrl: string;
  bundlePath: string;
  heartbeatTimeoutMs: number;
  /** Default: the store's own. */
  taskQueue?: string;
}

const options = JSON.parse(process.env['PERDURE_CHILD'] ?? '') as ChildOptions;
const connection = await NativeConnection.connect({ address: options.address });
const defaults = await resolveConfig({ tools: [] }, { rootDir: '/', env: {} });
const worker = await createWorker({
  config: {
    ...defaults,
    store: options.store,
    tools: [...backendTools(options.backendUrl), ...guardedTools(options.backendUrl)],
    heartbeatTimeoutMs: options.heartbeatTimeoutMs,
  },
  connection,
  namespace: options.namespace,
  ...(options.taskQueue === undefined ? {} : { taskQueue: options.taskQueue }),
  temporal: { workflowBundle: { codePath: options.bundlePath } },
});
await serveUntilTold(worker, connection);
