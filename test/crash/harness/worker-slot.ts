/** A place where a worker runs: whoever dies there is replaced, and each may carry a moment at which it will die. */
import { setTimeout as sleep } from 'node:timers/promises';
import { heartbeatTimeoutMs, type CrashBench, type CrashWorker } from '../support/crash-bench.js';
import type { Failpoint, Moment } from '../support/failpoints.js';
import type { TcpProxy } from '../support/tcp-proxy.js';
import { plainTools } from './program.js';
import type { Random } from './random.js';
import type { Strikes } from './strikes.js';

/** Rows of the matrix in test/crash/README.md by the moment at which a worker dies. */
const rows: Record<Moment, string> = {
  activity: '2 polled and not begun',
  'before-claim': '2 polled and not begun',
  claimed: '2 polled and not begun',
  confirmed: '3 before send',
  begun: '22 started and not yet sent',
  'in-body': '3 before send',
  answered: '5 committed, reply lost',
  settled: '6 stored, completion unsent',
  reconciling: '4 asking what became of it',
  'model-asked': '2 in a model turn',
  'model-answered': '2 in a model turn',
  'turn-committed': '6 stored, completion unsent',
  'workflow-task': '8 in a workflow task',
  'workflow-task-done': '8 in a workflow task',
  'continue-as-new': '11 at continue-as-new',
};
const moments = Object.keys(rows) as Moment[];

/** Past the lease and the grace that another waits, so that whoever wakes up has been replaced. */
export const oversleepMs = heartbeatTimeoutMs + 1_000 + 700;

export interface SlotOptions {
  bench: CrashBench;
  /** To the server; this worker's alone. */
  wire: TcpProxy;
  /** To the backend. */
  backendPort: number;
  random: Random;
  strikes: Strikes;
}

export class WorkerSlot {
  readonly wire: TcpProxy;
  readonly #options: SlotOptions;
  #worker: CrashWorker | undefined;
  #tending: Promise<void> | undefined;
  #armed = true;
  #open = true;
  /** Somebody does something to its worker now. */
  busy = false;

  constructor(options: SlotOptions) {
    this.#options = options;
    this.wire = options.wire;
  }

  get worker(): CrashWorker | undefined {
    return this.#worker?.isAlive ? this.#worker : undefined;
  }

  /** Keeps a worker here until `close`. */
  open(): void {
    this.#tending = this.#tend();
  }

  /** From now on its workers die of nothing by themselves; one that would is replaced. */
  async disarm(): Promise<void> {
    this.#armed = false;
    this.wire.set('pass');
    this.#worker?.signal('SIGCONT');
    this.#worker?.signal('SIGKILL');
    await this.#worker?.ended();
  }

  async close(): Promise<void> {
    this.#open = false;
    this.#worker?.signal('SIGKILL');
    await this.#tending;
  }

  async #tend(): Promise<void> {
    const { bench, strikes, backendPort, random } = this.#options;
    while (this.#open) {
      const failpoint = this.#armed && random.chance(0.85) ? makeFailpoint(random) : undefined;
      try {
        this.#worker = await bench.worker(failpoint ? [failpoint] : [], {
          address: `127.0.0.1:${this.wire.port}`,
          oracleUrl: `http://127.0.0.1:${backendPort}`,
          toolTimeoutMs: 2_500,
          breakerCoolDownMs: 1_000,
          shutdownGraceMs: 300,
          maxCachedWorkflows: random.chance(0.5) ? 2 : 50,
        });
      } catch (error) {
        // The server may be down while it starts.
        await sleep(200);
        strikes.note(`a worker did not start: ${error instanceof Error ? error.message.slice(0, 200) : String(error)}`);
        continue;
      }
      await this.#watch(this.#worker, failpoint);
    }
  }

  async #watch(worker: CrashWorker, failpoint: Failpoint | undefined): Promise<void> {
    const { strikes } = this.#options;
    const reached = (): boolean => worker.log.includes('failpoint');
    if (failpoint?.action === 'stop') {
      while (worker.isAlive && !reached()) await sleep(50);
      if (!worker.isAlive) return;
      // Its polls end with its connection; else the server would hand it task after task.
      this.wire.set('cut');
      await sleep(oversleepMs);
      this.wire.set('pass');
      worker.signal('SIGCONT');
      strikes.add({ row: `10 zombie, ${failpoint.at}`, kills: 0 });
      await sleep(1_500);
      worker.signal('SIGKILL');
      await worker.ended();
      strikes.add({ row: 'any: SIGKILL at random', kills: 1 });
      return;
    }
    await worker.ended();
    if (failpoint && reached()) {
      const blocked = failpoint.action !== 'kill';
      strikes.add({ row: blocked ? '20 event loop blocked' : rows[failpoint.at], kills: blocked ? 0 : 1 });
    }
  }
}

function makeFailpoint(random: Random): Failpoint {
  const at = random.pick(moments);
  const inCall =
    !at.startsWith('model') && !at.startsWith('workflow') && at !== 'continue-as-new' && at !== 'turn-committed';
  const action = random.weighted<Failpoint['action']>([
    [86, 'kill'],
    [8, 'stop'],
    [6, { blockMs: oversleepMs }],
  ]);
  return {
    at,
    action,
    after: random.integer(0, at === 'continue-as-new' ? 0 : 3),
    ...(inCall && at !== 'reconciling' && random.chance(0.5) ? { tool: random.pick(plainTools) } : {}),
  };
}
