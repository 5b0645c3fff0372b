import type { StartRunInput, StartRunResult } from '../contract/activities.js';
import type { Manifest } from '../contract/manifest.js';
import type { PinnedRun } from '../contract/intervention.js';
import type { AgentOrigin } from '../contract/run.js';
import { notReady } from '../temporal/failure-mapper.js';
import { manifestOfAgent, summarizeManifest } from '../tools/manifest.js';
import { askingExecution } from './asking-execution.js';
import { restartAgent } from './restart-agent.js';
import type { Services } from './services.js';

/**
 * Pins the tool catalogue, limits and timeouts and writes the run's root. Idempotent by runKey: a second start (an
 * attempt whose answer was lost, a reset) gets what the first one pinned, whatever is deployed now.
 */
export async function startRun(services: Services, input: StartRunInput): Promise<StartRunResult> {
  const manifest = await manifestFor(services, input.agent);
  const today: PinnedRun = {
    limits: { ...services.limits, ...input.limits },
    loopPolicy: services.loop,
    ...(input.model === undefined ? {} : { model: input.model }),
    ...(input.agent ? { agent: input.agent } : {}),
  };
  const run = await services.store.createRun({
    runKey: input.runKey,
    workflowId: input.workflowId,
    task: input.task ?? '',
    manifest,
    pinned: today,
    ...askingExecution(),
    messages: input.task === undefined ? [] : [{ role: 'user', text: input.task }],
  });
  const tools = (await services.store.getManifest(run.manifestHash)) ?? manifest;
  // A run of an older version has not pinned its limits: there today's hold.
  const pinned = run.pinned ?? today;
  await restartAgent(services, input, { run, manifest: tools, pinned });
  // Where the conversation begins, not where it has got to: a run that is reset to its start asks its first question again,
  // and is given the recorded answers one after another.
  const [first] = await services.store.getChain(run.head);
  return {
    storeId: services.store.storeId,
    manifest: summarizeManifest(tools),
    limits: pinned.limits,
    loopPolicy: pinned.loopPolicy,
    head: first?.id ?? '',
    searchAttributes: services.searchAttributes,
    heartbeatTimeoutMs: services.heartbeatTimeoutMs,
  };
}

/** The tools that a run is given now: this worker's, or those of the agent whose call it is. */
export async function manifestFor(services: Services, agent: AgentOrigin | undefined): Promise<Manifest> {
  if (!agent) return services.manifest;
  const { tool, depth, catalogue } = agent;
  const whole = await services.store.getManifest(catalogue);
  const spec = whole?.tools.find(({ name }) => name === tool)?.agent;
  if (whole && spec) return manifestOfAgent(whole, spec, depth);
  throw notReady(`the store does not hold the agent ${tool} in the first run's tools (manifest ${catalogue})`, 5_000);
}
