import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { isAlive, stateDir } from '../../src/server/dev-file.js';
import { startDevServer } from '../../src/server/dev-server.js';
import { workflowBundleFile } from './workflow-bundle.js';

declare module 'vitest' {
  export interface ProvidedContext {
    /** `host:port` of the run's one Temporal server. */
    temporalAddress: string;
    /** The namespace that has perdure's search attributes. */
    temporalNamespace: string;
    /** File with the bundled workflows of the sources and of test/support/own-workflows.ts. */
    workflowBundle: string;
  }
}

/** Starts one embedded server for the whole run of vitest; fails the run if it outlives its stop. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const rootDir = await mkdtemp(join(tmpdir(), 'perdure-e2e-'));
  const server = await startDevServer({ rootDir });
  const bundle = await workflowBundleFile();
  project.provide('temporalAddress', server.address);
  project.provide('temporalNamespace', server.namespace);
  project.provide('workflowBundle', bundle.path);
  return async () => {
    await bundle[Symbol.asyncDispose]();
    await server.stop();
    const left = (await readdir(stateDir(rootDir))).filter((name) => name.startsWith('dev.'));
    if (isAlive(server.pid)) throw new Error(`the Temporal server (process ${server.pid}) outlived its stop`);
    if (left.length > 0) throw new Error(`the stopped Temporal server left ${left.join(' and ')} in ${rootDir}`);
    await rm(rootDir, { recursive: true, force: true });
  };
}
