import { describe, expect, it } from 'vitest';
import { resolveConfig } from '../../src/config/resolve-config.js';
import { agentAsTool } from '../../src/tools/agent-tool.js';
import { defineTool } from '../../src/tools/define-tool.js';
import { buildManifest, manifestOfAgent, summarizeManifest } from '../../src/tools/manifest.js';
import { readArtifactTool } from '../../src/tools/read-artifact.js';

const options = { name: 'researcher', description: 'Finds things out.' };
const search = defineTool({ name: 'search', description: 'Search.', input: { type: 'object' }, execute: () => 1 });
const write = defineTool({ name: 'write', description: 'Write.', input: { type: 'object' }, execute: () => 1 });

describe('agentAsTool', () => {
  it('takes one text as its task where nothing else is said', () => {
    const tool = agentAsTool(options);
    expect(tool.definition.inputSchema).toMatchObject({ required: ['task'] });
    expect(tool.agent?.task({ task: 'Find it.' })).toBe('Find it.');
    expect(tool.definition.agent).toEqual({ limits: {}, maxConcurrent: 4, maxDepth: 3 });
  });

  it('pins its tools and only the limits that were written', () => {
    const tool = agentAsTool({
      ...options,
      input: { type: 'object', properties: { city: { type: 'string' } } },
      task: ({ city }: { city: string }) => `The weather in ${city}?`,
      tools: ['search'],
      limits: { steps: 3, wallTimeMs: '1m' },
      maxConcurrent: 2,
    });
    expect(tool.agent?.task({ city: 'Bonn' })).toBe('The weather in Bonn?');
    expect(tool.definition.agent).toEqual({
      tools: ['search'],
      limits: { steps: 3, wallTimeMs: 60_000 },
      maxConcurrent: 2,
      maxDepth: 3,
    });
  });

  it.each<[object, string]>([
    [{ maxConcurrent: 0 }, 'tools.researcher.maxConcurrent: expected 1 or more, got 0'],
    [{ maxDepth: 0 }, 'tools.researcher.maxDepth: expected 1 or more, got 0'],
    [{ limits: { stepz: 1 } }, "tools.researcher.limits.stepz: unknown option; did you mean 'steps'?"],
    [{ limits: { steps: -1 } }, 'tools.researcher.limits.steps: expected 0 or more, got -1'],
    [{ tools: 'search' }, "tools.researcher.tools: expected a list of texts, got 'search'"],
    [{ task: 'x' }, "tools.researcher.task: expected a function, got 'x'"],
    [{ input: { type: 'object' } }, 'tools.researcher.task: expected a function, got undefined'],
    [{ effect: 'read' }, 'tools.researcher.effect: unknown option'],
    [{ instructions: '' }, 'tools.researcher.instructions: expected text, got an empty one'],
  ])('refuses %j with path and value', (more, message) => {
    expect(() => agentAsTool({ ...options, ...more })).toThrow(message);
  });

  it('must name tools of its configuration', async () => {
    const config = { tools: [search, agentAsTool({ ...options, tools: ['serch'] })] };
    await expect(resolveConfig(config, { rootDir: '/app', env: {} })).rejects.toThrow(
      "tools[1].tools[0]: no tool has the name 'serch'; did you mean 'search'?; the tools are search, researcher",
    );
  });
});

describe('the tools of an agent', () => {
  const named = agentAsTool({ ...options, tools: ['search', 'researcher'] });
  const any = agentAsTool({ name: 'helper', description: 'Helps.' });
  const artifact = readArtifactTool(() => Promise.resolve(undefined));
  const catalogue = buildManifest([search, write, named, any, artifact]);
  const toolsOf = (name: string, depth: number): string[] => {
    const spec = catalogue.tools.find((tool) => tool.name === name)?.agent;
    if (!spec) throw new Error(`no agent ${name}`);
    return manifestOfAgent(catalogue, spec, depth).tools.map((tool) => tool.name);
  };

  it('are those that it names, and what reads long results', () => {
    expect(toolsOf('researcher', 1)).toEqual(['search', 'researcher', 'read_artifact']);
  });

  it('are all that are no agents, where it names none', () => {
    expect(toolsOf('helper', 1)).toEqual(['search', 'write', 'read_artifact']);
  });

  it('hold no agent that may not be started any deeper', () => {
    expect(toolsOf('researcher', 2)).toContain('researcher');
    expect(toolsOf('researcher', 3)).not.toContain('researcher');
  });

  it('are not in the summary that travels in a history, the rest of an agent is', () => {
    const summary = summarizeManifest(catalogue).tools.find(({ name }) => name === 'researcher');
    expect(summary).toMatchObject({ agent: { limits: {}, maxConcurrent: 4, maxDepth: 3 } });
    expect(summary?.agent).not.toHaveProperty('tools');
  });
});
