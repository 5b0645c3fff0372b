import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Runs `work` while no other set-up of this checkout runs its own: two shells may start at once, and two `npm ci` in
 * one folder destroy each other. The lock is a file with the holder's process id; one whose process is gone is void.
 *
 * @template T
 * @param {string} root
 * @param {(line: string) => void} log
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withLock(root, log, work) {
  mkdirSync(join(root, '.perdure'), { recursive: true });
  const path = join(root, '.perdure', 'set-up.lock');
  let told = false;
  while (!tryTake(path)) {
    const holder = holderOf(path);
    if (holder !== undefined && !isAlive(holder)) discard(path, holder);
    else if (!told && holder !== undefined) {
      told = true;
      log(`waiting for another set-up of this folder (process ${holder})`);
    }
    await sleep(200);
  }
  try {
    return await work();
  } finally {
    rmSync(path, { force: true });
  }
}

/** @param {string} path */
function tryTake(path) {
  try {
    writeFileSync(path, String(process.pid), { flag: 'wx' });
    return true;
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'EEXIST') return false;
    throw error;
  }
}

/** @param {string} path */
function holderOf(path) {
  try {
    return Number(readFileSync(path, 'utf8')) || undefined;
  } catch {
    return undefined;
  }
}

/** @param {number} pid */
function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code === 'EPERM';
  }
}

/**
 * Moves a dead process's lock aside before deleting it, so that of two waiters only one removes it.
 *
 * @param {string} path
 * @param {number} holder
 */
function discard(path, holder) {
  const aside = `${path}.${process.pid}`;
  try {
    if (holderOf(path) !== holder) return;
    renameSync(path, aside);
    rmSync(aside, { force: true });
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'ENOENT') throw error;
  }
}
