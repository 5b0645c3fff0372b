import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openBlobBucket } from '../../src/store/blob-bucket.js';
import { LARGE_BODY_BYTES } from '../../src/store/store-with-blobs.js';
import { openSqliteStore } from '../../src/store/sqlite-store.js';
import { s3Missing, startS3, type S3Server } from '../support/s3-server.js';
import { describeBlobContract } from './blob-contract.js';
import { describeStoreContract } from './store-contract.js';

if (s3Missing !== undefined) console.warn(`Skipping tests on S3: ${s3Missing}`);
const describeS3 = s3Missing === undefined || process.env['CI'] !== undefined ? describe : describe.skip;

const credentials = { AWS_ACCESS_KEY_ID: 'id', AWS_SECRET_ACCESS_KEY: 'secret' };

describeS3('a bucket', () => {
  let server: S3Server;
  const before = { ...process.env };
  beforeAll(async () => {
    Object.assign(process.env, credentials);
    server = await startS3();
  });
  afterAll(async () => {
    for (const name of Object.keys(credentials)) delete process.env[name];
    Object.assign(process.env, before);
    await server[Symbol.asyncDispose]();
  });

  describeStoreContract('SQLite with a bucket', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'perdure-store-'));
    const location = join(folder, 'store.db');
    const s3 = await server.bucket();
    return {
      open: () => openSqliteStore({ path: location, blobs: { s3 } }),
      opener: new URL('./sqlite-opener.ts', import.meta.url).href,
      location,
      remove: () => Promise.resolve(rmSync(folder, { recursive: true })),
    };
  });

  describeBlobContract('a bucket', async () => {
    const s3 = { ...(await server.bucket()), prefix: 'bodies/' };
    return {
      blobs: { s3 },
      ids: async () => (await server.keys(s3.bucket)).map((key) => key.replace(/^bodies\//, '')),
      remove: () => Promise.resolve(),
    };
  });

  test('says which option to look at where the bucket is not there', async () => {
    const s3 = { ...(await server.bucket()), bucket: 'nobodys' };
    const bucket = await openBlobBucket(s3);
    const refusal = bucket.write('0'.repeat(64), new Uint8Array(LARGE_BODY_BYTES));
    await expect(refusal).rejects.toMatchObject({ name: 'StoreError', code: 'unavailable' });
    await expect(refusal).rejects.toThrow(/bucket nobodys failed: NoSuchBucket.*check store\.blobs\.s3/);
    bucket.close();
  });
});

test('a request that is answered 503 is sent again, three times in all, signed each time', async () => {
  Object.assign(process.env, credentials);
  const seen: string[] = [];
  const busy = createServer((request, response) => {
    request.resume().on('end', () => {
      seen.push(`${request.method} ${request.url} ${request.headers.authorization?.split(' ')[0]}`);
      response.writeHead(seen.length < 3 ? 503 : 200).end();
    });
  });
  await new Promise<void>((resolve) => busy.listen(0, '127.0.0.1', resolve));
  const endpoint = `http://127.0.0.1:${(busy.address() as AddressInfo).port}`;
  const bucket = await openBlobBucket({ bucket: 'b', endpoint, region: 'eu-west-1', pathStyle: true });
  const id = 'a'.repeat(64);
  await bucket.write(id, new Uint8Array(10));
  bucket.close();
  await new Promise((resolve) => busy.close(resolve));
  expect(seen.map((line) => line.replace(/\?\S+/, ''))).toEqual(Array(3).fill(`PUT /b/${id} AWS4-HMAC-SHA256`));
});

test('says what to install where the package is missing', async () => {
  const opening = openBlobBucket({ bucket: 'b' }, () => Promise.reject(new Error('Cannot find package')));
  await expect(opening).rejects.toThrow('npm install @aws-sdk/client-s3');
});
