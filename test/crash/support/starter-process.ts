/** A client that starts one run when it is told to, and says how that went: `{ started }` or `{ code }` of perdure's error. */
import { once } from 'node:events';
import { openParts } from '../../../src/client/open-parts.js';
import { Perdure } from '../../../src/client/perdure-client.js';
import { PerdureError } from '../../../src/client/perdure-error.js';
import { resolveConfig } from '../../../src/config/resolve-config.js';
import '../../support/quiet-runtime.js';

export interface Start {
  address: string;
  namespace: string;
  storePath: string;
  id: string;
  task: string;
}

const { address, namespace, storePath, id, task } = JSON.parse(process.env['PERDURE_CRASH_START'] as string) as Start;
const config = await resolveConfig({ tools: [], store: { path: storePath } }, { rootDir: process.cwd(), env: {} });
const connection = { address, tls: false };
const parts = await openParts(config, {
  kind: 'configured',
  source: 'test',
  address,
  namespace,
  client: connection,
  worker: connection,
});
const perdure = new Perdure(parts);
process.send?.({ ready: true });
await once(process, 'message');
try {
  process.send?.({ started: (await perdure.start(task, { id })).runId });
} catch (error) {
  if (!(error instanceof PerdureError)) throw error;
  process.send?.({ code: error.code });
} finally {
  await perdure.close();
  process.disconnect();
}
