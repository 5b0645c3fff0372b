import { randomBytes } from 'node:crypto';
import pg from 'pg';
import type { StoreIdentity } from './content-ids.js';
import { readPostgresUrl, tlsOptions, type PostgresTls } from './postgres-address.js';
import { codeOf, toStoreError } from './postgres-error.js';
import { APPLICATION, MIGRATIONS, SCHEMA_VERSION } from './postgres-schema.js';
import { transaction, type Transaction, type TransactionPlace } from './postgres-transaction.js';
import { StoreError } from './store-error.js';

export interface PostgresOptions {
  /** `postgres://user:password@host:port/database`; what is absent comes from `PGHOST`, `PGUSER`, `PGPASSWORD` and so on. */
  connectionString: string;
  /** Default: what `sslmode` in the connection string says, else `false`. */
  tls?: PostgresTls;
  /** Connections of this process at most. Default 10. */
  poolSize?: number;
  /** Schema of the tables. Default `perdure`. */
  schema?: string;
}

export const postgresDefaults = { poolSize: 10, schema: 'perdure' } as const;

/** An open database, its schema current. */
export interface PostgresDatabase extends StoreIdentity {
  /** For messages: address and schema, without the password. */
  readonly name: string;
  transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** How long opening a connection, or waiting for a free one, may take. */
const CONNECT_TIMEOUT_MS = 10_000;

/** How long the answer to a statement may take before the connection counts as dead; above the server's own limits. */
const QUERY_TIMEOUT_MS = 30_000;

/** How the driver reads a column's text. `bigint` holds epoch milliseconds and counts here, far below 2⁵³. */
const TYPES: pg.CustomTypesConfig = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    oid === Number(pg.types.builtins.INT8)
      ? Number
      : (pg.types.getTypeParser(oid, format) as (text: string) => unknown),
};

/** Connects, creates the tables where there are none, and migrates an older schema forward. Rejects with a `StoreError`. */
export async function openPostgresDatabase(
  options: PostgresOptions,
  queryTimeoutMs = QUERY_TIMEOUT_MS,
): Promise<PostgresDatabase> {
  const { pool, name, schema } = connectPool(options, queryTimeoutMs);
  const place: TransactionPlace = { pool, schema: pg.escapeIdentifier(schema), expectedVersion: SCHEMA_VERSION };
  try {
    if ((await storedVersion(pool, schema, name)) < SCHEMA_VERSION) await migrate(pool, schema, name);
    const identity = await transaction(place, async (tx) => {
      const rows = await tx.query<MetaRow>('SELECT name, value FROM meta');
      return identityIn(new Map(rows.map((row) => [row.name, row.value])));
    });
    return {
      ...identity,
      name,
      transaction: (work) => transaction(place, work),
      close: () => pool.end(),
    };
  } catch (error) {
    await pool.end();
    throw toStoreError(error, name, 'opening');
  }
}

interface MetaRow {
  name: string;
  value: string;
}

export function connectPool(
  options: PostgresOptions,
  queryTimeoutMs = QUERY_TIMEOUT_MS,
): { pool: pg.Pool; name: string; schema: string } {
  const read = readPostgresUrl(options.connectionString);
  if ('problem' in read) throw new StoreError('invalid', `store: connectionString: ${read.problem}`);
  const { address } = read;
  const schema = options.schema ?? postgresDefaults.schema;
  const name = schema === postgresDefaults.schema ? address.shown : `${address.shown} (schema ${schema})`;
  const pool = new pg.Pool({
    host: address.host,
    port: address.port,
    user: address.user,
    password: address.password,
    database: address.database,
    options: address.options,
    enableChannelBinding: address.channelBinding,
    ssl: tlsOptions(options.tls ?? address.tls, name),
    application_name: 'perdure',
    max: options.poolSize ?? postgresDefaults.poolSize,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: queryTimeoutMs,
    keepAlive: true,
    pipeline: true,
    // An idle store does not keep the process alive.
    allowExitOnIdle: true,
    types: TYPES,
  });
  // An idle connection was lost, and the pool has dropped it. The next request opens another, or says why it cannot.
  pool.on('error', () => undefined);
  return { pool, name, schema };
}

