import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { openServer, startDevServer, type DevServer, type FoundServer } from 'perdure/testing';
import type { Faults } from '../backend/faults.ts';
import { startNode, type DemoProcess } from './processes.ts';

const exampleDir = resolve(import.meta.dirname, '..');
/** The command line, in a process that ends with this one. */
const commandLine = [
  '--import',
  join(exampleDir, 'demo/end-with-parent.ts'),
  resolve(exampleDir, '../../bin/perdure.js'),
];

export interface StageOptions {
  /** Folder that holds `.perdure/`, where everything is kept. */
  rootDir: string;
  /** Receives what happens, a line at a time. */
  log(line: string): void;
  /** How the shop misbehaves, where not as by default. */
  faults: Partial<Faults>;
}

/** Another demo, or a `perdure dev`, works in the folder. */
export class StageTakenError extends Error {
  override readonly name = 'StageTakenError';
  constructor(rootDir: string, uiUrl: string | undefined) {
    const where = uiUrl === undefined ? '' : ` (its Temporal UI: ${uiUrl})`;
    super(
      `A Temporal server and its worker run already in ${rootDir}${where}: another demo, or npm run shop -- dev. ` +
        'They would take the calls of this one. End them with Ctrl-C where they were started, then type npm start again.',
    );
  }
}

/** What the demo starts: the shop, a Temporal server where no other is configured, and a worker. */
export class Stage {
  readonly shopUrl: string;
  readonly shopDbPath: string;
  readonly storePath: string;
  readonly logPath: string;
  /** Rejects where a worker ends that nobody ended; never settles otherwise. */
  readonly broken: Promise<never>;
  readonly #options: StageOptions;
  readonly #shop: DemoProcess;
  readonly #server: FoundServer;
  #ownServer: DevServer | undefined;
  #worker: DemoProcess | undefined;
  readonly #commands = new Set<ChildProcess>();
  #closing = false;
  #breakDown!: (error: Error) => void;

