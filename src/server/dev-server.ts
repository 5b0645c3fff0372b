/**
 * The embedded Temporal server: `temporal server start-dev` as a child process, with its state in `.perdure/`, so that
 * runs survive its restart. For macOS and Linux.
 */
import { mkdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import { devServerArguments, type DynamicConfig } from './dev-arguments.js';
import { readDevFile, removeDevFile, stateDir, writeDevFile } from './dev-file.js';
import { type DevLock, takeDevLock } from './dev-lock.js';
import { beginBoot } from './first-boot.js';
import { freePort } from './free-port.js';
import { type GuardedProcess, startGuarded } from './guarded-process.js';
import { accepts, isTemporalAt } from './probe.js';
import { getTemporalCli } from './temporal-cli.js';

/** How the embedded server is started. */
export interface DevServerOptions {
  /** Folder that holds `.perdure/` (the database, the log, `dev.json`). Created when missing. */
  rootDir: string;
  /** The Temporal CLI. Default: found, or got (`getTemporalCli`), by `process.env`. */
  cliPath?: string;
  /** Created at start when missing. Default `default`. */
  namespace?: string;
  /** gRPC port. Default: a free one. */
  port?: number;
  /** Port of the Temporal UI. Default: a free one. */
  uiPort?: number;
  /** Dynamic configuration on top of perdure's own. */
  dynamicConfig?: DynamicConfig;
  /** From the start of the process until it must answer, in milliseconds. Default 30 s: it takes 1 to 2 s here. */
  startTimeoutMs?: number;
  /** Between SIGTERM and SIGKILL, in milliseconds. Default 10 s: an orderly end takes 1 s here. */
  stopTimeoutMs?: number;
  /** Receives progress of getting the CLI. Default: stderr. */
  log?: (line: string) => void;
}

/** A running embedded server. */
export interface DevServer {
  address: string;
  uiUrl: string;
  namespace: string;
  /** Process id of the Temporal server itself. */
  pid: number;
  logPath: string;
  /** Settles when the server has ended, for whatever reason. Never rejects. */
  ended: Promise<void>;
  /** Stops the server (SIGTERM, then SIGKILL) and waits for its end. May be called again. Never rejects. */
  stop(): Promise<void>;
}

/** The embedded server did not start; the message quotes the end of its log. */
export class DevServerError extends Error {
  override readonly name = 'DevServerError';
}

/** Another process runs, or is starting, the server of this folder; use that one. */
export class DevServerRunningError extends Error {
  override readonly name = 'DevServerRunningError';
  readonly address: string;
  constructor(address: string) {
    super(`an embedded Temporal server of this folder already runs at ${address}`);
    this.address = address;
  }
}

/**
 * Starts the embedded server on 127.0.0.1 and waits until it answers and its namespace is there. It ends with this
 * process, however this process ends (a SIGKILL too), but is out of reach of a terminal's Ctrl-C: the caller stops it
 * after what depends on it.
 *
 * Throws `DevServerRunningError` where the folder's server already runs, `DevServerError` where it did not start in
 * time, `TemporalCliError` where there is no CLI.
 */
export async function startDevServer(options: DevServerOptions): Promise<DevServer> {
  const startTimeoutMs = options.startTimeoutMs ?? 30_000;
  const cliPath = options.cliPath ?? (await getCli(options));
  const lock = await takeLock(options.rootDir, Date.now() + startTimeoutMs);
  try {
    return await startLocked(options, { cliPath, lock, startTimeoutMs });
  } catch (error) {
    await lock.release();
    throw error;
  }
}

async function getCli(options: DevServerOptions): Promise<string> {
  const log = options.log ?? ((line: string) => void process.stderr.write(`${line}\n`));
  return (await getTemporalCli({ env: process.env, log })).path;
}

/** Waits for a server that is just ending or just starting; a running one is an error that names it. */
async function takeLock(rootDir: string, deadline: number): Promise<DevLock> {
  for (;;) {
    const lock = await takeDevLock(rootDir);
    if ('release' in lock) return lock;
    const running = await readDevFile(rootDir);
    if (running && (await isTemporalAt(running.address, 2_000))) throw new DevServerRunningError(running.address);
    if (Date.now() > deadline) {
      const lockPath = join(stateDir(rootDir), 'dev.lock');
      throw new DevServerError(
        `process ${lock.heldBy.join(' and ')} holds ${lockPath}, but no Temporal server of this folder answers. ` +
          'End that process, or delete the file if it is no perdure.',
      );
    }
    await sleep(100);
  }
}

interface Start {
  cliPath: string;
  lock: DevLock;
  startTimeoutMs: number;
  logPath: string;
}

/** Somebody may take a port between its choice and the server's bind; three times in a row it is no accident. */
const START_ATTEMPTS = 3;

async function startLocked(options: DevServerOptions, start: Omit<Start, 'logPath'>): Promise<DevServer> {
  const logPath = join(stateDir(options.rootDir), 'temporal.log');
  await keepFormerLog(logPath);
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await startOnce(options, { ...start, logPath });
    } catch (error) {
      const isOver = !(error instanceof DevServerError) || attempt === START_ATTEMPTS;
      if (isOver || !(await lostPort(logPath, options))) throw error;
      // So that the next attempt is judged by its own words.
      await rm(logPath, { force: true });
    }
  }
}

