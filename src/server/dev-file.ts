import { readFileSync } from 'node:fs';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** What `.perdure/dev.json` says of a running embedded server. */
export interface DevFile {
  address: string;
  uiUrl: string;
  /** Process id of the Temporal server. */
  pid: number;
  namespace: string;
}

/** Folder of everything that perdure keeps beside a configuration. */
export function stateDir(rootDir: string): string {
  return join(rootDir, '.perdure');
}

export function devFilePath(rootDir: string): string {
  return join(stateDir(rootDir), 'dev.json');
}

/** Reads `.perdure/dev.json`; `undefined` where there is none, it is unreadable, or its process is gone. */
export async function readDevFile(rootDir: string): Promise<DevFile | undefined> {
  const file = parse(await readFile(devFilePath(rootDir), 'utf8').catch(() => ''));
  return file && isAlive(file.pid) ? file : undefined;
}

/** Replaces the file as a whole: a reader sees the old one or the new one. */
export async function writeDevFile(rootDir: string, file: DevFile): Promise<void> {
  const path = devFilePath(rootDir);
  await mkdir(dirname(path), { recursive: true });
  const unfinished = `${path}.${process.pid}`;
  await writeFile(unfinished, `${JSON.stringify(file, null, 2)}\n`);
  await rename(unfinished, path);
}

/** Removes the file if it still tells of this process: a newer server's file stays. */
export async function removeDevFile(rootDir: string, pid: number): Promise<void> {
  const path = devFilePath(rootDir);
  if (parse(await readFile(path, 'utf8').catch(() => ''))?.pid === pid) await rm(path, { force: true });
}

/** Whether a process exists. One that belongs to somebody else does. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !isZombie(pid);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** A process that ended but was not yet reaped still takes signals; Linux tells it apart. */
function isZombie(pid: number): boolean {
  if (process.platform !== 'linux') return false;
  try {
    return /^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

function parse(text: string): DevFile | undefined {
  try {
    const file = JSON.parse(text) as Partial<DevFile> | null;
    const { address, uiUrl, pid, namespace } = file ?? {};
    if (typeof address !== 'string' || typeof uiUrl !== 'string' || typeof namespace !== 'string') return undefined;
    return typeof pid === 'number' && Number.isInteger(pid) && pid > 0 ? { address, uiUrl, pid, namespace } : undefined;
  } catch {
    return undefined;
  }
}