  private constructor(parts: {
    options: StageOptions;
    shop: DemoProcess;
    shopUrl: string;
    server: FoundServer;
    ownServer: DevServer | undefined;
  }) {
    this.#options = parts.options;
    this.#shop = parts.shop;
    this.#server = parts.server;
    this.#ownServer = parts.ownServer;
    this.shopUrl = parts.shopUrl;
    this.shopDbPath = shopDbPath(parts.options);
    this.storePath = join(parts.options.rootDir, '.perdure/store.db');
    this.logPath = logPath(parts.options);
    this.broken = new Promise((_, reject) => (this.#breakDown = reject));
    // Whoever waits for it is told; nobody waits any more once the run is over.
    this.broken.catch(() => undefined);
  }

  /**
   * Starts the server, and the shop with a new database; `close` ends both. Rejects with nothing left running, and with
   * `StageTakenError` where the folder is in use: somebody else's worker would take the demo's calls to another shop.
   */
  static async open(options: StageOptions): Promise<Stage> {
    const { server, started } = await openServer({ rootDir: options.rootDir, env: process.env });
    if (server.kind === 'dev' && !started) throw new StageTakenError(options.rootDir, server.uiUrl);
    try {
      const { shop, shopUrl } = await startShop(options);
      return new Stage({ options, shop, shopUrl, server, ownServer: started });
    } catch (error) {
      await started?.stop();
      throw error;
    }
  }

  get serverAddress(): string {
    return this.#server.address;
  }

  /** Where the Temporal UI shows a run, where that is known. */
  uiUrl(runId: string): string | undefined {
    const { uiUrl, namespace } = this.#server;
    return uiUrl && `${uiUrl}/namespaces/${namespace}/workflows/${runId}`;
  }

  /** Does nothing once the stage is being closed. */
  startWorker(): void {
    if (this.#closing) return;
    const worker = startNode({
      args: [...commandLine, 'worker'],
      env: this.#environment(),
      cwd: exampleDir,
      logPath: this.logPath,
    });
    this.#worker = worker;
    void worker.ended.then(() => {
      if (this.#worker === worker) this.#breakDown(new Error(`a worker ended by itself; see ${this.logPath}`));
    });
    this.#options.log(`worker ${worker.pid} started`);
  }

  /** SIGKILL: nothing that the worker does or knows is finished or reported. */
  async killWorker(why: string): Promise<void> {
    const worker = this.#worker;
    if (!worker || worker.hasEnded()) throw new Error(`the worker had ended before it was to be killed`);
    this.#worker = undefined;
    await worker.kill();
    this.#options.log(`worker ${worker.pid} killed (SIGKILL) when ${why}`);
  }

  /** Kills the embedded server, and starts it again at the same address. */
  async restartServer(why: string): Promise<void> {
    const server = this.#ownServer;
    if (!server) throw new Error(`only the demo's own server may be killed, not the one at ${this.serverAddress}`);
    process.kill(server.pid, 'SIGKILL');
    await server.ended;
    this.#options.log(`Temporal server ${server.pid} killed (SIGKILL) when ${why}`);
    if (this.#closing) return;
    const { port } = new URL(`http://${server.address}`);
    const { port: uiPort } = new URL(server.uiUrl);
    this.#ownServer = await startDevServer({
      rootDir: this.#options.rootDir,
      port: Number(port),
      uiPort: Number(uiPort),
    });
    this.#options.log(`Temporal server ${this.#ownServer.pid} started`);
  }

  /** Runs `perdure` with these arguments and waits for its end. Lines of its stderr go to `onLine`. Rejects once the
   * stage is being closed. */
  async perdure(
    args: string[],
    onLine: (line: string) => void = () => undefined,
  ): Promise<{ exitCode: number; stdout: string }> {
    if (this.#closing) throw new Error('the demo is being ended');
    const child = spawn(process.execPath, [...commandLine, ...args], {
      cwd: exampleDir,
      env: this.#environment(),
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    if (!child.stdout || !child.stderr) throw new Error('a child process has no output');
    this.#commands.add(child);
    const chunks: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
    createInterface({ input: child.stderr }).on('line', onLine);
    const [code] = (await once(child, 'close')) as [number | null];
    this.#commands.delete(child);
    return { exitCode: code ?? 1, stdout: Buffer.concat(chunks).toString() };
  }

  /** Ends what was started, the worker first. */
  async close(): Promise<void> {
    this.#closing = true;
    for (const command of this.#commands) command.kill('SIGKILL');
    const worker = this.#worker;
    this.#worker = undefined;
    await worker?.stop();
    await this.#ownServer?.stop();
    await this.#shop.stop();
  }

  #environment(): NodeJS.ProcessEnv {
    const { kind, address, namespace } = this.#server;
    return {
      ...process.env,
      ...(kind !== 'configured' && { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace }),
      SHOP_URL: this.shopUrl,
      SHOP_STORE: this.storePath,
    };
  }
}

async function startShop(options: StageOptions): Promise<{ shop: DemoProcess; shopUrl: string }> {
  await mkdir(join(options.rootDir, '.perdure'), { recursive: true });
  const dbPath = shopDbPath(options);
  for (const suffix of ['', '-wal', '-shm']) await rm(`${dbPath}${suffix}`, { force: true });
  const shop = startNode({
    args: [join(exampleDir, 'backend/main.ts'), '--db', dbPath, '--faults', JSON.stringify(options.faults)],
    env: process.env,
    cwd: exampleDir,
    logPath: logPath(options),
  });
  try {
    const { port } = JSON.parse(await shop.firstLine) as { port: number };
    return { shop, shopUrl: `http://127.0.0.1:${port}` };
  } catch (error) {
    await shop.stop();
    throw error;
  }
}

function shopDbPath({ rootDir }: StageOptions): string {
  return join(rootDir, '.perdure/shop.db');
}

function logPath({ rootDir }: StageOptions): string {
  return join(rootDir, '.perdure/demo.log');
}
