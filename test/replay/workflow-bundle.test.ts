import { execFileSync } from 'node:child_process';
import { builtinModules } from 'node:module';
import { beforeAll, describe, expect, it } from 'vitest';
import { bundleWorkflows, workflowSources } from '../support/workflow-bundle.js';

/** The layers that replayed code may consist of. */
const replayed = /^src\/(contract|policy|temporal|workflows)\//;
/** Packages that it may use: Temporal's workflow side and pure ones. */
const packages = new Set([
  // Converters of one's own, which perdure has none of.
  '__temporal_custom_failure_converter',
  '__temporal_custom_payload_converter',
  '@noble/hashes',
  '@temporalio/common',
  '@temporalio/workflow',
  'canonicalize',
  'fastest-levenshtein',
  'long',
  'ms',
  'nexus-rpc',
  'protobufjs',
]);

/** `src/…` of a module of ours, the package's name of any other. */
function owner(path: string): string {
  const [, inPackages] = /^(?:.*\/)?node_modules\/(.*)$/.exec(path) ?? [];
  if (inPackages === undefined) return path.replace(/^.*?(?=src\/)/, '');
  return inPackages
    .split('/')
    .slice(0, inPackages.startsWith('@') ? 2 : 1)
    .join('/');
}

describe('the workflow bundle', () => {
  let modules: string[];
  beforeAll(async () => {
    const code = await bundleWorkflows(workflowSources.perdure);
    // A module that the bundler left out is an empty one with a made-up id; its comment says what was asked for.
    const withoutContent = new Map(
      [...code.matchAll(/^\/\*\*\*\/ "(\?[^"]+)"\n[^\n]*\n *!\*\*\* (\S+) \(ignored\)/gm)].map(([, id, name]) => [
        id,
        name,
      ]),
    );
    const ids = new Set([...code.matchAll(/^\/\*\*\*\/ "([^"]+)"/gm)].map(([, id]) => id ?? ''));
    modules = [...ids].map((id) => withoutContent.get(id) ?? id);
  });

  it('holds replayed layers only', () => {
    const ours = modules.map(owner).filter((name) => name.startsWith('src/'));
    expect(ours).toContain('src/workflows/agent-run.ts');
    expect(ours.filter((name) => !replayed.test(name))).toEqual([]);
  });

  it('holds no module of Node and nothing of a worker', () => {
    expect(modules.filter((path) => path.startsWith('node:') || builtinModules.includes(path))).toEqual([]);
    const foreign = new Set(modules.map(owner).filter((name) => !name.startsWith('src/') && !packages.has(name)));
    expect([...foreign].filter((name) => name.startsWith('@temporalio/'))).toEqual([]);
    expect([...foreign]).toEqual([]);
  });
});

describe('importing perdure/workflow', () => {
  it('loads replayed layers, Temporal’s workflow side and pure packages only', () => {
    const program = `
      import { registerHooks } from 'node:module';
      const loaded = [];
      registerHooks({ load(url, context, next) { loaded.push(url); return next(url, context); } });
      await import(${JSON.stringify(new URL('../../src/workflows/index.ts', import.meta.url).href)});
      console.log(JSON.stringify(loaded));
    `;
    const resolver = new URL('../typescript-resolver.ts', import.meta.url).href;
    const args = ['--import', resolver, '--input-type=module', '-e', program];
    const loaded = JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' })) as string[];
    const owners = [...new Set(loaded.filter((url) => url.startsWith('file:')).map(owner))];
    expect(owners).toContain('src/workflows/agent-run.ts');
    const ours = owners.filter((name) => name.startsWith('src/'));
    expect(ours.filter((name) => !replayed.test(name))).toEqual([]);
    expect(owners.filter((name) => !name.startsWith('src/') && !packages.has(name))).toEqual([]);
  });
});
