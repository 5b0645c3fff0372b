/** The services of docker-compose.yml as plain processes of this machine, with what that file says of them. */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { findGoProgram, type GoProgramName } from '../../scripts/set-up/go-programs.mjs';
import { startGuarded } from '../../src/server/guarded-process.js';
import { isTemporalAt } from '../../src/server/probe.js';
import { getTemporalCli } from '../../src/server/temporal-cli.js';
import { startPostgres, type PostgresServer } from './postgres.js';

const root = fileURLToPath(new URL('../..', import.meta.url));

export interface ComposeService {
  image: string;
  entrypoint?: string[];
  command?: string[];
  environment?: Record<string, string>;
  volumes?: { type: string; source: string; target: string; read_only?: boolean }[];
  ports?: { host_ip?: string; target: number }[];
  depends_on?: Record<string, { condition: string }>;
  healthcheck?: { test?: string[] };
  user?: string;
}

/** docker-compose.yml as Docker would read it where the environment sets nothing. Throws what is wrong with it. */
export function readCompose(): Record<string, ComposeService> {
  const read = execFileSync(join(goProgram('compose-go'), 'cmd'), ['-format', 'json', 'docker-compose.yml'], {
    cwd: root,
    env: {},
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return (JSON.parse(read) as { services: Record<string, ComposeService> }).services;
}

/** Folder of a program's executables. Throws where it was not built. */
export function goProgram(name: GoProgramName): string {
  const folder = findGoProgram(name);
  if (folder === undefined) throw new Error(`${name} is not built; npm test does it where Go is installed`);
  return folder;
}

export interface ComposeStack extends AsyncDisposable {
  readonly services: Record<string, ComposeService>;
  readonly address: string;
  readonly postgres: PostgresServer;
  /** A service's environment as it is outside of Docker: its hosts and ports are this machine's. */
  environment(service: string): Record<string, string>;
  /** Path here of what a service's container sees at `path`. */
  hostPath(service: string, path: string): string;
  /** Runs a service that ends by itself; returns what it wrote, and rejects where it ends with another code than 0. */
  runToEnd(service: string): Promise<string>;
}

/** Starts PostgreSQL, makes the schema, starts Temporal on it and creates the namespace: all as the compose file says. */
export async function startComposeStack(): Promise<ComposeStack> {
  await using opening = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), 'perdure-compose-'));
  opening.defer(() => rmSync(folder, { recursive: true }));
  const services = readCompose();
  const password = services['postgres']?.environment?.['POSTGRES_PASSWORD'] ?? '';
  const postgres = await startPostgres({ password });
  opening.defer(() => postgres.stop());

  const grpcPort = await smallPort();
  const address = `127.0.0.1:${grpcPort}`;
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  symlinkSync(join(goProgram('temporal-server'), 'sql'), join(bin, 'temporal-sql-tool'));
  symlinkSync((await getTemporalCli({ env: process.env, log: () => undefined })).path, join(bin, 'temporal'));

  const service = (name: string): ComposeService => {
    const found = services[name];
    if (!found) throw new Error(`docker-compose.yml has no service ${name}`);
    return found;
  };
  const hosted = (value: string): string =>
    value
      .replace(/\bpostgres:5432\b/, `127.0.0.1:${postgres.port}`)
      .replace(/\btemporal:7233\b/, address)
      .replace(/^postgres$/, '127.0.0.1')
      .replace(/^5432$/, String(postgres.port))
      .replace(/^0\.0\.0\.0$/, '127.0.0.1');
  const environment = (name: string): Record<string, string> =>
    Object.fromEntries(Object.entries(service(name).environment ?? {}).map(([key, value]) => [key, hosted(value)]));
  const hostPath = (name: string, path: string): string => {
    const mount = service(name).volumes?.find(({ target }) => path === target || path.startsWith(`${target}/`));
    if (!mount) throw new Error(`the service ${name} mounts nothing at ${path}`);
    return mount.source + path.slice(mount.target.length);
  };

  const stack = {
    services,
    address,
    postgres,
    environment,
    hostPath,
    async runToEnd(name: string): Promise<string> {
      const [shell = '', ...rest] = [...(service(name).entrypoint ?? []), ...(service(name).command ?? [])];
      const args = rest.map((arg) => (arg.startsWith('/') ? hostPath(name, arg) : arg));
      const env: Record<string, string> = {
        ...environment(name),
        PATH: `${bin}${delimiter}${process.env['PATH'] ?? ''}`,
        HOME: folder,
        SCHEMA_DIR: join(goProgram('temporal-server'), 'schema'),
      };
      return await ended(spawn(shell, args, { env, stdio: ['ignore', 'pipe', 'pipe'] }), name);
    },
  };

  const makeDatabases = hostPath('postgres', '/docker-entrypoint-initdb.d/databases.sql');
  const database = service('postgres').environment?.['POSTGRES_DB'] ?? '';
  // The image makes this one by itself.
  await postgres.run('postgres', `CREATE DATABASE ${database}`);
  const statements = readFileSync(makeDatabases, 'utf8').replaceAll(/^--.*$/gm, '');
  for (const statement of statements.split(';').filter((text) => text.trim() !== '')) {
    await postgres.run('postgres', statement);
  }
  await stack.runToEnd('temporal-schema');

  const logPath = join(folder, 'temporal.log');
  const server = await startGuarded({
    command: 'env',
    args: [
      '-i',
      ...Object.entries({ ...environment('temporal'), ...(await freePorts(grpcPort)) }).map(([key, value]) => {
        const path = key === 'DYNAMIC_CONFIG_FILE_PATH' ? hostPath('temporal', value) : value;
        return `${key}=${path}`;
      }),
      // The image's entrypoint runs this.
      ...[join(goProgram('temporal-server'), 'server'), '--allow-no-auth', 'start'],
    ],
    logPath,
  });
  opening.defer(() => server.stop(10_000));
  const giveUpAt = Date.now() + 60_000;
  while (!(await isTemporalAt(address, 1_000))) {
    if (server.hasEnded() || Date.now() > giveUpAt) {
      throw new Error(`Temporal did not start:\n${readFileSync(logPath, 'utf8').slice(-4_000)}`);
    }
    await sleep(200);
  }
  await stack.runToEnd('temporal-namespace');

  const resources = opening.move();
  return { ...stack, [Symbol.asyncDispose]: () => resources.disposeAsync() };
}

