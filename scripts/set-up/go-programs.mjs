import { spawnSync } from 'node:child_process';
import { cpSync, existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { runQuietly } from './run.mjs';

/**
 * Programs that tests run beside ours, built from Go modules at pinned versions: once, into perdure's cache.
 *
 * @typedef {{ module: string, version: string, packages: string[], copy?: { from: string, to: string } }} GoProgram
 */
export const goPrograms = /** @satisfies {Record<string, GoProgram>} */ ({
  /** A Temporal server for PostgreSQL, and what makes its tables. The newest that Go 1.26 builds; about 3 minutes. */
  'temporal-server': {
    module: 'go.temporal.io/server',
    version: 'v1.30.8',
    packages: ['cmd/server', 'cmd/tools/sql'],
    copy: { from: 'schema/postgresql/v12', to: 'schema' },
  },
  /** Reads and checks a compose file as Docker does. */
  'compose-go': { module: 'github.com/compose-spec/compose-go/v2', version: 'v2.9.0', packages: ['cmd'] },
  /** A server that speaks S3. */
  gofakes3: { module: 'github.com/johannesboyne/gofakes3', version: 'v1.2.0', packages: ['cmd/gofakes3'] },
});

/** @typedef {keyof typeof goPrograms} GoProgramName */

/**
 * The folder that has a program's executables, or `undefined` where they were not built.
 *
 * @param {GoProgramName} name
 * @returns {string | undefined}
 */
export function findGoProgram(name) {
  const folder = folderOf(name);
  return existsSync(folder) ? folder : undefined;
}

/**
 * Builds what is missing of them, one after another; a machine without Go keeps going, and its tests say what they lack.
 *
 * @param {{ log: (line: string) => void, env: NodeJS.ProcessEnv }} options
 */
export async function buildGoPrograms({ log, env }) {
  const missing = /** @type {GoProgramName[]} */ (Object.keys(goPrograms)).filter((name) => !findGoProgram(name));
  if (missing.length === 0) return;
  if (spawnSync('go', ['version']).status !== 0) {
    log(`no Go on PATH, so tests that need ${missing.join(', ')} cannot run`);
    return;
  }
  for (const name of missing) {
    try {
      await build(name, { log, env });
    } catch (error) {
      log(`${name} was not built: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
}

/**
 * Completed in a folder of its own and renamed into place, so that an interrupted build leaves nothing.
 *
 * @param {GoProgramName} name
 * @param {{ log: (line: string) => void, env: NodeJS.ProcessEnv }} options
 */
async function build(name, { log, env }) {
  /** @type {GoProgram} */
  const { module, version, packages, copy } = goPrograms[name];
  log(`building ${name} ${version} with Go, once${name === 'temporal-server' ? ' (about 3 minutes)' : ''}`);
  await mkdir(cacheDir(), { recursive: true });
  const folder = await mkdtemp(`${folderOf(name)}-new-`);
  try {
    const targets = packages.map((path) => `${module}/${path}@${version}`);
    await runQuietly('go', ['install', ...targets], { cwd: folder, log, env: { ...env, GOBIN: folder } });
    if (copy) {
      const found = spawnSync('go', ['mod', 'download', '-json', `${module}@${version}`], { encoding: 'utf8', env });
      cpSync(join(JSON.parse(found.stdout).Dir, copy.from), join(folder, copy.to), { recursive: true });
    }
    await rename(folder, folderOf(name)).catch((error) => {
      // Another set-up was faster; its build is as good as ours.
      if (!findGoProgram(name)) throw error;
    });
  } finally {
    // The module cache's files are read-only, and so are copies of them; `force` covers that.
    await rm(folder, { recursive: true, force: true });
  }
}

/** @param {GoProgramName} name */
function folderOf(name) {
  return join(cacheDir(), `${name}-${goPrograms[name].version}`);
}

function cacheDir() {
  return join(process.env.XDG_CACHE_HOME || join(process.env.HOME || homedir(), '.cache'), 'perdure');
}
