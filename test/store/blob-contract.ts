/** What every place for large bodies must do, whatever it is. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { LARGE_BODY_BYTES } from '../../src/store/store-with-blobs.js';
import type { BlobChoice } from '../../src/store/store-choice.js';
import { openSqliteStore } from '../../src/store/sqlite-store.js';
import type { Store } from '../../src/store/store.js';

/** A place for blobs, empty at first. */
export interface BlobPlace {
  blobs: BlobChoice;
  /** The ids under which something is there. */
  ids(): Promise<string[]>;
  remove(): Promise<void>;
}

export function describeBlobContract(name: string, makePlace: () => Promise<BlobPlace>): void {
  describe(`${name}: the contract of blobs`, () => {
    const large = (fill: number, bytes = LARGE_BODY_BYTES) => new Uint8Array(bytes).fill(fill);
    let folder: string;
    let place: BlobPlace;
    let opened: Store[];

    beforeEach(async () => {
      folder = mkdtempSync(join(tmpdir(), 'perdure-store-'));
      place = await makePlace();
      opened = [];
    });
    afterEach(async () => {
      await Promise.all(opened.map((store) => store.close()));
      await place.remove();
      rmSync(folder, { recursive: true });
    });

    async function open(options: { blobs?: BlobChoice } = { blobs: place.blobs }): Promise<Store> {
      const store = await openSqliteStore({ path: join(folder, 'store.db'), ...options });
      opened.push(store);
      return store;
    }

    test('holds large bodies under the id that a row would have, each once, and small ones stay in the store', async () => {
      const store = await open();
      const id = await store.putBody(large(1));
      expect(await Promise.all([store.putBody(large(1)), store.putBody(large(1))])).toEqual([id, id]);
      const small = await store.putBody(large(2, LARGE_BODY_BYTES - 1));
      expect(await place.ids()).toEqual([id]);
      expect(await store.getBody(id)).toEqual(large(1));
      expect(await store.getBody(small)).toEqual(large(2, LARGE_BODY_BYTES - 1));
      expect(await (await open({})).putBody(large(1))).toBe(id);
    });

    test('is read for bodies that were stored as rows before', async () => {
      const id = await (await open({})).putBody(large(3));
      expect(await (await open()).getBody(id)).toEqual(large(3));
    });

    test('has nothing under an id that was never written, and looks for nothing under what is no id', async () => {
      const store = await open();
      await store.putBody(large(5));
      expect(await store.getBody('0'.repeat(64))).toBeUndefined();
      expect(await store.getBody('../secret')).toBeUndefined();
    });

    test('takes the bytes as they are when asked, and answers before it is closed', async () => {
      const store = await open();
      const bytes = large(6);
      const pending = store.putBody(bytes);
      bytes.fill(7);
      const closed = store.close();
      await expect(store.putBody(large(8))).rejects.toMatchObject({ code: 'closed' });
      const id = await pending;
      await closed;
      expect(await (await open()).getBody(id)).toEqual(large(6));
    });
  });
}