/** Every port that the server's configuration takes from its environment, moved to a free one. */
async function freePorts(grpcPort: number): Promise<Record<string, string>> {
  const names = ['FRONTEND_HTTP_PORT', 'FRONTEND_MEMBERSHIP_PORT'];
  for (const part of ['MATCHING', 'HISTORY', 'WORKER']) names.push(`${part}_GRPC_PORT`, `${part}_MEMBERSHIP_PORT`);
  const ports = await Promise.all(names.map(async (name) => [name, String(await smallPort())] as const));
  return {
    FRONTEND_GRPC_PORT: String(grpcPort),
    ...Object.fromEntries(ports),
    PROMETHEUS_ENDPOINT: `127.0.0.1:${await smallPort()}`,
  };
}

/** A free port that fits into the 15 bits which Temporal's table of members has for one. */
async function smallPort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    const probe = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      probe.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => resolve(true));
    });
    await new Promise((resolve) => probe.close(resolve));
    if (isFree) return port;
  }
}

async function ended(child: ChildProcess, name: string): Promise<string> {
  let output = '';
  child.stdout?.on('data', (data: Buffer) => (output += data.toString()));
  child.stderr?.on('data', (data: Buffer) => (output += data.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`${name} ended with ${code}:\n${output.slice(-4_000)}`);
  return output;
}
