import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { createInterface } from 'node:readline';

/** How long a process may take to end after SIGTERM. */
const stopTimeoutMs = 10_000;

/** A process of the demo. It is out of reach of a terminal's Ctrl-C and ends with the demo, however that ends. */
export interface DemoProcess {
  pid: number;
  /** Settles when it has ended. */
  ended: Promise<void>;
  hasEnded(): boolean;
  /** SIGKILL, and waits for the end. */
  kill(): Promise<void>;
  /** SIGTERM, after 10 s SIGKILL, and waits for the end. */
  stop(): Promise<void>;
}

export interface StartOptions {
  /** Arguments of node. */
  args: string[];
  env: NodeJS.ProcessEnv;
  cwd: string;
  /** Receives what it writes to stdout and stderr. */
  logPath: string;
}

/** Starts node. `firstLine` is the first line that it writes to stdout; it rejects where the process ends before. */
export function startNode(options: StartOptions): DemoProcess & { firstLine: Promise<string> } {
  const child = spawn(process.execPath, options.args, {
    cwd: options.cwd,
    env: options.env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  const log = createWriteStream(options.logPath, { flags: 'a' });
  child.stdout?.pipe(log, { end: false });
  child.stderr?.pipe(log, { end: false });
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve())).then(() => void log.end());
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
  const end = async (signal: NodeJS.Signals) => {
    if (!hasEnded()) child.kill(signal);
    await ended;
  };
  const firstLine = readFirstLine(child, ended, options.logPath);
  // Not everybody asks for the line.
  firstLine.catch(() => undefined);
  return {
    pid: child.pid ?? 0,
    ended,
    hasEnded,
    firstLine,
    kill: () => end('SIGKILL'),
    async stop() {
      const timer = setTimeout(() => child.kill('SIGKILL'), stopTimeoutMs);
      await end('SIGTERM');
      clearTimeout(timer);
    },
  };
}

async function readFirstLine(child: ChildProcess, ended: Promise<void>, logPath: string): Promise<string> {
  if (!child.stdout) throw new Error('the process has no stdout');
  const line = once(createInterface({ input: child.stdout }), 'line') as Promise<[string]>;
  const first = await Promise.race([line, ended]);
  if (!first) throw new Error(`a process of the demo ended before it was ready; see ${logPath}`);
  return first[0];
}
