import { randomBytes } from 'node:crypto';
import { mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Blobs } from './blobs.js';
import { isBodyId } from './content-ids.js';
import { StoreError } from './store.js';

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
      if ((await sizeOf(path)) !== bytes.byteLength) await writeWhole(path, bytes);
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

async function sizeOf(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
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
