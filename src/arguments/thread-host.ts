import { Worker } from 'node:worker_threads';
import type { ThreadAnswer, ThreadJob } from './validation-protocol.js';

export type Settled =
  | Exclude<ThreadAnswer, { kind: 'ready' | 'probing' }>
  /** The time limit passed; `pattern` is what was being tried. */
  | { kind: 'timed_out'; pattern?: string }
  /** The thread ended by itself (out of memory) or could not start. */
  | { kind: 'lost'; problem: string };

/** A job whose id the host gives. */
export type Job = ThreadJob extends infer Each ? (Each extends ThreadJob ? Omit<Each, 'id'> : never) : never;

interface Waiting {
  job: ThreadJob;
  timeLimitMs: number;
  settle: (answer: Settled) => void;
}

/**
 * Memory of the thread. A schema's compiled code takes tens of kilobytes, a value some times its 1 MiB of text; beyond
 * this the thread ends, and is replaced, before the process is in danger.
 */
const MAX_HEAP_MB = 256;

/** Starting takes about 100 ms; a machine that needs longer than this is not going to answer. */
const START_LIMIT_MS = 30_000;

// The source runs as TypeScript in tests and as JavaScript from dist; the thread's file stands beside this one in both.
const THREAD_FILE = new URL(
  import.meta.url.endsWith('.ts') ? './validation-thread.ts' : './validation-thread.js',
  import.meta.url,
);

/**
 * Runs jobs in one validation thread, one after another, each under its own time limit that starts with the job. A job
 * that exceeds it costs the thread, which is replaced for the next; the others only wait. `onReplaced` tells that what
 * the thread knew is lost.
 */
export class ThreadHost {
  private worker: Worker | undefined;
  private ready = false;
  private running: Waiting | undefined;
  private pattern: string | undefined;
  private timer: NodeJS.Timeout | undefined;
  private readonly queue: Waiting[] = [];
  private nextId = 1;
  private closed = false;
  private readonly onReplaced: () => void;

  constructor(onReplaced: () => void) {
    this.onReplaced = onReplaced;
  }

  /** Never rejects. After `close` it settles as `lost`. */
  run(job: Job, timeLimitMs: number): Promise<Settled> {
    return new Promise((settle) => {
      this.queue.push({ job: { ...job, id: this.nextId++ }, timeLimitMs, settle });
      this.advance();
    });
  }

  /** Ends the thread; what waits is settled as `lost`. */
  async close(): Promise<void> {
    this.closed = true;
    const { worker } = this;
    this.drop();
    for (const waiting of [this.running, ...this.queue.splice(0)]) {
      waiting?.settle({ kind: 'lost', problem: 'the validator was closed' });
    }
    this.running = undefined;
    await worker?.terminate();
  }

  private advance(): void {
    if (this.running) return;
    const next = this.queue.shift();
    if (!next) {
      this.worker?.unref();
      return;
    }
    if (this.closed) {
      next.settle({ kind: 'lost', problem: 'the validator was closed' });
      return this.advance();
    }
    this.running = next;
    this.pattern = undefined;
    this.worker ??= this.start();
    this.worker.ref();
    if (this.ready) this.send();
    else this.limit(START_LIMIT_MS);
  }

  private send(): void {
    if (!this.running) return;
    this.limit(this.running.timeLimitMs);
    this.worker?.postMessage(this.running.job);
  }

  private start(): Worker {
    // No flags are inherited: a test runner's loaders or --input-type would keep the thread from starting.
    const worker = new Worker(THREAD_FILE, { execArgv: [], resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB } });
    worker.on('message', (answer: ThreadAnswer) => {
      if (worker !== this.worker) return;
      if (answer.kind === 'probing') this.pattern = answer.pattern;
      else if (answer.kind !== 'ready') this.finish(answer);
      else {
        this.ready = true;
        this.send();
      }
    });
    const lost = (problem: string): void => {
      if (worker !== this.worker) return;
      this.drop();
      this.finish({ kind: 'lost', problem });
    };
    worker.on('error', (error) => lost(error instanceof Error ? error.message : String(error)));
    worker.on('exit', (code) => lost(`the validation thread ended with code ${code}`));
    return worker;
  }

  private limit(ms: number): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      const { worker, pattern } = this;
      this.drop();
      void worker?.terminate();
      this.finish({ kind: 'timed_out', ...(pattern === undefined ? {} : { pattern }) });
    }, ms);
  }

  /** Forgets the thread: nothing that it still says counts. */
  private drop(): void {
    clearTimeout(this.timer);
    this.worker = undefined;
    this.ready = false;
    this.onReplaced();
  }

  private finish(answer: Settled): void {
    clearTimeout(this.timer);
    const finished = this.running;
    this.running = undefined;
    finished?.settle(answer);
    this.advance();
  }
}
