const input = `{ type: 'object', properties: { id: { type: 'string' } }, required: ['id'], additionalProperties: false }`;
/** The files of a project that uses the published package, by name. */
export const projectFiles = {
  'package.json': JSON.stringify({ name: 'empty', private: true, type: 'module' }),
  'perdure.config.ts': `
import { defineConfig, defineTool } from 'perdure';
export default defineConfig({
  model: 'scripted:script.json',
  tools: [defineTool({ name: 'look', description: 'Look.', effect: 'read', input: ${input}, execute: (order) => order })],
});`,
  'script.json': JSON.stringify({
    turns: [{ calls: [{ tool: 'look', input: { id: '7' } }] }, { text: 'Seen: 7' }],
  }),
  'workflows.ts': `
import { toolExecutor, type ToolExecutorState } from 'perdure/workflow';
export * from 'perdure/workflow';
export async function order(id: string, state?: ToolExecutorState): Promise<string> {
  const tools = await toolExecutor(state ? { state } : {});
  return (await tools.call('look', { id })).status;
}`,
  'worker.ts': `
import { createWorker, loadConfig, PerdurePlugin, type PerdureWorker } from 'perdure/worker';
import type { WorkerPlugin } from '@temporalio/worker';
export const plugin: WorkerPlugin = new PerdurePlugin();
export const start = async (connection: Parameters<typeof createWorker>[0]['connection']): Promise<PerdureWorker> =>
  createWorker({ config: await loadConfig({ cwd: '.', env: {} }), connection, namespace: 'default' });`,
  'tsconfig.json': JSON.stringify({
    compilerOptions: {
      ...{ module: 'nodenext', target: 'es2023', strict: true, noEmit: true, skipLibCheck: true },
      // Node's own types are not the point here, and were not installed.
      types: [],
    },
    files: ['perdure.config.ts', 'workflows.ts', 'worker.ts'],
  }),
  'import.mjs': `
import * as main from 'perdure';
import * as workflow from 'perdure/workflow';
import * as worker from 'perdure/worker';
import * as testing from 'perdure/testing';
for (const [entry, names, module] of [
  ['perdure', ['defineConfig', 'defineTool', 'httpTool', 'ToolError', 'Perdure'], main],
  ['perdure/workflow', ['agentRun', 'toolExecutor'], workflow],
  ['perdure/worker', ['PerdurePlugin', 'createWorker'], worker],
  ['perdure/testing', ['openTestBed'], testing],
]) {
  for (const name of names) if (typeof module[name] !== 'function') throw new Error(entry + ' has no ' + name);
}
console.log('perdure perdure/workflow perdure/worker perdure/testing');`,
};
