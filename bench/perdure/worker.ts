/** A perdure worker process: `fork`ed with the server's address and namespace; the configuration reads `BENCH_…`. */
import { NativeConnection } from '@temporalio/worker';
import { loadConfig } from 'perdure';
import { createWorker } from 'perdure/worker';
import { answerHeldMemory, report } from '../worker-process.ts';

const [address = '', namespace = ''] = process.argv.slice(2);
const config = await loadConfig({ cwd: import.meta.dirname });
const connection = await NativeConnection.connect({ address });
const worker = await createWorker({ config, connection, namespace, address });
answerHeldMemory();
report({ taskQueue: worker.taskQueue });
process.once('disconnect', () => worker.shutdown());
await worker.run();
await connection.close();
