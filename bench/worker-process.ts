import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** A worker in a process of its own, so that its time and memory are read apart from the driver's. */
export interface WorkerProcess {
  readonly pid: number;
  readonly taskQueue: string;
  kill(signal: NodeJS.Signals): void;
  /** Collects its garbage first, for which it has to be started with `--expose-gc`. perdure's worker only. */
  heldMemory(): Promise<HeldMemory>;
  /** Lets it end in order. */
  stop(): Promise<void>;
}

interface Ready {
  taskQueue: string;
}

/** What a worker holds once the garbage of its main thread is collected, megabytes. */
export interface HeldMemory {
  /** In use on the main thread's heap. */
  heapMb: number;
  /** Of the whole process, in RAM. */
  residentMb: number;
}

/** Called by a worker's process once it can take work. */
export function report(ready: Ready): void {
  if (!process.send) throw new Error('a benchmark worker is started by bench/run.ts');
  process.send(ready);
}

/** Lets a worker's process answer `heldMemory`. */
export function answerHeldMemory(): void {
  process.on('message', () => {
    if (!globalThis.gc) throw new Error('it was started without --expose-gc');
    globalThis.gc();
    const { heapUsed, rss } = process.memoryUsage();
    process.send?.({ heapMb: heapUsed / 2 ** 20, residentMb: rss / 2 ** 20 } satisfies HeldMemory);
  });
}

/** Starts `bench/<kind>/worker.ts`; rejects where it ends before it is ready. */
export async function startWorker(
  kind: 'floor' | 'perdure',
  args: string[],
  options: { nodeArgs: string[]; env?: Record<string, string> },
): Promise<WorkerProcess> {
  const child = fork(fileURLToPath(new URL(`./${kind}/worker.ts`, import.meta.url)), args, {
    execArgv: options.nodeArgs,
    env: { ...process.env, ...options.env },
    stdio: ['ignore', 'ignore', process.env['BENCH_LOG'] === undefined ? 'ignore' : 'inherit', 'ipc'],
  });
  const ready = await Promise.race([nextMessage<Ready>(child), endedEarly(child, kind)]);
  return {
    pid: child.pid as number,
    taskQueue: ready.taskQueue,
    kill: (signal) => void child.kill(signal),
    async heldMemory() {
      const answer = nextMessage<HeldMemory>(child);
      child.send('collect');
      return await answer;
    },
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, 'exit');
      child.disconnect();
      await exited;
    },
  };
}

async function nextMessage<T>(child: ChildProcess): Promise<T> {
  const [message] = (await once(child, 'message')) as [T];
  return message;
}

async function endedEarly(child: ChildProcess, kind: string): Promise<never> {
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
  throw new Error(`the ${kind} worker ended (${code ?? signal}) before it was ready; BENCH_LOG=1 shows what it says`);
}
