import type { Effect } from '../contract/effect.js';
import type { Manifest, ManifestTool } from '../contract/manifest.js';

/**
 * What a call of the tool is to the ledger. An agent's is a read: it may be begun any number of times, since every effect of
 * the child has a key of its own that is the same each time, and the first outcome stays.
 */
export function ledgerEffect({ agent, policy }: ManifestTool): Effect {
  return agent ? { kind: 'read' } : policy.effect;
}

/** The same for each of a run's tools, by name; `undefined` for a tool that it does not have. */
export function ledgerEffects(manifest: Manifest | undefined): (tool: string) => Effect | undefined {
  const effects = new Map(manifest?.tools.map((tool): [string, Effect] => [tool.name, ledgerEffect(tool)]));
  return (tool) => effects.get(tool);
}

/** Which of a run's tools are agents, by name. */
export function agentsOf(manifest: Manifest | undefined): (tool: string) => boolean {
  const names = new Set(manifest?.tools.flatMap(({ name, agent }) => (agent ? [name] : [])));
  return (tool) => names.has(tool);
}
