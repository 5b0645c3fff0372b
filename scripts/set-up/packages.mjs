import { lstatSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { runQuietly } from './run.mjs';
import { withLock } from './lock.mjs';

/**
 * Installs the packages from the lockfile where they are missing or older than it. npm writes
 * `node_modules/.package-lock.json` last, so an install that was interrupted counts as missing.
 *
 * @param {string} root
 * @param {{ log: (line: string) => void, env: NodeJS.ProcessEnv }} options
 */
export async function installPackages(root, { log, env }) {
  if (areInstalled(root)) return;
  await withLock(root, log, async () => {
    if (areInstalled(root)) return;
    log('installing packages from the lockfile (npm ci)');
    await runQuietly('npm', ['ci', '--no-audit', '--no-fund'], { cwd: root, log, env });
  });
}

/** @param {string} root */
function areInstalled(root) {
  const installed = modifiedMs(join(root, 'node_modules', '.package-lock.json'));
  if (installed === undefined) return false;
  // A linked node_modules belongs to another checkout; `npm ci` here would empty it there.
  if (lstatSync(join(root, 'node_modules')).isSymbolicLink()) return true;
  return installed >= (modifiedMs(join(root, 'package-lock.json')) ?? 0);
}

/** @param {string} path */
function modifiedMs(path) {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs;
}
