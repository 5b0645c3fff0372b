import { randomBytes } from 'node:crypto';
import { mkdir, open, readdir, readFile, rename, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import type { Blobs } from './blobs.js';
import { TOUCHED_EVERY_MS, isBodyId } from './content-ids.js';
import { StoreError } from './store-error.js';

/** A file of the folder: a body, or what an interrupted write left behind (`id` absent). */
export interface BlobFile {
  id?: string;
  path: string;
  bytes: number;
  /** When it was written, or written again, on the clock of its file system. */
  touchedAtMs: number;
}

/** Large bodies as files of a folder, each named by its id. */
export class BlobFolder implements Blobs {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Resolves once the file is whole, synced to disk and under its name; a file of that name is whole always. */
  async write(id: string, bytes: Uint8Array): Promise<void> {
    const { folder, path } = this.#place(id);
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      if (!(await touched(path, bytes.byteLength))) await writeWhole(path, bytes);
      // The names are data too: of the file in its folder, and of that in the one above. Also of a file that was there:
      // another process may have put it there only just now.
      await syncFolder(folder);
      await syncFolder(this.#folder);
    } catch (error) {
      throw this.#failed('writing', id, error);
    }
  }

  async read(id: string): Promise<Uint8Array | undefined> {
    if (!isBodyId(id)) return undefined;
    try {
      return new Uint8Array(await readFile(this.#place(id).path));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw this.#failed('reading', id, error);
    }
  }

  /** Every file is closed already. */
  close(): void {}

  /** All files, in no order. A folder that is not there yet has none. */
  async *list(): AsyncGenerator<BlobFile> {
    for (const shard of await namesIn(this.#folder)) {
      if (!/^[0-9a-f]{2}$/.test(shard)) continue;
      for (const name of await namesIn(join(this.#folder, shard))) {
        const path = join(this.#folder, shard, name);
        const found = await statOf(path);
        if (!found) continue;
        const isBody = isBodyId(name);
        if (!isBody && !name.endsWith('.tmp')) continue;
        yield { ...(isBody && { id: name }), path, bytes: found.size, touchedAtMs: found.mtimeMs };
      }
    }
  }

  async has(id: string): Promise<boolean> {
    return isBodyId(id) && (await statOf(this.#place(id).path)) !== undefined;
  }

  /**
   * Removes a file unless it was written again since `beforeMs`. Whoever writes it again meanwhile finds it gone and writes
   * it anew, or is found to have touched it, and it is put back.
   */
  async remove({ path }: BlobFile, beforeMs: number): Promise<boolean> {
    const aside = `${path}.${randomBytes(6).toString('hex')}.tmp`;
    const isAside = await rename(path, aside).then(
      () => true,
      (error: unknown) => refuseUnless(error, 'ENOENT'),
    );
    if (!isAside) return false;
    if ((await stat(aside)).mtimeMs >= beforeMs) {
      await rename(aside, path);
      return false;
    }
    await rm(aside);
    return true;
  }

  /** Spread over 256 folders: some file systems are slow with many files in one. */
  #place(id: string): { folder: string; path: string } {
    const folder = join(this.#folder, id.slice(0, 2));
    return { folder, path: join(folder, id) };
  }

  #failed(doing: string, id: string, error: unknown): StoreError {
    return new StoreError(
      'unavailable',
      `store: ${doing} body ${id} in ${this.#folder} failed: ${(error as Error).message}; check store.blobs.folder`,
      { cause: error },
    );
  }
}

async function statOf(path: string): Promise<{ size: number; mtimeMs: number } | undefined> {
  try {
    return await stat(path);
  } catch (error) {
    refuseUnless(error, 'ENOENT');
    return undefined;
  }
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    refuseUnless(error, 'ENOENT', 'ENOTDIR');
    return [];
  }
}

/** Whether the file is there in full; from then on it counts as young for garbage collection. */
async function touched(path: string, bytes: number): Promise<boolean> {
  const found = await statOf(path);
  if (found?.size !== bytes) return false;
  const nowMs = Date.now();
  if (nowMs - found.mtimeMs < TOUCHED_EVERY_MS) return true;
  try {
    await utimes(path, nowMs / 1000, nowMs / 1000);
    return true;
  } catch (error) {
    return refuseUnless(error, 'ENOENT');
  }
}

function refuseUnless(error: unknown, ...codes: string[]): false {
  if (codes.includes((error as NodeJS.ErrnoException).code ?? '')) return false;
  throw error;
}

async function writeWhole(path: string, bytes: Uint8Array): Promise<void> {
  const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`;
  try {
    await writeSynced(temporary, bytes);
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

async function writeSynced(path: string, bytes: Uint8Array): Promise<void> {
  const file = await open(path, 'wx', 0o600);
  try {
    await file.writeFile(bytes);
    await file.sync();
  } finally {
    await file.close();
  }
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