/** 0 where the schema does not exist or is empty: it becomes a store. */
export async function storedVersion(
  queryable: Pick<pg.ClientBase, 'query'>,
  schema: string,
  name: string,
): Promise<number> {
  const { rows } = await queryable.query<{ tables: number; meta: string | null; commit: string; readonly: boolean }>(
    `SELECT (SELECT count(*) FROM pg_class WHERE relnamespace = pg_namespace.oid AND relkind IN ('r', 'p', 'v', 'm', 'f')) AS tables,
       (SELECT relname::text FROM pg_class WHERE relnamespace = pg_namespace.oid AND relname = 'meta') AS meta,
       current_setting('synchronous_commit') AS commit, pg_is_in_recovery() AS readonly
     FROM (VALUES (1)) AS one LEFT JOIN pg_namespace ON nspname = $1`,
    [schema],
  );
  const found = rows[0];
  if (found?.commit === 'off') {
    throw new StoreError(
      'unavailable',
      `store ${name}: synchronous_commit is off for this user, so a crash of the server would lose what was promised; ` +
        'type: ALTER ROLE … SET synchronous_commit = on',
    );
  }
  if (!found || found.tables === 0) return 0;
  const meta = found.meta === null ? undefined : await readMeta(queryable, schema);
  if (meta?.get('application') !== APPLICATION) {
    throw new StoreError(
      'not_a_store',
      `store ${name}: the schema ${schema} of this database belongs to something else; set store.schema to another name`,
    );
  }
  const version = Number(meta.get('schema_version') ?? NaN);
  if (Number.isNaN(version)) {
    throw new StoreError('corrupt', `store ${name}: its schema has no version; restore it from a backup`);
  }
  if (version > SCHEMA_VERSION) {
    throw new StoreError(
      'newer_schema',
      `store ${name}: its schema has version ${String(version)}, this perdure knows versions up to ` +
        `${String(SCHEMA_VERSION)}. Update perdure, or set store.schema to another name; nothing was changed`,
    );
  }
  return version;
}

/** `undefined` where the table is not ours. */
async function readMeta(
  queryable: Pick<pg.ClientBase, 'query'>,
  schema: string,
): Promise<ReadonlyMap<string, string> | undefined> {
  try {
    const { rows } = await queryable.query<MetaRow>(`SELECT name, value FROM ${pg.escapeIdentifier(schema)}.meta`);
    return new Map(rows.map((row) => [row.name, row.value]));
  } catch (error) {
    if (codeOf(error) === '42703') return undefined;
    throw error;
  }
}

/** Of several processes that open a new or old database at once, the first one migrates and the others find it done. */
async function migrate(pool: pg.Pool, schema: string, name: string): Promise<void> {
  await whileMigrating(pool, schema, async (client) => {
    const version = await storedVersion(client, schema, name);
    if (version < SCHEMA_VERSION) await raiseSchema(client, { schema, from: version, identity: newIdentity() });
  });
}

/** One transaction, beside which no other process migrates the same schema. */
export async function whileMigrating<T>(
  pool: pg.Pool,
  schema: string,
  work: (client: pg.ClientBase) => Promise<T>,
): Promise<T> {
  const client = await pool.connect();
  // Whatever was asked rejects with the same error; without a listener it would end the process.
  client.on('error', () => undefined);
  try {
    await client.query('BEGIN ISOLATION LEVEL READ COMMITTED');
    await client.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`perdure store ${schema}`]);
    const result = await work(client);
    await client.query('COMMIT');
    return result;
  } finally {
    // Whatever is left open is undone with the connection.
    client.release(client.getTransactionStatus() !== 'I');
  }
}

/** Brings the schema from version `from` to today's; a new one (0) gets the identity. */
export async function raiseSchema(
  client: pg.ClientBase,
  { schema, from, identity }: { schema: string; from: number; identity: StoreIdentity },
): Promise<void> {
  const quoted = pg.escapeIdentifier(schema);
  // Not CREATE SCHEMA IF NOT EXISTS: that asks for the right to create one even where it exists.
  const { rows } = await client.query('SELECT 1 FROM pg_namespace WHERE nspname = $1', [schema]);
  if (rows.length === 0) await client.query(`CREATE SCHEMA ${quoted}`);
  await client.query(`SET LOCAL search_path = ${quoted}`);
  // Waits for the transactions under way. Later ones wait in `expect_version`, which sees the new version afterwards: it is
  // volatile since version 6.
  if (from > 0) await client.query('LOCK TABLE meta IN ACCESS EXCLUSIVE MODE');
  for (const migration of MIGRATIONS.slice(from)) await client.query(migration);
  if (from === 0) {
    await writeMeta(client, {
      application: APPLICATION,
      store_id: identity.storeId,
      tenant_key: Buffer.from(identity.tenantKey).toString('hex'),
    });
  }
  await writeMeta(client, { schema_version: String(SCHEMA_VERSION) });
}

function newIdentity(): StoreIdentity {
  return { storeId: randomBytes(8).toString('hex'), tenantKey: randomBytes(32) };
}

function identityIn(meta: ReadonlyMap<string, string>): StoreIdentity {
  return {
    storeId: meta.get('store_id') ?? '',
    tenantKey: Buffer.from(meta.get('tenant_key') ?? '', 'hex'),
  };
}

async function writeMeta(client: pg.ClientBase, values: Record<string, string>): Promise<void> {
  for (const [name, value] of Object.entries(values)) {
    await client.query(
      'INSERT INTO meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
      [name, value],
    );
  }
}
