import { BlobFolder, type BlobFile } from './blob-folder.js';
import { openBlobs } from './open-blobs.js';
import type { BlobChoice } from './store-choice.js';

/** The place of the large bodies, as those who look after a store see it. */
export interface BlobUpkeep {
  has(id: string): Promise<boolean>;
  /** All that is there to be counted and collected, in no order. */
  list(): AsyncIterable<BlobFile>;
  /** Removes one unless it was written again since `beforeMs`; whether it did. */
  remove(file: BlobFile, beforeMs: number): Promise<boolean>;
  close(): void;
}

/**
 * A folder is looked after whole. Of a bucket it is only said whether a body is there: S3 cannot remove an object on
 * condition that nobody has written it again meanwhile, so nothing in a bucket is counted or collected.
 */
export async function openBlobUpkeep(choice: BlobChoice): Promise<BlobUpkeep> {
  if ('folder' in choice) return new BlobFolder(choice.folder);
  const bucket = await openBlobs(choice);
  return {
    has: async (id) => (await bucket.read(id)) !== undefined,
    async *list() {},
    remove: () => Promise.resolve(false),
    close: () => bucket.close(),
  };
}
