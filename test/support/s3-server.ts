import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CreateBucketCommand, ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3';
import { findGoProgram } from '../../scripts/set-up/go-programs.mjs';
import { freePort } from '../../src/server/free-port.js';
import { startGuarded } from '../../src/server/guarded-process.js';
import type { S3Choice } from '../../src/store/store-choice.js';

/** Why no S3-compatible server can be started here. */
export const s3Missing = findGoProgram('gofakes3') ? undefined : 'gofakes3 is not built (npm test builds it with Go)';

/** A server process that speaks S3, with what it holds in memory. */
export interface S3Server extends AsyncDisposable {
  /** A new bucket, as a configuration names it. */
  bucket(): Promise<S3Choice & { endpoint: string }>;
  keys(bucket: string): Promise<string[]>;
  stop(): Promise<void>;
}

export async function startS3(): Promise<S3Server> {
  const program = findGoProgram('gofakes3');
  if (program === undefined) throw new Error(s3Missing);
  const folder = mkdtempSync(join(tmpdir(), 'perdure-s3-'));
  const port = await freePort();
  const server = await startGuarded({
    command: join(program, 'gofakes3'),
    args: ['-backend', 'memory', '-host', `127.0.0.1:${port}`],
    logPath: join(folder, 'log'),
  });
  const endpoint = `http://127.0.0.1:${port}`;
  const client = new S3Client({ endpoint, region: 'us-east-1', forcePathStyle: true, maxAttempts: 20 });
  let buckets = 0;
  const stop = () => server.stop(5_000);
  return {
    async bucket() {
      const bucket = `bodies-${(buckets += 1)}`;
      await client.send(new CreateBucketCommand({ Bucket: bucket }));
      return { bucket, endpoint, region: 'us-east-1', pathStyle: true };
    },
    async keys(bucket) {
      const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket: bucket }));
      return Contents.map(({ Key = '' }) => Key);
    },
    stop,
    async [Symbol.asyncDispose]() {
      client.destroy();
      await stop();
      rmSync(folder, { recursive: true });
    },
  };
}
