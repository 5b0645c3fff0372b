import { at, checkTexts, didYouMean, shown } from '../config/check-options.js';
import { ConfigError } from '../config/config-error.js';
import { readArtifactName } from './read-artifact.js';
import type { Tool } from './tool.js';

/**
 * The tools with the alternatives that models are offered after a failure: what each names itself, then the others of its
 * groups in `equivalents`. Throws `ConfigError` for a name that no tool has, for a group that is none, and for a tool that
 * is its own alternative.
 */
export function resolveAlternatives(tools: readonly Tool[], equivalents: unknown): Tool[] {
  const names = new Set([...tools.map(({ definition }) => definition.name), readArtifactName]);
  for (const { definition } of tools) {
    const path = at(`tools.${definition.name}`, 'alternatives');
    definition.alternatives.forEach((name, index) => {
      checkKnown(at(path, index), name, names);
      if (name === definition.name) throw new ConfigError(at(path, index), `'${name}' cannot stand in for itself`);
    });
  }
  const groups = checkGroups(equivalents, names);
  return tools.map((tool) => {
    const { name, alternatives } = tool.definition;
    const others = groups.filter((group) => group.includes(name)).flat();
    const all = [...new Set([...alternatives, ...others])].filter((other) => other !== name);
    return all.length === alternatives.length ? tool : withAlternatives(tool, all);
  });
}

function checkGroups(equivalents: unknown, names: ReadonlySet<string>): string[][] {
  if (equivalents === undefined) return [];
  if (!Array.isArray(equivalents)) {
    throw new ConfigError('equivalents', `expected a list of groups of tool names, got ${shown(equivalents)}`);
  }
  return equivalents.map((given: unknown, index) => {
    const path = at('equivalents', index);
    const group = checkTexts(path, given);
    group.forEach((name, place) => checkKnown(at(path, place), name, names));
    if (new Set(group).size < 2) throw new ConfigError(path, 'expected two tools or more; one alone has no equivalent');
    return group;
  });
}

function checkKnown(path: string, name: string, names: ReadonlySet<string>): void {
  if (!names.has(name)) throw new ConfigError(path, `there is no tool '${name}'${didYouMean(name, names)}`);
}

/** The tool itself stays as it was made; it may be shared by other configurations, or be an object of a class. */
function withAlternatives(tool: Tool, alternatives: string[]): Tool {
  const definition = { ...tool.definition, alternatives };
  if (Object.getPrototypeOf(tool) === Object.prototype) return { ...tool, definition };
  return Object.create(tool, { definition: { value: definition, enumerable: true } }) as Tool;
}
