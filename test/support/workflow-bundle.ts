import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode } from '@temporalio/worker';

/** The sources of `perdure/workflow`, and the fixture that re-exports them beside workflows of a user's own. */
export const workflowSources = {
  perdure: fileURLToPath(new URL('../../src/workflows/index.ts', import.meta.url)),
  own: fileURLToPath(new URL('./own-workflows.ts', import.meta.url)),
};

const quiet = () => undefined;

/** Bundles workflow sources as they are now, so that no test runs an old build. Takes about 3 s. */
export async function bundleWorkflows(workflowsPath: string): Promise<string> {
  const { code } = await bundleWorkflowCode({
    workflowsPath,
    logger: { log: quiet, trace: quiet, debug: quiet, info: quiet, warn: quiet, error: console.error },
  });
  return code;
}

/** The bundle of the fixture as a file, for workers in this process and in others; removed when disposed of. */
export async function workflowBundleFile(): Promise<{ path: string } & AsyncDisposable> {
  const folder = await mkdtemp(join(tmpdir(), 'perdure-bundle-'));
  const path = join(folder, 'workflow-bundle.js');
  await writeFile(path, await bundleWorkflows(workflowSources.own));
  return { path, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) };
}
