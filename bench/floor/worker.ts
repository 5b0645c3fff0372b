/** A worker process of the floor: `fork`ed with the server's address; says `ready`, ends with its parent. */
import { fileURLToPath } from 'node:url';
import { NativeConnection, Worker } from '@temporalio/worker';
import { report } from '../worker-process.ts';
import { activities } from './activities.ts';

const [address = '', namespace = ''] = process.argv.slice(2);
const connection = await NativeConnection.connect({ address });
const taskQueue = 'floor';
const worker = await Worker.create({
  connection,
  namespace,
  taskQueue,
  activities,
  workflowsPath: fileURLToPath(new URL('./workflow.ts', import.meta.url)),
});
report({ taskQueue });
process.once('disconnect', () => worker.shutdown());
await worker.run();
await connection.close();
