/** A perdure worker process: `fork`ed with the server's address, a folder and the heartbeat timeout; says `ready`. */
import { join } from 'node:path';
import { NativeConnection } from '@temporalio/worker';
import type { ResolvedConfig } from 'perdure';
import { createWorker } from 'perdure/worker';
import { report } from '../worker-process.ts';
import { benchModel, benchTools } from './agent.ts';

const [address = '', namespace = '', rootDir = '', heartbeatTimeoutMs = ''] = process.argv.slice(2);
const config: ResolvedConfig = {
  rootDir,
  model: benchModel,
  tools: benchTools,
  instructions: 'You look things up.',
  limits: { steps: null, calls: null, tokens: null, costUsd: null, wallTimeMs: null, failures: null },
  storePath: join(rootDir, 'store.db'),
  heartbeatTimeoutMs: Number(heartbeatTimeoutMs),
  maxConcurrentCalls: 50,
  secrets: [],
  workflowsPath: undefined,
};
const connection = await NativeConnection.connect({ address });
const worker = await createWorker({ config, connection, namespace, address });
report({ taskQueue: worker.taskQueue });
process.once('disconnect', () => worker.shutdown());
await worker.run();
await connection.close();
