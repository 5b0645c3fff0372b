import { describe, expect, it } from 'vitest';
import { resolveStore } from '../../src/config/resolve-store.js';

const resolveIn = (store: unknown, env: Record<string, string> = {}) => resolveStore(store, { rootDir: '/app', env });
const URL_WITH_PASSWORD = 'postgres://agent:s3cr%40t@db.internal:5433/runs';

describe('resolveStore', () => {
  it('keeps a file beside the configuration where nothing is said', () => {
    expect(resolveIn(undefined)).toEqual({ store: { path: '/app/.perdure/store.db' }, secrets: [] });
    expect(resolveIn({ path: 'x.db' }).store).toEqual({ path: '/app/x.db' });
  });

  it('takes PostgreSQL with its options, files from the root, and its password as a secret', () => {
    const tls = { ca: 'ca.pem', serverName: 'db', verify: true };
    expect(
      resolveIn({ url: URL_WITH_PASSWORD, tls, poolSize: 3, schema: 'agents', blobs: { folder: 'blobs' } }),
    ).toEqual({
      store: {
        url: URL_WITH_PASSWORD,
        tls: { ...tls, ca: '/app/ca.pem' },
        poolSize: 3,
        schema: 'agents',
        blobs: { folder: '/app/blobs' },
      },
      secrets: ['s3cr@t'],
    });
  });

  it('lets PERDURE_STORE take the place of path and URL, and keeps what else is said', () => {
    const configured = { path: 'x.db', blobs: { folder: '/blobs' } };
    expect(resolveIn(configured, { PERDURE_STORE: URL_WITH_PASSWORD }).store).toEqual({
      url: URL_WITH_PASSWORD,
      blobs: { folder: '/blobs' },
    });
    expect(resolveIn({ url: URL_WITH_PASSWORD, poolSize: 3 }, { PERDURE_STORE: 'y.db' }).store).toEqual({
      path: '/app/y.db',
    });
    expect(resolveIn({ tls: true }, { PERDURE_STORE: URL_WITH_PASSWORD }).store).toEqual({
      url: URL_WITH_PASSWORD,
      tls: true,
    });
    expect(resolveIn({ path: 'x.db' }, { PERDURE_STORE: '' }).store).toEqual({ path: '/app/x.db' });
  });

  it.each<[unknown, string]>([
    ['x.db', "store: expected an object, got 'x.db'"],
    [{ uri: 'x' }, "store.uri: unknown option; did you mean 'url'?"],
    [{ path: 'a', url: URL_WITH_PASSWORD }, 'store: expected path (SQLite) or url (PostgreSQL), got both'],
    [{ path: URL_WITH_PASSWORD }, 'store.path: expected a file, got a URL; write store: { url: … }'],
    [{ path: 'a', poolSize: 3 }, 'store.poolSize: is for PostgreSQL; add store.url, or set PERDURE_STORE'],
    [{ url: 5 }, 'store.url: expected text, got 5'],
    [{ url: 'postgres//x' }, 'store.url: expected postgres://user:password@host:5432/database'],
    [{ url: 'mysql://u:s3cret@h/d' }, 'store.url: expected a postgres:// URL, got mysql://…'],
    [{ url: 'postgres://u:s3%zzret@h/d' }, 'a literal % is %25'],
    [{ url: 'postgres://h/d?sslmode=prefer' }, 'store.url: sslmode=prefer leaves open whether the connection is safe'],
    [{ url: 'postgres://h/d?ssl=true' }, "store.url: the parameter 'ssl' is not known; known are host, port, sslmode"],
    [{ url: URL_WITH_PASSWORD, poolSize: 0 }, 'store.poolSize: expected 1 or more, got 0'],
    [{ url: URL_WITH_PASSWORD, schema: 'pg_x' }, "that does not begin with pg_, got 'pg_x'"],
    [
      { url: URL_WITH_PASSWORD, tls: 'yes' },
      "store.tls: expected true, false or { ca, cert, key, serverName, verify }, got 'yes'",
    ],
    [{ url: URL_WITH_PASSWORD, tls: { rejectUnauthorized: false } }, 'store.tls.rejectUnauthorized: unknown option'],
    [{ url: URL_WITH_PASSWORD, tls: { verify: 'no' } }, "store.tls.verify: expected true or false, got 'no'"],
    [{ blobs: { s3: {} } }, 'store.blobs.s3.bucket: expected text, got undefined'],
    [{ blobs: { s3: { bucket: 'b' }, folder: 'f' } }, 'store.blobs: expected folder or s3, got both'],
    [
      { blobs: { s3: { bucket: 'b', endpoint: 'minio:9000' } } },
      'store.blobs.s3.endpoint: expected an http or https URL',
    ],
    [{ blobs: { s3: { bucket: 'b', endpoint: 'https://u:s3cret@m' } } }, 'set AWS_ACCESS_KEY_ID instead'],
    [{ blobs: { s3: { bucket: 'b', pathStyle: 'yes' } } }, 'store.blobs.s3.pathStyle: expected true or false'],
    [{ blobs: {} }, 'store.blobs.folder: expected text, got undefined'],
  ])('refuses %j with path and value', (store, message) => {
    expect(() => resolveIn(store)).toThrow(message);
    expect(() => resolveIn(store)).toThrow(expect.objectContaining({ name: 'ConfigError' }));
    expect(() => resolveIn(store)).not.toThrow(/s3cret|s3cr@t|s3cr%40t/);
  });

  it('names the variable where that is wrong', () => {
    expect(() => resolveIn({}, { PERDURE_STORE: 'mysql://u:s3cret@h/d' })).toThrow(
      /^PERDURE_STORE: expected a postgres:\/\/ URL, got mysql:\/\/…$/,
    );
  });
});
