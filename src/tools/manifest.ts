import type { Manifest, ManifestSummary, ManifestTool, ToolSummary } from '../contract/manifest.js';
import type { Json } from '../contract/json.js';
import { ConfigError } from '../config/config-error.js';
import { digestOf } from '../policy/idempotency-key.js';
import { assignModelNames } from './tool-names.js';
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

/** The parts of a manifest that a workflow's guards and timeouts need, and that travel in its history. */
export function summarizeManifest(manifest: Manifest): ManifestSummary {
  return { hash: manifest.hash, tools: manifest.tools.map(summarizeTool) };
}

function summarizeTool({ name, policy }: ManifestTool): ToolSummary {
  return {
    name,
    effect: policy.effect.kind,
    timeoutMs: policy.timeoutMs,
    budgetMs: policy.budgetMs,
    ...(policy.polling ? { polling: true } : {}),
    ...(policy.taskQueue === undefined ? {} : { taskQueue: policy.taskQueue }),
  };
}
