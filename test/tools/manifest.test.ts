import { describe, expect, it } from 'vitest';
import { defineTool } from '../../src/tools/define-tool.js';
import { buildManifest, summarizeManifest } from '../../src/tools/manifest.js';
import type { Tool } from '../../src/tools/tool.js';

const named = (name: string, options: object = {}): Tool =>
  defineTool({ name, description: 'Does it.', input: { type: 'object' }, execute: () => 1, ...options });

describe('buildManifest', () => {
  it('pins tools as JSON with a hash that does not depend on key order', () => {
    const manifest = buildManifest([named('a'), named('b')]);
    expect(manifest.hash).toMatch(/^[0-9a-f]{64}$/);
    expect(JSON.parse(JSON.stringify(manifest))).toEqual(manifest);
    expect(manifest.tools.map(({ name, modelName }) => [name, modelName])).toEqual([
      ['a', 'a'],
      ['b', 'b'],
    ]);
    const schema = (properties: object) => named('a', { input: properties });
    const one = buildManifest([schema({ type: 'object', title: 'x' })]);
    const other = buildManifest([schema({ title: 'x', type: 'object' })]);
    expect(one.hash).toBe(other.hash);
  });

  it('changes its hash with any policy, schema or order, and not with notes', () => {
    const hashes = [
      [named('a'), named('b')],
      [named('b'), named('a')],
      [named('a', { timeoutMs: 1000 }), named('b')],
      [named('a', { description: 'Does it now.' }), named('b')],
    ].map((tools) => buildManifest(tools).hash);
    expect(new Set(hashes).size).toBe(4);
    expect(buildManifest([named('a', { notes: 'ask Jo' }), named('b')]).hash).toBe(hashes[0]);
  });

  it('refuses two tools with one name', () => {
    expect(() => buildManifest([named('a'), named('b'), named('a')])).toThrow(
      "tools[2]: the name 'a' is taken by tools[0]; every tool needs its own",
    );
  });

  it('takes a tool written by hand', () => {
    const tool: Tool = {
      definition: named('x').definition,
      source: 'mcp',
      parse: (value) => Promise.resolve({ ok: true, value }),
      execute: () => Promise.resolve(1),
    };
    expect(buildManifest([tool]).tools[0]?.name).toBe('x');
  });
});

describe('summarizeManifest', () => {
  it('keeps what a workflow needs and nothing else', () => {
    const manifest = buildManifest([named('a'), named('b', { polling: true, taskQueue: 'gpu', effect: 'read' })]);
    expect(summarizeManifest(manifest)).toEqual({
      hash: manifest.hash,
      tools: [
        { name: 'a', effect: 'once', timeoutMs: 30_000, budgetMs: 120_000 },
        { name: 'b', effect: 'read', timeoutMs: 30_000, budgetMs: 120_000, polling: true, taskQueue: 'gpu' },
      ],
    });
  });
});
