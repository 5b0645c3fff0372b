import type { StartRunInput, StartRunResult } from '../contract/activities.js';
import type { Manifest } from '../contract/manifest.js';
import type { AgentOrigin } from '../contract/run.js';
import { notReady } from '../temporal/failure-mapper.js';
import { manifestOfAgent, summarizeManifest } from '../tools/manifest.js';
import type { Services } from './services.js';

/**
 * Pins the tool catalogue, limits and timeouts and writes the run's root. Idempotent by runKey: a second start (an
 * attempt whose answer was lost, a reset) gets what the first one pinned, whatever is deployed now.
 */
export async function startRun(services: Services, input: StartRunInput): Promise<StartRunResult> {
  const manifest = input.agent ? await agentManifest(services, input.agent) : services.manifest;
  const run = await services.store.createRun({
    runKey: input.runKey,
    workflowId: input.workflowId,
    task: input.task ?? '',
    manifest,
    messages: input.task === undefined ? [] : [{ role: 'user', text: input.task }],
  });
  const pinned = await services.store.getManifest(run.manifestHash);
  // Where the conversation begins, not where it has got to: a run that is reset to its start asks its first question again,
  // and is given the recorded answers one after another.
  const [first] = await services.store.getChain(run.head);
  return {
    storeId: services.store.storeId,
    manifest: summarizeManifest(pinned ?? manifest),
    limits: { ...services.limits, ...input.limits },
    loopPolicy: services.loop,
    head: first?.id ?? '',
    searchAttributes: services.searchAttributes,
    heartbeatTimeoutMs: services.heartbeatTimeoutMs,
  };
}

async function agentManifest(services: Services, { tool, depth, catalogue }: AgentOrigin): Promise<Manifest> {
  const whole = await services.store.getManifest(catalogue);
  const spec = whole?.tools.find(({ name }) => name === tool)?.agent;
  if (whole && spec) return manifestOfAgent(whole, spec, depth);
  throw notReady(`the store does not hold the agent ${tool} in the first run's tools (manifest ${catalogue})`, 5_000);
}
