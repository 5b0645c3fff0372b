/**
 * Finds the Temporal CLI (which contains the dev server), or gets it. Imports nothing but Node: set-up runs the built
 * file on Node 20 and later, before it knows that the packages' own needs are met.
 */
import { execFile, spawn } from 'node:child_process';
import { accessSync, constants, createWriteStream } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';

/** The version that perdure is tested with (server 1.29.1). Newer CLIs on PATH are used as they are. */
export const temporalCliVersion = 'v1.5.1';

/** Where the Temporal SDKs download the CLI from. */
const downloadSite = 'https://temporal.download';
/** An offline machine should notice within seconds; a reachable site answers in well under one. */
const reachTimeoutMs = 4_000;
const stalledDownloadMs = 20_000;
const progressEveryMs = 10_000;

export type Environment = Readonly<Record<string, string | undefined>>;

export interface FoundCli {
  path: string;
  source: 'TEMPORAL_CLI_PATH' | 'PATH' | 'cache' | 'download' | 'go install';
}

/** No Temporal CLI, and no way to get one; the message says what a person can do. */
export class TemporalCliError extends Error {
  override readonly name = 'TemporalCliError';
}

/** `$XDG_CACHE_HOME/perdure`, else `~/.cache/perdure`. */
export function cacheDir(env: Environment): string {
  return join(env['XDG_CACHE_HOME'] || join(env['HOME'] || homedir(), '.cache'), 'perdure');
}

/**
 * Looks for the CLI without getting it: `TEMPORAL_CLI_PATH`, then `temporal` on PATH, then perdure's cache.
 * The path is absolute. Takes a millisecond. Throws `TemporalCliError` where `TEMPORAL_CLI_PATH` is set to something that cannot be run:
 * falling back silently would test another server than the one that was asked for.
 */
export function findTemporalCli(env: Environment): FoundCli | undefined {
  const named = env['TEMPORAL_CLI_PATH'];
  if (named) {
    if (!isExecutable(named)) throw new TemporalCliError(`TEMPORAL_CLI_PATH: no executable file at ${named}`);
    return { path: resolve(named), source: 'TEMPORAL_CLI_PATH' };
  }
  for (const folder of (env['PATH'] ?? '').split(delimiter)) {
    const path = resolve(folder, executableName);
    if (folder !== '' && isExecutable(path)) return { path, source: 'PATH' };
  }
  const cached = cachedCliPath(env);
  return isExecutable(cached) ? { path: cached, source: 'cache' } : undefined;
}

export interface GetCliOptions {
  env: Environment;
  /** Receives progress, one line at a time. */
  log: (line: string) => void;
  /** Site to download from; for tests. */
  site?: string;
}

/**
 * Finds the CLI, or brings it into the cache: the SDK's download, else `go install` of the pinned version (about
 * 3 minutes on 2 cores). Whatever is brought is completed in a folder of its own and renamed into place, so that two
 * processes doing this at once, or one that is killed, leave a whole CLI or none. Throws `TemporalCliError` where
 * every way failed.
 */
export async function getTemporalCli(options: GetCliOptions): Promise<FoundCli> {
  const found = findTemporalCli(options.env);
  if (found) return found;
  const ways = [
    { source: 'download', bring: download },
    { source: 'go install', bring: goInstall },
  ] as const;
  const failures: string[] = [];
  for (const { source, bring } of ways) {
    const problem = await bringIntoCache(options, bring);
    if (problem === undefined) return { path: cachedCliPath(options.env), source };
    options.log(`Temporal CLI by ${source}: ${problem}`);
    failures.push(`  - ${source}: ${problem}`);
  }
  throw new TemporalCliError(
    [
      'No Temporal CLI here, and none could be fetched:',
      ...failures,
      'Do one of these, then run the command again:',
      '  - install it (https://docs.temporal.io/cli#install), so that `temporal` is on PATH',
      '  - set TEMPORAL_CLI_PATH to a `temporal` executable',
      '  - install Go 1.24 or later (https://go.dev/dl): perdure then builds the CLI itself',
      '  - set TEMPORAL_ADDRESS to a Temporal server that already runs: perdure then starts none',
    ].join('\n'),
  );
}

const executableName = process.platform === 'win32' ? 'temporal.exe' : 'temporal';

