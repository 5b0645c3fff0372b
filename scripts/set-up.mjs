/**
 * Makes a fresh clone ready, and looks again each time (well under a second when nothing is missing). Runs on Node 20
 * and later and imports no package, because it is what installs them. Installs nothing globally.
 */
import { delimiter, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from './set-up/build.mjs';
import { buildGoPrograms } from './set-up/go-programs.mjs';
import { findOrGetNode } from './set-up/node.mjs';
import { installPackages } from './set-up/packages.mjs';

export const root = fileURLToPath(new URL('..', import.meta.url));

/**
 * - `packages`: a Node that is new enough, and node_modules.
 * - `build`: also `dist`.
 * - `server`: also a Temporal server to use: one that is configured or runs already, else the Temporal CLI.
 * - `cli`: also the Temporal CLI, whatever server is configured.
 * - `tests`: also the programs of set-up/go-programs.mjs, where Go is there to build them.
 *
 * @typedef {'packages' | 'build' | 'server' | 'cli' | 'tests'} Need
 */

/** @type {Need[]} */
export const needs = ['packages', 'build', 'server', 'cli', 'tests'];

/**
 * Returns the environment to run commands in: the right Node and the packages' commands first on PATH, and
 * `TEMPORAL_CLI_PATH` where the CLI was found.
 *
 * @param {Need} need
 * @returns {Promise<NodeJS.ProcessEnv>}
 */
export async function setUp(need) {
  const log = (/** @type {string} */ line) => console.error(`set-up: ${line}`);
  const nodeBin = await findOrGetNode(log);
  const path = [nodeBin, join(root, 'node_modules', '.bin'), process.env.PATH ?? ''].join(delimiter);
  const env = { ...process.env, PATH: path };
  await installPackages(root, { log, env });
  if (need === 'packages') return env;
  await build(root, { log, env });
  if (need === 'build') return env;

  const { findTemporalCli, getTemporalCli } = await import(distUrl('temporal-cli.js'));
  let cli = findTemporalCli(process.env);
  if (!cli && need === 'server' && (await hasServer())) return env;
  cli ??= await getTemporalCli({ env: process.env, log });
  if (need === 'tests') await buildGoPrograms({ log, env });
  return { ...env, TEMPORAL_CLI_PATH: cli.path };
}

async function hasServer() {
  const { resolveServer } = await import(distUrl('connection.js'));
  return (await resolveServer({ rootDir: process.cwd(), env: process.env })).kind !== 'none';
}

/** @param {string} file */
function distUrl(file) {
  return pathToFileURL(join(root, 'dist', 'server', file)).href;
}
