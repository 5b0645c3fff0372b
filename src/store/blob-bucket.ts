import type { S3Client } from '@aws-sdk/client-s3';
import type { Blobs } from './blobs.js';
import { isBodyId } from './content-ids.js';
import type { S3Choice } from './store-choice.js';
import { StoreError } from './store-error.js';

/** The optional package, loaded where a bucket is configured and nowhere else. */
type S3 = typeof import('@aws-sdk/client-s3');

/** A server that does not take connections should not cost a call its time; one request is of some megabytes at most. */
const connectTimeoutMs = 3_000;
const requestTimeoutMs = 15_000;
/**
 * Starts of one request, by the client itself: S3 answers 503 now and then, and asks for a repeat. An object is always the
 * same bytes under the same name, so a repeat changes nothing, and no attempt of a tool is counted for it.
 */
const maxAttempts = 3;

/**
 * Opens a bucket of S3 or of what speaks its protocol. Nothing is asked of it yet. Rejects with a `StoreError` where
 * `@aws-sdk/client-s3` is not installed, or where region or credentials are nowhere to be found.
 */
export async function openBlobBucket(choice: S3Choice, load: () => Promise<S3> = loadS3): Promise<Blobs> {
  const s3 = await load().catch((cause: unknown) => {
    throw new StoreError(
      'invalid',
      'store.blobs.s3 needs the package @aws-sdk/client-s3, which is not installed: npm install @aws-sdk/client-s3',
      { cause },
    );
  });
  const client = new s3.S3Client({
    maxAttempts,
    requestHandler: {
      connectionTimeout: connectTimeoutMs,
      requestTimeout: requestTimeoutMs,
      throwOnRequestTimeout: true,
    },
    forcePathStyle: choice.pathStyle ?? false,
    // Servers that are not AWS's refuse the newer checksums; the signature covers the bytes already.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    ...(choice.endpoint !== undefined && { endpoint: choice.endpoint }),
    ...(choice.region !== undefined && { region: choice.region }),
  });
  return new BlobBucket(s3, client, choice);
}

const loadS3 = (): Promise<S3> => import('@aws-sdk/client-s3');

/** Large bodies as objects of a bucket, each named by the prefix and its id. */
class BlobBucket implements Blobs {
  readonly #s3: S3;
  readonly #client: S3Client;
  readonly #bucket: string;
  readonly #prefix: string;

  constructor(s3: S3, client: S3Client, { bucket, prefix = '' }: S3Choice) {
    this.#s3 = s3;
    this.#client = client;
    this.#bucket = bucket;
    this.#prefix = prefix;
  }

  /** An object appears as a whole, and writing it again changes nothing, so it is not looked for first. */
  async write(id: string, bytes: Uint8Array): Promise<void> {
    try {
      await this.#client.send(
        new this.#s3.PutObjectCommand({ ...this.#place(id), Body: bytes, ContentType: 'application/octet-stream' }),
      );
    } catch (error) {
      throw this.#failed('writing', id, error);
    }
  }

  async read(id: string): Promise<Uint8Array | undefined> {
    if (!isBodyId(id)) return undefined;
    try {
      const { Body: body } = await this.#client.send(new this.#s3.GetObjectCommand(this.#place(id)));
      return await body?.transformToByteArray();
    } catch (error) {
      if (error instanceof this.#s3.NoSuchKey) return undefined;
      throw this.#failed('reading', id, error);
    }
  }

  close(): void {
    this.#client.destroy();
  }

  #place(id: string): { Bucket: string; Key: string } {
    return { Bucket: this.#bucket, Key: this.#prefix + id };
  }

  #failed(doing: string, id: string, error: unknown): StoreError {
    const { name, message } = error instanceof Error ? error : { name: 'Error', message: String(error) };
    return new StoreError(
      'unavailable',
      `store: ${doing} body ${id} in the bucket ${this.#bucket} failed: ${name}: ${message}; check store.blobs.s3 and AWS_* in the environment`,
      { cause: error },
    );
  }
}
