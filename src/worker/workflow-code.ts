import { existsSync } from 'node:fs';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode } from '@temporalio/worker';
import type { WorkerOptions, WorkflowBundleWithSourceMap } from '@temporalio/worker';

/** The workflows bundled at build time: bundling at start would cost each restarted worker about two seconds. */
export async function workflowCode(
  workflowsPath: string | undefined,
): Promise<Pick<WorkerOptions, 'workflowsPath' | 'workflowBundle'>> {
  if (workflowsPath !== undefined) return { workflowsPath };
  const bundle = fileURLToPath(new URL('../workflow-bundle.js', import.meta.url));
  if (existsSync(bundle)) return { workflowBundle: { codePath: bundle } };
  return { workflowBundle: await (sourceBundle ??= bundleSources()) };
}

/** Run from its sources (tests), nothing is built: bundled once in a process, which starts many workers. */
let sourceBundle: Promise<WorkflowBundleWithSourceMap> | undefined;

async function bundleSources(): Promise<WorkflowBundleWithSourceMap> {
  const entry = `../workflows/index${extname(fileURLToPath(import.meta.url))}`;
  const nothing = (): void => undefined;
  const logger = {
    log: nothing,
    trace: nothing,
    debug: nothing,
    info: nothing,
    warn: console.warn,
    error: console.error,
  };
  return await bundleWorkflowCode({ workflowsPath: fileURLToPath(new URL(entry, import.meta.url)), logger });
}
