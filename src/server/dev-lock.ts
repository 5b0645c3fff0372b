import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isAlive, stateDir } from './dev-file.js';

/**
 * The right to run the embedded server on a folder's database. Two servers on one file would corrupt it, and two
 * `perdure run` may well start at once. Held by a file with the ids of the starting process and of the server; void
 * once both are gone, so a killed parent's lock outlives it exactly until its server has ended.
 */
export interface DevLock {
  /** Adds the server's process id to the holders. */
  holdFor(serverPid: number): Promise<void>;
  release(): Promise<void>;
}

/** Takes the lock, or returns the process ids that hold it. */
export async function takeDevLock(rootDir: string): Promise<DevLock | { heldBy: number[] }> {
  const path = join(stateDir(rootDir), 'dev.lock');
  await mkdir(stateDir(rootDir), { recursive: true });
  if (!(await create(path))) {
    const holders = await readHolders(path);
    const living = holders.filter(isAlive);
    if (living.length > 0) return { heldBy: living };
    await discard(path, holders);
    if (!(await create(path))) return { heldBy: (await readHolders(path)).filter(isAlive) };
  }
  return {
    holdFor: (serverPid) => writeFile(path, `${process.pid} ${serverPid}`),
    release: () => rm(path, { force: true }),
  };
}

async function create(path: string): Promise<boolean> {
  try {
    await writeFile(path, String(process.pid), { flag: 'wx' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

async function readHolders(path: string): Promise<number[]> {
  const text = await readFile(path, 'utf8').catch(() => '');
  return text
    .split(' ')
    .map(Number)
    .filter((pid) => Number.isInteger(pid) && pid > 0);
}

/** Moves a void lock aside before deleting it, so that of two processes that found it void only one removes it. */
async function discard(path: string, holders: number[]): Promise<void> {
  if ((await readHolders(path)).join() !== holders.join()) return;
  const aside = `${path}.${process.pid}`;
  try {
    await rename(path, aside);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  await rm(aside, { force: true });
}
