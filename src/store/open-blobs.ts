import { BlobFolder } from './blob-folder.js';
import type { Blobs } from './blobs.js';
import type { BlobChoice } from './store-choice.js';

/** Opens the place that a configuration names. Rejects with a `StoreError` where a package for it is missing. */
export async function openBlobs(choice: BlobChoice): Promise<Blobs> {
  if ('folder' in choice) return new BlobFolder(choice.folder);
  // Loaded here, because the client of S3 is large and few need it.
  const { openBlobBucket } = await import('./blob-bucket.js');
  return await openBlobBucket(choice.s3);
}
