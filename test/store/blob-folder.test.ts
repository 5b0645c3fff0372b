import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { LARGE_BODY_BYTES } from '../../src/store/store-with-blobs.js';
import { openSqliteStore } from '../../src/store/sqlite-store.js';
import type { Store } from '../../src/store/store.js';
import { describeBlobContract } from './blob-contract.js';
import { describeStoreContract } from './store-contract.js';

describeStoreContract('SQLite with a blob folder', () => {
  const folder = mkdtempSync(join(tmpdir(), 'perdure-store-'));
  const location = join(folder, 'store.db');
  return Promise.resolve({
    open: () => openSqliteStore({ path: location, blobs: { folder: join(folder, 'blobs') } }),
    opener: new URL('./sqlite-opener.ts', import.meta.url).href,
    location,
    remove: () => {
      rmSync(folder, { recursive: true });
      return Promise.resolve();
    },
  });
});

describeBlobContract('a blob folder', () => {
  const folder = mkdtempSync(join(tmpdir(), 'perdure-blobs-'));
  return Promise.resolve({
    blobs: { folder },
    ids: () =>
      Promise.resolve(
        readdirSync(folder, { recursive: true, withFileTypes: true })
          .filter((entry) => entry.isFile())
          .map((entry) => entry.name),
      ),
    remove: () => Promise.resolve(rmSync(folder, { recursive: true })),
  });
});

describe('a blob folder', () => {
  const large = (fill: number, bytes = LARGE_BODY_BYTES) => new Uint8Array(bytes).fill(fill);
  let folder: string;
  let blobs: string;
  let opened: Store[];

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'perdure-store-'));
    blobs = join(folder, 'deep', 'blobs');
    opened = [];
  });
  afterEach(async () => {
    await Promise.all(opened.map((store) => store.close()));
    rmSync(folder, { recursive: true });
  });

  async function open(name = 'store.db', at: { folder: string } | undefined = { folder: blobs }): Promise<Store> {
    const store = await openSqliteStore({ path: join(folder, name), ...(at && { blobs: at }) });
    opened.push(store);
    return store;
  }
  const files = () =>
    readdirSync(blobs, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => entry.name);

  test('holds large bodies, one file each under the id that a row would have, readable to the owner only', async () => {
    const store = await open();
    const id = await store.putBody(large(1));
    expect(await Promise.all([store.putBody(large(1)), store.putBody(large(1))])).toEqual([id, id]);
    expect(files()).toEqual([id]);
    expect(statSync(join(blobs, id.slice(0, 2), id)).mode & 0o777).toBe(0o600);
    const plain = await open('store.db', undefined);
    expect(await plain.putBody(large(1))).toBe(id);
  });

  test('writes a file anew that is not whole', async () => {
    const store = await open();
    const id = await store.putBody(large(4));
    writeFileSync(join(blobs, id.slice(0, 2), id), 'cut');
    await store.putBody(large(4));
    expect(await store.getBody(id)).toEqual(large(4));
  });

  test('looks for no file under what is no id', async () => {
    const store = await open();
    await store.putBody(large(5));
    writeFileSync(join(folder, 'secret'), 'x');
    expect(await store.getBody('../../../secret')).toBeUndefined();
  });

  test('says which option to look at where it cannot be written', async () => {
    writeFileSync(join(folder, 'file'), '');
    const store = await open('store.db', { folder: join(folder, 'file', 'blobs') });
    const refusal = store.putBody(large(9));
    await expect(refusal).rejects.toMatchObject({ name: 'StoreError', code: 'unavailable' });
    await expect(refusal).rejects.toThrow(/check store\.blobs\.folder/);
  });
});
