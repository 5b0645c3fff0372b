// Bundles the workflow code once, at build time, and proves on the way that it imports nothing that a workflow must not.
import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode } from '@temporalio/worker';

/** @param {string} name */
const dist = (name) => fileURLToPath(new URL(`../dist/${name}`, import.meta.url));
const quiet = {
  log: () => {},
  trace: () => {},
  debug: () => {},
  info: () => {},
  warn: console.warn,
  error: console.error,
};
const { code } = await bundleWorkflowCode({ workflowsPath: dist('workflows/index.js'), logger: quiet });
await writeFile(dist('workflow-bundle.js'), code);
