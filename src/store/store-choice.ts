import type { PostgresTls } from './postgres-address.js';

/** A SQLite file, for the workers of one machine. */
export interface SqliteChoice {
  path: string;
  blobs?: BlobChoice;
}

/** A PostgreSQL database, for workers on any number of machines. */
export interface PostgresChoice {
  /** `postgres://user:password@host:port/database`. */
  url: string;
  /** Default: what `sslmode` in the URL says, else unencrypted. */
  tls?: PostgresTls;
  /** Connections of one process at most. Default 10. */
  poolSize?: number;
  /** Schema of the tables. Default `perdure`. */
  schema?: string;
  blobs?: BlobChoice;
}

/** Where large bodies are kept instead of the database: a folder or a bucket, which every worker of the store sees. */
export type BlobChoice = { folder: string } | { s3: S3Choice };

/** A bucket of S3 or of what speaks its protocol. Credentials are found as every program of AWS finds them. */
export interface S3Choice {
  bucket: string;
  /** What the objects' names begin with, e.g. `perdure/`. Default nothing. */
  prefix?: string;
  /** Default: what the environment says (`AWS_REGION`, a profile). */
  region?: string;
  /** Of a server that is not AWS's, e.g. `https://minio.internal:9000`. */
  endpoint?: string;
  /** True where the server takes the bucket in the path, not in the host's name. Default false. */
  pathStyle?: boolean;
}

/** Where runs are kept, as the configuration says it. */
export type StoreChoice = SqliteChoice | PostgresChoice;
