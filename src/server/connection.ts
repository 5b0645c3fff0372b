/** Which Temporal server to use, and how to reach it. One answer for client, worker and command line. */
import { existsSync } from 'node:fs';
import { Connection, type ConnectionOptions } from '@temporalio/client';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import type { NativeConnectionOptions } from '@temporalio/worker';
import { ConfigError } from '../config/config-error.js';
import { readDevFile } from './dev-file.js';
import { type DevServer, type DevServerOptions, DevServerRunningError, startDevServer } from './dev-server.js';
import { isTemporalAt, knock } from './probe.js';
import type { Environment } from './temporal-cli.js';

/** Where `temporal server start-dev` and most local set-ups listen. */
const usualAddress = '127.0.0.1:7233';
/** Local servers answer in milliseconds; a busy machine's in a second. */
const probeTimeoutMs = 2_000;
/** A refusal comes in a round trip, over the widest network in a third of a second. */
const knockTimeoutMs = 1_000;

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
  /** What to do where it does not answer: that depends on where the address is from. */
  advice?: string;
  address: string;
  namespace: string;
  /** Temporal UI; known for `dev` only. */
  uiUrl?: string;
  /** For `Connection.connect` of `@temporalio/client`: address, TLS, API key, metadata. */
  client: ConnectionOptions;
  /** The same for `NativeConnection.connect` of `@temporalio/worker`. */
  worker: NativeConnectionOptions;
}

/** `sought` is where the last one was looked for, for people. */
export type ResolvedServer = FoundServer | { kind: 'none'; sought: string };

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
    return { ...plainServer('dev', dev.address), namespace: dev.namespace, uiUrl: dev.uiUrl };
  }

  const address = options.usualAddress ?? usualAddress;
  return (await isTemporalAt(address, probeTimeoutMs))
    ? plainServer('local', address)
    : { kind: 'none', sought: address };
}

function plainServer(kind: 'dev' | 'local', address: string): FoundServer {
  const connection = { address, tls: false };
  return {
    kind,
    source: kind === 'dev' ? '.perdure/dev.json' : 'the usual address',
    // It answered when it was chosen.
    advice: kind === 'dev' ? 'It has just ended. Start it again: perdure dev' : 'It has just ended. Start it again.',
    address,
    namespace: 'default',
    client: connection,
    worker: connection,
  };
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
    ...sourceOf(env, named.address !== undefined),
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

/** Why this server was chosen, and what to do where it does not answer. `hasAddress`: the choice names one. */
function sourceOf(env: Environment, hasAddress: boolean): Required<Pick<FoundServer, 'source' | 'advice'>> {
  const other = 'to use the embedded server of this folder';
  if (env['TEMPORAL_ADDRESS']) {
    const advice = `Start that server, correct TEMPORAL_ADDRESS, or unset it ${other}.`;
    return { source: 'TEMPORAL_ADDRESS', advice };
  }
  const variable = Object.keys(env).find(
    (name) => /^TEMPORAL_(NAMESPACE|API_KEY|TLS|GRPC_META)/.test(name) && env[name],
  );
  if (!hasAddress && variable !== undefined && !env['TEMPORAL_PROFILE']) {
    const advice = `Only ${variable} is set, so the usual address was asked: set TEMPORAL_ADDRESS too, or unset ${variable} ${other}.`;
    return { source: variable, advice };
  }
  const profile = `profile "${env['TEMPORAL_PROFILE'] || 'default'}"`;
  const file = env['TEMPORAL_CONFIG_FILE'] || 'temporal.toml';
  const advice = `Start that server, correct the address of ${profile} in ${file}, or name another with TEMPORAL_ADDRESS.`;
  return { source: `${profile} of ${file}`, advice };
}

function withoutUndefined(options: NativeConnectionOptions): NativeConnectionOptions {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

/** What to do about a server that does not answer. */
export function unreachableAdvice({ advice }: Pick<FoundServer, 'advice'>): string {
  return advice ?? 'Start that server, or name another with TEMPORAL_ADDRESS.';
}

/** The server does not answer; the message says which one, why it was chosen and how it is known; `next` what to do. */
export class ServerUnreachableError extends Error {
  override readonly name = 'ServerUnreachableError';
  readonly next: string;
  constructor(server: FoundServer, reason: string, options?: { cause?: unknown }) {
    super(`no Temporal server answers at ${server.address} (chosen by ${server.source}): ${reason}`, options);
    this.next = unreachableAdvice(server);
  }
}

/**
 * Connects a client. Throws `ServerUnreachableError`: at once where the connection is refused or the host has no address,
 * else after `timeoutMs` without an answer. The caller closes the connection.
 */
export async function connectClient(server: FoundServer, timeoutMs = 10_000): Promise<Connection> {
  const startedAtMs = performance.now();
  await refuseClosed(server);
  const leftMs = Math.max(1, timeoutMs - (performance.now() - startedAtMs));
  try {
    return await Connection.connect({ connectTimeout: leftMs, ...server.client });
  } catch (error) {
    throw new ServerUnreachableError(server, error instanceof Error ? error.message : String(error), { cause: error });
  }
}

/** Through these, gRPC reaches what this machine itself may not: https://github.com/grpc/grpc-node, environment variables. */
const proxyVariables = ['grpc_proxy', 'https_proxy', 'http_proxy'];

/** Throws `ServerUnreachableError` where nothing can be listening at the server's address; else takes up to a second. */
export async function refuseClosed(server: FoundServer): Promise<void> {
  if (proxyVariables.some((name) => process.env[name])) return;
  const answer = await knock(server.address, knockTimeoutMs);
  if (answer === 'refused') throw new ServerUnreachableError(server, 'the connection is refused');
  if (answer === 'unknown host') throw new ServerUnreachableError(server, 'no such host is known');
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
    return { server: { ...plainServer('dev', address), namespace, uiUrl }, started };
  } catch (error) {
    if (!(error instanceof DevServerRunningError)) throw error;
    const other = await resolveServer(options);
    if (other.kind === 'none') throw error;
    return { server: other };
  }
}