function cachedCliPath(env: Environment): string {
  return join(cacheDir(env), `temporal-cli-${temporalCliVersion}`, executableName);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

type Bring = (folder: string, options: GetCliOptions) => Promise<void>;

/** Runs one way in a temporary folder and moves its result into place. Returns what went wrong, or nothing. */
async function bringIntoCache(options: GetCliOptions, bring: Bring): Promise<string | undefined> {
  const target = cachedCliPath(options.env);
  let folder: string | undefined;
  try {
    await mkdir(dirname(target), { recursive: true });
    // Beside the target, because a rename is atomic only within one file system.
    folder = await mkdtemp(join(cacheDir(options.env), 'temporal-cli-new-'));
    await bring(folder, options);
    const built = join(folder, executableName);
    await promisify(execFile)(built, ['--version']);
    await rename(built, target);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    // Go marks files of its module cache read-only; `force` covers that too.
    if (folder) await rm(folder, { recursive: true, force: true });
  }
}

/** The request that the SDK's core makes (`ephemeral_server` in sdk-core), for the pinned version. */
async function download(folder: string, { log, site = downloadSite }: GetCliOptions): Promise<void> {
  const platform = { win32: 'windows', darwin: 'darwin', linux: 'linux' }[process.platform as string];
  const arch = { x64: 'amd64', arm64: 'arm64' }[process.arch as string];
  if (!platform || !arch) throw new Error(`no download for ${process.platform} on ${process.arch}`);
  const query = new URLSearchParams({ arch, platform, format: 'tar.gz' });
  const answer = await reach(
    `${site}/cli/${temporalCliVersion}?${query.toString()}`,
    AbortSignal.timeout(reachTimeoutMs),
  );
  const { archiveUrl, fileToExtract } = (await answer.json()) as { archiveUrl?: unknown; fileToExtract?: unknown };
  if (typeof archiveUrl !== 'string' || typeof fileToExtract !== 'string') {
    throw new Error(`${site} did not say where the archive is`);
  }
  log(`downloading the Temporal CLI ${temporalCliVersion} from ${new URL(archiveUrl).host}`);
  const archive = join(folder, 'archive.tar.gz');
  await saveTo(archive, archiveUrl, log);
  await promisify(execFile)('tar', ['-xzf', archive, '-C', folder, fileToExtract]);
  if (fileToExtract !== executableName) await rename(join(folder, fileToExtract), join(folder, executableName));
}

async function saveTo(path: string, url: string, log: (line: string) => void): Promise<void> {
  const stalled = new AbortController();
  const timer = setTimeout(() => stalled.abort(new Error('the download stalled')), stalledDownloadMs);
  let bytes = 0;
  const progress = setInterval(() => log(`  ${Math.round(bytes / 1e6)} MB so far`), progressEveryMs);
  try {
    const answer = await reach(url, stalled.signal);
    if (!answer.body) throw new Error(`${url} sent nothing`);
    const counted = Readable.fromWeb(answer.body).on('data', (chunk: Uint8Array) => {
      bytes += chunk.byteLength;
      timer.refresh();
    });
    await pipeline(counted, createWriteStream(path), { signal: stalled.signal });
  } finally {
    clearTimeout(timer);
    clearInterval(progress);
  }
}

async function reach(url: string, signal: AbortSignal): Promise<Response> {
  const host = new URL(url).host;
  const answer = await fetch(url, { signal }).catch((error: unknown) => {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    throw new Error(`${host} can't be reached (${cause instanceof Error ? cause.message : String(cause)})`);
  });
  if (!answer.ok) throw new Error(`${host} answered ${answer.status}`);
  return answer;
}

async function goInstall(folder: string, { env, log }: GetCliOptions): Promise<void> {
  const started = Date.now();
  const module = `github.com/temporalio/cli/cmd/temporal@${temporalCliVersion}`;
  log(`building the Temporal CLI: go install ${module} (about 3 minutes, once)`);
  const progress = setInterval(
    () => log(`  still building, ${Math.round((Date.now() - started) / 1000)} s so far`),
    progressEveryMs,
  );
  try {
    await runToEnd('go', ['install', module], { ...process.env, ...env, GOBIN: folder });
  } finally {
    clearInterval(progress);
  }
}

function runToEnd(command: string, args: string[], env: Environment): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { env, stdio: ['ignore', 'ignore', 'pipe'] });
    let tail = '';
    child.stderr.on('data', (chunk) => (tail = (tail + String(chunk)).slice(-1_000)));
    child.on('error', (error) =>
      reject(
        new Error((error as NodeJS.ErrnoException).code === 'ENOENT' ? `\`${command}\` is not on PATH` : error.message),
      ),
    );
    child.on('close', (code) =>
      code === 0 ? resolve() : reject(new Error(`\`${command}\` ended with ${code}: ${tail.trim()}`)),
    );
  });
}