/** Whether the server says that a port was taken which nobody asked for: another one may be free. */
async function lostPort(logPath: string, { port, uiPort }: DevServerOptions): Promise<boolean> {
  const log = await readFile(logPath, 'utf8').catch(() => '');
  const taken = [...log.matchAll(/:(\d+): bind: address already in use/g)].map(([, number]) => Number(number));
  return taken.length > 0 && !taken.some((number) => number === port || number === uiPort);
}

async function startOnce(options: DevServerOptions, start: Start): Promise<DevServer> {
  const { rootDir, namespace = 'default', stopTimeoutMs = 10_000 } = options;
  const { logPath } = start;
  const port = options.port ?? (await freePort());
  const uiPort = options.uiPort ?? (await freePort());
  const address = `127.0.0.1:${port}`;
  const uiUrl = `http://127.0.0.1:${uiPort}`;

  const dbPath = join(stateDir(rootDir), 'temporal.db');
  const bootEnded = await beginBoot(dbPath);
  const args = devServerArguments({
    dbPath,
    port,
    uiPort,
    namespace,
    dynamicConfig: options.dynamicConfig ?? {},
  });
  const server = await startGuarded({ command: start.cliPath, args, logPath });
  try {
    await start.lock.holdFor(server.pid);
    await waitUntilHealthy(server, { address, namespace, timeoutMs: start.startTimeoutMs, logPath });
    await bootEnded();
    await writeDevFile(rootDir, { address, uiUrl, pid: server.pid, namespace });
  } catch (error) {
    await server.stop(stopTimeoutMs);
    throw error;
  }

  const ended = server.ended.then(async () => {
    await removeDevFile(rootDir, server.pid).catch(() => undefined);
    await start.lock.release().catch(() => undefined);
  });
  return {
    address,
    uiUrl,
    namespace,
    pid: server.pid,
    logPath,
    ended,
    stop: async () => {
      await server.stop(stopTimeoutMs);
      await ended;
    },
  };
}

async function keepFormerLog(logPath: string): Promise<void> {
  await mkdir(join(logPath, '..'), { recursive: true });
  await rename(logPath, logPath.replace(/\.log$/, '.previous.log')).catch(() => undefined);
}

async function waitUntilHealthy(
  server: GuardedProcess,
  expected: { address: string; namespace: string; timeoutMs: number; logPath: string },
): Promise<void> {
  const deadline = Date.now() + expected.timeoutMs;
  let lastProblem = '';
  while (Date.now() < deadline) {
    if (server.hasEnded()) throw await failure('ended while it was starting', expected.logPath);
    try {
      await checkNamespace(expected.address, expected.namespace);
      return;
    } catch (error) {
      lastProblem = error instanceof Error ? error.message : String(error);
      await sleep(50);
    }
  }
  const seconds = Math.round(expected.timeoutMs / 1000);
  throw await failure(`did not answer within ${seconds} s (${lastProblem})`, expected.logPath);
}

async function checkNamespace(address: string, namespace: string): Promise<void> {
  if (!(await accepts(address, 1_000))) throw new Error(`nothing listens at ${address}`);
  const connection = await Connection.connect({ address, connectTimeout: 1_000 });
  try {
    await connection.workflowService.describeNamespace({ namespace });
  } finally {
    await connection.close();
  }
}

async function failure(problem: string, logPath: string): Promise<DevServerError> {
  const log = await readFile(logPath, 'utf8').catch(() => '');
  const tail = log.trim().split('\n').slice(-15).join('\n');
  const quoted = tail === '' ? 'Its log is empty' : `The end of its log:\n${tail}\n`;
  return new DevServerError(`the embedded Temporal server ${problem}. ${quoted} (${logPath})`);
}
