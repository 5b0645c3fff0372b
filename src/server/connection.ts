/** Which Temporal server to use, and how to reach it. One answer for client, worker and command line. */
import { existsSync } from 'node:fs';
import { Connection, type ConnectionOptions } from '@temporalio/client';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import type { NativeConnectionOptions } from '@temporalio/worker';
import { ConfigError } from '../config/config-error.js';
import { readDevFile } from './dev-file.js';
import { type DevServer, type DevServerOptions, DevServerRunningError, startDevServer } from './dev-server.js';
import { isTemporalAt } from './probe.js';
import type { Environment } from './temporal-cli.js';

/** Where `temporal server start-dev` and most local set-ups listen. */
const usualAddress = '127.0.0.1:7233';
/** Local servers answer in milliseconds; a busy machine's in a second. */
const probeTimeoutMs = 2_000;

/** A server to use. */
export interface FoundServer {
  /**
   * - `configured`: named by `TEMPORAL_*` or a `temporal.toml` profile; not asked yet whether it answers.
   * - `dev`: this folder's embedded server, by `.perdure/dev.json`; it answered.
   * - `local`: something else at 127.0.0.1:7233 that answered.
   */
  kind: 'configured' | 'dev' | 'local';
  /** Where that is from, for people: `TEMPORAL_ADDRESS`, `profile "prod" of temporal.toml`, `.perdure/dev.json`. */
  source: string;
  address: string;
  namespace: string;
  /** Temporal UI; known for `dev` only. */
  uiUrl?: string;
  /** For `Connection.connect` of `@temporalio/client`: address, TLS, API key, metadata. */
  client: ConnectionOptions;
  /** The same for `NativeConnection.connect` of `@temporalio/worker`. */
  worker: NativeConnectionOptions;
}

export type ResolvedServer = FoundServer | { kind: 'none' };

export interface ResolveOptions {
  /** Folder that holds `.perdure/`. */
  rootDir: string;
  env: Environment;
  /** Address to try last; for tests. Default 127.0.0.1:7233. */
  usualAddress?: string;
}

/**
 * Finds the server to use: `TEMPORAL_*` or a profile (then no other, whether it answers or not); else this folder's
 * running embedded server; else one at 127.0.0.1:7233; else none, and the caller may start the embedded one
 * (`openServer`). Takes milliseconds where nothing listens, at most 4 s where something does not answer.
 *
 * Throws `ConfigError` on a profile that does not exist or a file that cannot be read.
 */
export async function resolveServer(options: ResolveOptions): Promise<ResolvedServer> {
  const configured = configuredServer(options.env);
  if (configured) return configured;

  const dev = await readDevFile(options.rootDir);
  if (dev && (await isTemporalAt(dev.address, probeTimeoutMs))) {
    return {
      ...plainServer('dev', dev.address),
      source: '.perdure/dev.json',
      namespace: dev.namespace,
      uiUrl: dev.uiUrl,
    };
  }

  const address = options.usualAddress ?? usualAddress;
  return (await isTemporalAt(address, probeTimeoutMs)) ? plainServer('local', address) : { kind: 'none' };
}

function plainServer(kind: 'dev' | 'local', address: string): FoundServer {
  const connection = { address, tls: false };
  return { kind, source: address, address, namespace: 'default', client: connection, worker: connection };
}

/** The server that `TEMPORAL_*` or a `temporal.toml` profile names, or `undefined` where nothing does. */
export function configuredServer(env: Environment): FoundServer | undefined {
  const file = env['TEMPORAL_CONFIG_FILE'];
  if (file && !existsSync(file)) throw new ConfigError('TEMPORAL_CONFIG_FILE', `no such file: ${file}`);
  const { connectionOptions, namespace } = loadConfig(env);
  const named = withoutUndefined(connectionOptions);
  if (namespace === undefined && Object.keys(named).length === 0) return undefined;

  // The SDK's own default, so that TEMPORAL_NAMESPACE alone means what it means to every Temporal program.
  const address = named.address ?? 'localhost:7233';
  const worker = { ...named, address };
  return {
    kind: 'configured',
    source: sourceOf(env),
    address,
    namespace: namespace ?? 'default',
    client: worker,
    worker,
  };
}

function loadConfig(env: Environment) {
  // An empty variable (`TEMPORAL_ADDRESS=`) is how shells and CI files unset one.
  const set = Object.entries(env).filter((entry): entry is [string, string] => Boolean(entry[1]));
  try {
    return loadClientConnectConfig({ overrideEnvVars: Object.fromEntries(set) });
  } catch (error) {
    const path = env['TEMPORAL_PROFILE'] ? 'TEMPORAL_PROFILE' : (env['TEMPORAL_CONFIG_FILE'] ?? 'temporal.toml');
    throw new ConfigError(path, error instanceof Error ? error.message : String(error), { cause: error });
  }
}

function sourceOf(env: Environment): string {
  if (env['TEMPORAL_ADDRESS']) return 'TEMPORAL_ADDRESS';
  if (env['TEMPORAL_PROFILE'])
    return `profile "${env['TEMPORAL_PROFILE']}" of ${env['TEMPORAL_CONFIG_FILE'] ?? 'temporal.toml'}`;
  const other = Object.keys(env).find((name) => /^TEMPORAL_(NAMESPACE|API_KEY|TLS|GRPC_META)/.test(name) && env[name]);
  return other ?? `profile "default" of ${env['TEMPORAL_CONFIG_FILE'] ?? 'temporal.toml'}`;
}

function withoutUndefined(options: NativeConnectionOptions): NativeConnectionOptions {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

/** The server does not answer; the message says which one, why it was chosen and what to do. */
export class ServerUnreachableError extends Error {
  override readonly name = 'ServerUnreachableError';
}

/** Connects a client. Throws `ServerUnreachableError` after `timeoutMs` without an answer. The caller closes the connection. */
export async function connectClient(server: FoundServer, timeoutMs = 10_000): Promise<Connection> {
  try {
    return await Connection.connect({ connectTimeout: timeoutMs, ...server.client });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new ServerUnreachableError(
      `no Temporal server answers at ${server.address} (chosen by ${server.source}): ${reason}. ` +
        'Start it, correct that setting, or unset it to use the embedded server.',
      { cause: error },
    );
  }
}

/** A server to use, and the embedded one's handle where this call started it. */
export interface OpenServer {
  server: FoundServer;
  /** Present where this process started the server; the caller must stop it. */
  started?: DevServer;
}

/**
 * Resolves the server, and starts the embedded one where there is none. Where two processes do so at once, one starts
 * it and the other uses it. Throws as `resolveServer` and `startDevServer` do.
 */
export async function openServer(options: ResolveOptions & Omit<DevServerOptions, 'rootDir'>): Promise<OpenServer> {
  const server = await resolveServer(options);
  if (server.kind !== 'none') return { server };
  try {
    const started = await startDevServer(options);
    const { address, namespace, uiUrl } = started;
    return { server: { ...plainServer('dev', address), source: '.perdure/dev.json', namespace, uiUrl }, started };
  } catch (error) {
    if (!(error instanceof DevServerRunningError)) throw error;
    const other = await resolveServer(options);
    if (other.kind === 'none') throw error;
    return { server: other };
  }
}
