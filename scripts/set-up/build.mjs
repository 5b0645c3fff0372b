import { readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { withLock } from './lock.mjs';
import { runQuietly } from './run.mjs';

/**
 * Compiles `src` to `dist` where anything that the compiler reads is newer than the last build. Folders count too:
 * they change when a file is added or deleted.
 *
 * @param {string} root
 * @param {{ log: (line: string) => void, env: NodeJS.ProcessEnv }} options
 */
export async function build(root, { log, env }) {
  if (isBuilt(root)) return;
  await withLock(root, log, async () => {
    if (isBuilt(root)) return;
    log('building (tsc, workflow bundle)');
    // Taken before the build: a file saved while tsc runs must count as newer.
    const started = new Date();
    const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
    await runQuietly('node', [tsc, '-p', 'tsconfig.build.json'], { cwd: root, log, env });
    removeOlderOutputs(join(root, 'dist'), started.getTime());
    await runQuietly('node', [join(root, 'scripts', 'bundle-workflows.mjs')], { cwd: root, log, env });
    writeFileSync(stampPath(root), '');
    utimesSync(stampPath(root), started, started);
  });
}

/**
 * Removes what tsc did not write this time: the output of sources that were deleted or renamed. The folder as a whole
 * stays, because a process that runs from it may still load parts of it.
 *
 * @param {string} dist
 * @param {number} startedMs
 */
function removeOlderOutputs(dist, startedMs) {
  for (const entry of readdirSync(dist, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile() && statSync(path).mtimeMs < startedMs) rmSync(path);
  }
}

/** @param {string} root */
function stampPath(root) {
  return join(root, 'dist', '.built');
}

/** @param {string} root */
function isBuilt(root) {
  const built = statSync(stampPath(root), { throwIfNoEntry: false })?.mtimeMs;
  if (built === undefined) return false;
  const sources = ['tsconfig.json', 'tsconfig.build.json', 'package-lock.json', 'src'];
  const nested = readdirSync(join(root, 'src'), { recursive: true }).map((name) => join('src', String(name)));
  return [...sources, ...nested].every((name) => statSync(join(root, name)).mtimeMs <= built);
}
