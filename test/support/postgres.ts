import { execFileSync } from 'node:child_process';
import {
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { freePort } from '../../src/server/free-port.js';
import { startGuarded, type GuardedProcess } from '../../src/server/guarded-process.js';

/** Where distributions put the server's programs; `PERDURE_POSTGRES_BIN` names another folder. */
function findBinaries(): string | undefined {
  const versions = existsSync('/usr/lib/postgresql') ? readdirSync('/usr/lib/postgresql') : [];
  const folders = [
    process.env['PERDURE_POSTGRES_BIN'] ?? '',
    ...versions.sort((a, b) => Number(b) - Number(a)).map((version) => `/usr/lib/postgresql/${version}/bin`),
    ...(process.env['PATH'] ?? '').split(':'),
  ];
  return folders.find((folder) => folder !== '' && existsSync(join(folder, 'initdb')));
}

/** PostgreSQL refuses to run as root, so there another user is needed, and `setpriv` to become it. */
function findUser(): { uid: number; gid: number } | undefined {
  for (const name of ['postgres', 'nobody']) {
    try {
      const [uid, gid] = ['-u', '-g'].map((flag) => Number(execFileSync('id', [flag, name], { encoding: 'utf8' })));
      execFileSync('setpriv', ['--version']);
      return { uid: uid ?? NaN, gid: gid ?? NaN };
    } catch {
      // No such user, or no setpriv: the next one, and at the end the reason why tests are skipped.
    }
  }
  return undefined;
}

const binaries = findBinaries();
const isRoot = process.getuid?.() === 0;
const user = isRoot ? findUser() : undefined;

/** Why no PostgreSQL can be started here. */
export const postgresMissing =
  binaries === undefined
    ? 'there is no PostgreSQL on this machine (initdb is not in /usr/lib/postgresql/*/bin, PERDURE_POSTGRES_BIN or PATH)'
    : isRoot && !user
      ? 'PostgreSQL does not run as root, and there is no other user to run it as (postgres or nobody, with setpriv)'
      : undefined;

export interface PostgresServer {
  readonly port: number;
  /** Of the process that has started all others; another one after `start`. */
  readonly pid: number;
  /** File of its certificate, which is for `localhost` and signed by itself; there with `tls`. */
  readonly certificate: string;
  /** Of a database; by default of the user that owns all. */
  url(database: string, user?: { name: string; password: string }): string;
  /** A new empty database; returns its name. */
  createDatabase(): Promise<string>;
  /** Runs statements as the owner, on a connection of their own. */
  run<R extends pg.QueryResultRow>(database: string, text: string, values?: unknown[]): Promise<R[]>;
  /** As if the machine had lost its power: connections break off, and what was not durable is gone. */
  crash(): Promise<void>;
  /** After `crash`. */
  start(): Promise<void>;
  /** Stops it and removes all it had. Rejects where somebody is still connected. */
  stop(): Promise<void>;
}

/**
 * Starts a PostgreSQL of its own on a free port of 127.0.0.1, with its data in a new folder. It asks for passwords, and
 * ends with this process. `fsync` is off by default: the processes of tests crash, their machine does not.
 */
export async function startPostgres({
  fsync = false,
  tls = false,
  password = 'p@ss/w#rd',
} = {}): Promise<PostgresServer> {
  if (binaries === undefined || postgresMissing !== undefined) throw new Error(postgresMissing);
  const owner = { name: 'perdure', password };
  const folder = mkdtempSync(join(tmpdir(), 'perdure-pg-'));
  const data = join(folder, 'data');
  mkdirSync(data, { mode: 0o700 });
  const passwordFile = join(folder, 'password');
  writeFileSync(passwordFile, owner.password);
  if (user) for (const path of [folder, data, passwordFile]) chownSync(path, user.uid, user.gid);
  const asUser = user
    ? ['setpriv', `--reuid=${String(user.uid)}`, `--regid=${String(user.gid)}`, '--clear-groups', '--']
    : [];
  const [initdb = '', ...initdbArgs] = [...asUser, join(binaries, 'initdb')];
  execFileSync(initdb, [
    ...initdbArgs,
    ...['-D', data, '-U', owner.name, '--pwfile', passwordFile, '--auth=scram-sha-256'],
    ...['--encoding=UTF8', '--locale=C', '--no-sync', '--no-instructions'],
  ]);
  const certificate = join(folder, 'server.crt');
  if (tls) makeCertificate(data, certificate);

  const port = await freePort();
  const logPath = join(folder, 'log');
  let server: GuardedProcess | undefined;

  const url: PostgresServer['url'] = (database, { name, password } = owner) =>
    `postgres://${name}:${encodeURIComponent(password)}@127.0.0.1:${String(port)}/${database}`;

  async function run<R extends pg.QueryResultRow>(database: string, text: string, values?: unknown[]): Promise<R[]> {
    const client = new pg.Client({ connectionString: url(database), application_name: 'test' });
    await client.connect();
    try {
      return (await client.query<R>(text, values)).rows;
    } finally {
      await client.end();
    }
  }

  async function start(): Promise<void> {
    const [command = '', ...args] = [...asUser, join(binaries ?? '', 'postgres')];
    const started = await startGuarded({
      command,
      args: [
        ...args,
        ...['-D', data, '-p', String(port), '-h', '127.0.0.1', '-k', folder],
        ...['-c', `fsync=${fsync ? 'on' : 'off'}`, '-c', 'max_connections=200', '-c', `ssl=${tls ? 'on' : 'off'}`],
      ],
      logPath,
    });
    server = started;
    const giveUpAt = Date.now() + 30_000;
    for (;;) {
      try {
        await run('postgres', 'SELECT 1');
        return;
      } catch (error) {
        if (started.hasEnded() || Date.now() > giveUpAt) {
          throw new Error(`PostgreSQL did not start:\n${readFileSync(logPath, 'utf8')}`, { cause: error });
        }
        await sleep(20);
      }
    }
  }

  /** SIGINT is PostgreSQL's fast shutdown, SIGQUIT its immediate one. */
  async function end(signal: 'SIGINT' | 'SIGQUIT'): Promise<void> {
    if (!server || server.hasEnded()) return;
    process.kill(server.pid, signal);
    await server.ended;
  }

  let databases = 0;
  await start();
  return {
    port,
    get pid() {
      if (!server) throw new Error('PostgreSQL was not started');
      return server.pid;
    },
    certificate,
    url,
    run,
    start,
    async createDatabase() {
      const name = `db${String((databases += 1))}`;
      await run('postgres', `CREATE DATABASE ${name}`);
      return name;
    },
    crash: () => end('SIGQUIT'),
    async stop() {
      const left = await run<{ application_name: string }>(
        'postgres',
        "SELECT application_name FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()",
      ).finally(() => end('SIGINT'));
      rmSync(folder, { recursive: true });
      if (left.length > 0) throw new Error(`${String(left.length)} connections to PostgreSQL were left open`);
    },
  };
}

/** A certificate for `localhost`, signed by itself. */
function makeCertificate(data: string, copy: string): void {
  const [key, certificate] = [join(data, 'server.key'), join(data, 'server.crt')];
  execFileSync(
    'openssl',
    [
      ...['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=localhost'],
      ...['-addext', 'subjectAltName=DNS:localhost', '-keyout', key, '-out', certificate],
    ],
    { stdio: 'ignore' },
  );
  copyFileSync(certificate, copy);
  if (user) for (const path of [key, certificate]) chownSync(path, user.uid, user.gid);
}
