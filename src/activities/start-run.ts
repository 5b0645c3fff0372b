import type { StartRunInput, StartRunResult } from '../contract/activities.js';
import { summarizeManifest } from '../tools/manifest.js';
import type { Services } from './services.js';

/**
 * Pins the tool catalogue, limits and timeouts and writes the run's root. Idempotent by runKey: a second start (an
 * attempt whose answer was lost, a reset) gets what the first one pinned, whatever is deployed now.
 */
export async function startRun(services: Services, input: StartRunInput): Promise<StartRunResult> {
  const run = await services.store.createRun({
    runKey: input.runKey,
    workflowId: input.workflowId,
    task: input.task ?? '',
    manifest: services.manifest,
    messages: input.task === undefined ? [] : [{ role: 'user', text: input.task }],
  });
  const pinned = await services.store.getManifest(run.manifestHash);
  return {
    storeId: services.store.storeId,
    manifest: summarizeManifest(pinned ?? services.manifest),
    limits: { ...services.limits, ...input.limits },
    loopPolicy: services.loop,
    head: run.head,
    searchAttributes: services.searchAttributes,
    heartbeatTimeoutMs: services.heartbeatTimeoutMs,
  };
}
