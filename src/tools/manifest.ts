import type { AgentSpec, Manifest, ManifestSummary, ManifestTool, ToolSummary } from '../contract/manifest.js';
import type { Json } from '../contract/json.js';
import { ConfigError } from '../config/config-error.js';
import { digestOf } from '../policy/idempotency-key.js';
import { assignModelNames } from './tool-names.js';
import { readArtifactName } from './read-artifact.js';
import type { Tool } from './tool.js';

/**
 * Pins tools as a run knows them: JSON only, in the given order, with the names that providers are shown and a hash of it
 * all. Throws `ConfigError` where two tools have one name.
 */
export function buildManifest(tools: readonly Tool[]): Manifest {
  refuseDuplicateNames(tools);
  // Given to all tools together, because names must be unique; the map has the tools' order.
  const named = assignModelNames(tools.map(({ definition }) => definition));
  const entries = [...named].map(([modelName, definition]): ManifestTool => ({ ...definition, modelName }));
  return { hash: digestOf({ tools: entries as unknown as Json }), tools: entries };
}

/** Throws `ConfigError` naming the second of two tools with one name. */
export function refuseDuplicateNames(tools: readonly Tool[]): void {
  const places = new Map<string, number>();
  tools.forEach(({ definition }, index) => {
    const earlier = places.get(definition.name);
    if (earlier !== undefined) {
      throw new ConfigError(
        `tools[${String(index)}]`,
        `the name '${definition.name}' is taken by tools[${String(earlier)}]; every tool needs its own`,
      );
    }
    places.set(definition.name, index);
  });
}

/**
 * The tools of a child run: what the agent is offered, out of the first run's. Agents that may not be started as deep as
 * this child's children would be are left out.
 */
export function manifestOfAgent(catalogue: Manifest, spec: AgentSpec, depth: number): Manifest {
  const tools = catalogue.tools.filter(({ name, agent }) => {
    if (name === readArtifactName) return true;
    if (agent && agent.maxDepth <= depth) return false;
    return spec.tools ? spec.tools.includes(name) : !agent;
  });
  return { hash: digestOf({ tools: tools as unknown as Json }), tools };
}

/** The parts of a manifest that a workflow's guards and timeouts need, and that travel in its history. */
export function summarizeManifest(manifest: Manifest): ManifestSummary {
  return { hash: manifest.hash, tools: manifest.tools.map(summarizeTool) };
}

function summarizeTool({ name, policy, agent }: ManifestTool): ToolSummary {
  return {
    name,
    effect: policy.effect.kind,
    timeoutMs: policy.timeoutMs,
    budgetMs: policy.budgetMs,
    ...(policy.polling ? { polling: true } : {}),
    ...(policy.failureOutput === 'verbatim' ? { verbatim: true } : {}),
    ...(policy.taskQueue === undefined ? {} : { taskQueue: policy.taskQueue }),
    ...(agent ? { agent: { limits: agent.limits, maxConcurrent: agent.maxConcurrent, maxDepth: agent.maxDepth } } : {}),
  };
}
