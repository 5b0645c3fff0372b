import { resolve } from 'node:path';
import { readPostgresUrl, type PostgresTls } from '../store/postgres-address.js';
import type { BlobChoice, PostgresChoice, S3Choice, StoreChoice } from '../store/store-choice.js';
import { at, checkBoolean, checkInteger, checkObject, checkText, refuseUnknownKeys, shown } from './check-options.js';
import { ConfigError } from './config-error.js';

/** Environment variable that says where the store is, whatever the configuration says: a file, or a `postgres://` URL. */
export const STORE_VARIABLE = 'PERDURE_STORE';

export const defaultStorePath = '.perdure/store.db';

const sqliteKeys = ['path', 'blobs'];
const postgresKeys = ['url', 'tls', 'poolSize', 'schema', 'blobs'];

/** Where the store is, and what of it is a secret. */
export interface ResolvedStore {
  store: StoreChoice;
  secrets: string[];
}

/**
 * Checks `store: { path } | { url, tls, poolSize, schema }`, each with `blobs`. `PERDURE_STORE` takes the place of path and
 * URL, so that one configuration serves a laptop and a cluster; what else is said of PostgreSQL counts where it names one.
 * Relative paths start at `rootDir`. Throws `ConfigError` with path and value; a URL is never quoted, as it holds a password.
 */
export function resolveStore(
  store: unknown,
  { rootDir, env }: { rootDir: string; env: Readonly<Record<string, string | undefined>> },
): ResolvedStore {
  const given = store === undefined ? {} : checkObject('store', store);
  refuseUnknownKeys('store', given, [...new Set([...sqliteKeys, ...postgresKeys])]);
  if (given['path'] !== undefined && given['url'] !== undefined) {
    throw new ConfigError('store', 'expected path (SQLite) or url (PostgreSQL), got both');
  }
  const common = given['blobs'] === undefined ? {} : { blobs: resolveBlobs(given['blobs'], rootDir) };
  const postgres = resolvePostgres(given, rootDir);
  const place = env[STORE_VARIABLE];
  const url = place ? (isUrl(place) ? place : undefined) : given['url'];
  if (url !== undefined) {
    const path = place ? STORE_VARIABLE : 'store.url';
    const read = readPostgresUrl(checkText(path, url));
    if ('problem' in read) throw new ConfigError(path, read.problem);
    return {
      store: { url: url as string, ...postgres, ...common },
      secrets: read.address.password === undefined ? [] : [read.address.password],
    };
  }
  if (!place) {
    const misplaced = Object.keys(postgres)[0];
    if (misplaced !== undefined) {
      throw new ConfigError(at('store', misplaced), 'is for PostgreSQL; add store.url, or set PERDURE_STORE');
    }
  }
  const path = place || (given['path'] === undefined ? defaultStorePath : checkText('store.path', given['path']));
  if (isUrl(path)) throw new ConfigError('store.path', 'expected a file, got a URL; write store: { url: … }');
  return { store: { path: resolve(rootDir, path), ...common }, secrets: [] };
}

function isUrl(text: string): boolean {
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(text);
}

function resolvePostgres(given: Record<string, unknown>, rootDir: string): Omit<PostgresChoice, 'url' | 'blobs'> {
  const { tls, poolSize, schema } = given;
  return {
    ...(tls !== undefined && { tls: resolveTls(tls, rootDir) }),
    ...(poolSize !== undefined && { poolSize: checkInteger('store.poolSize', poolSize, 1) }),
    ...(schema !== undefined && { schema: checkSchema(schema) }),
  };
}

function checkSchema(schema: unknown): string {
  const text = checkText('store.schema', schema);
  // PostgreSQL cuts longer names, and keeps those that begin with pg_ for itself.
  if (Buffer.byteLength(text) > 63 || text.startsWith('pg_') || text.includes('\0')) {
    throw new ConfigError(
      'store.schema',
      `expected a name of at most 63 bytes that does not begin with pg_, got ${shown(text)}`,
    );
  }
  return text;
}

function resolveTls(tls: unknown, rootDir: string): PostgresTls {
  if (typeof tls === 'boolean') return tls;
  if (tls === null || typeof tls !== 'object') {
    throw new ConfigError(
      'store.tls',
      `expected true, false or { ca, cert, key, serverName, verify }, got ${shown(tls)}`,
    );
  }
  const given = checkObject('store.tls', tls);
  refuseUnknownKeys('store.tls', given, ['ca', 'cert', 'key', 'serverName', 'verify']);
  const file = (key: 'ca' | 'cert' | 'key') =>
    given[key] === undefined ? {} : { [key]: resolve(rootDir, checkText(at('store.tls', key), given[key])) };
  return {
    ...file('ca'),
    ...file('cert'),
    ...file('key'),
    ...(given['serverName'] !== undefined && { serverName: checkText('store.tls.serverName', given['serverName']) }),
    ...(given['verify'] !== undefined && { verify: checkBoolean('store.tls.verify', given['verify']) }),
  };
}

function resolveBlobs(blobs: unknown, rootDir: string): BlobChoice {
  const given = checkObject('store.blobs', blobs);
  refuseUnknownKeys('store.blobs', given, ['folder', 's3']);
  if (given['s3'] !== undefined) {
    if (given['folder'] === undefined) return { s3: resolveS3(given['s3']) };
    throw new ConfigError('store.blobs', 'expected folder or s3, got both');
  }
  return { folder: resolve(rootDir, checkText('store.blobs.folder', given['folder'])) };
}

function resolveS3(s3: unknown): S3Choice {
  const given = checkObject('store.blobs.s3', s3);
  refuseUnknownKeys('store.blobs.s3', given, ['bucket', 'prefix', 'region', 'endpoint', 'pathStyle']);
  const text = (key: 'prefix' | 'region') =>
    given[key] === undefined ? {} : { [key]: checkText(at('store.blobs.s3', key), given[key]) };
  const { endpoint, pathStyle } = given;
  return {
    bucket: checkText('store.blobs.s3.bucket', given['bucket']),
    ...text('prefix'),
    ...text('region'),
    ...(endpoint !== undefined && { endpoint: checkEndpoint(endpoint) }),
    ...(pathStyle !== undefined && { pathStyle: checkBoolean('store.blobs.s3.pathStyle', pathStyle) }),
  };
}

function checkEndpoint(endpoint: unknown): string {
  const path = 'store.blobs.s3.endpoint';
  const text = checkText(path, endpoint);
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.username || url?.password) {
    throw new ConfigError(path, 'expected a URL without user and password; set AWS_ACCESS_KEY_ID instead');
  }
  if (url && /^https?:$/.test(url.protocol)) return text;
  throw new ConfigError(path, `expected an http or https URL, got ${shown(text)}`);
}
