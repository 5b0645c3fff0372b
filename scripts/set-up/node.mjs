import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { runQuietly } from './run.mjs';

/** First Node with both `node:sqlite` unflagged and import of TypeScript files. */
export const oldestNode = { major: 22, minor: 18 };
const pinnedNode = '24.21.0';

/**
 * The folder with a Node that is new enough, to be put first on PATH: the running one's where it is, else that of
 * the npm package `node` in perdure's cache, installed there when missing.
 *
 * @param {(line: string) => void} log
 * @returns {Promise<string>}
 */
export async function findOrGetNode(log) {
  if (isNewEnough(process.versions.node)) return dirname(process.execPath);
  log(`Node ${process.versions.node} is older than ${oldestNode.major}.${oldestNode.minor}`);
  return await getNode(pinnedNode, log);
}

/**
 * The folder of a Node of this version, from perdure's cache, installed there when missing.
 *
 * @param {string} version
 * @param {(line: string) => void} log
 * @returns {Promise<string>}
 */
export async function getNode(version, log) {
  const target = join(cacheDir(), `node-${version}`);
  // The package's own bin folder holds `node` and nothing else, so nothing else is shadowed.
  const bin = join(target, 'node_modules', 'node', 'bin');
  if (!existsSync(join(bin, 'node'))) await install(version, target, log);
  return bin;
}

/** @param {string} version */
function isNewEnough(version) {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > oldestNode.major || (major === oldestNode.major && minor >= oldestNode.minor);
}

function cacheDir() {
  return join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'perdure');
}

/**
 * @param {string} version
 * @param {string} target
 * @param {(line: string) => void} log
 */
async function install(version, target, log) {
  log(`installing Node ${version} into ${target}`);
  await mkdir(dirname(target), { recursive: true });
  const folder = await mkdtemp(`${target}-new-`);
  try {
    // The package's install script fetches the binary for this platform; npm 11 runs only scripts that are allowed.
    const manifest = { private: true, dependencies: { node: version }, allowScripts: { node: true } };
    await writeFile(join(folder, 'package.json'), JSON.stringify(manifest));
    await runQuietly('npm', ['install', '--no-package-lock', '--no-audit', '--no-fund'], { cwd: folder, log });
    const node = join(folder, 'node_modules', 'node', 'bin', 'node');
    if (!existsSync(node)) throw new Error(`npm did not run the install script of \`node\`: ${node} is missing`);
    await runQuietly(node, ['--version'], { cwd: folder, log });
    await rename(folder, target).catch((error) => {
      // Another set-up was faster; its Node is as good as ours.
      if (!existsSync(join(target, 'node_modules', 'node', 'bin', 'node'))) throw error;
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
