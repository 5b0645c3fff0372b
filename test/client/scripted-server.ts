import type { RecordedExecution } from '../../src/replay/recorded-execution.js';
import type { RunEnd, RunServer, ServerEvent, ServerRun, StartRequest } from '../../src/client/run-server.js';

/** A server with fixed runs that notes what it is asked to do. An end that is not scripted throws. */
export class ScriptedServer implements RunServer {
  readonly started: StartRequest[] = [];
  readonly cancelled: string[] = [];
  readonly terminated: { id: string; reason: string }[] = [];
  closed = false;
  readonly #runs: ServerRun[];
  readonly #ends: Record<string, RunEnd>;

  constructor(script: { runs?: ServerRun[]; ends?: Record<string, RunEnd> } = {}) {
    this.#runs = script.runs ?? [];
    this.#ends = script.ends ?? {};
  }

  runUrl(id: string): string {
    return `http://ui/${id}`;
  }

  start(request: StartRequest): Promise<void> {
    this.started.push(request);
    return Promise.resolve();
  }

  describe(id: string): Promise<ServerRun | undefined> {
    return Promise.resolve(this.#runs.find((run) => run.id === id));
  }

  list({ taskQueue, limit }: { taskQueue: string; limit: number }): Promise<ServerRun[]> {
    return Promise.resolve(this.#runs.filter((run) => run.taskQueue === taskQueue).slice(0, limit));
  }

  waitForEnd(id: string): Promise<RunEnd> {
    const end = this.#ends[id];
    return end ? Promise.resolve(end) : Promise.reject(new Error(`no end is scripted for ${id}`));
  }

  cancel(id: string): Promise<void> {
    this.cancelled.push(id);
    return Promise.resolve();
  }

  terminate({ id }: { id: string }, reason: string): Promise<void> {
    this.terminated.push({ id, reason });
    return Promise.resolve();
  }

  events(): Promise<ServerEvent[]> {
    return Promise.resolve([]);
  }

  hasWorker(): Promise<boolean> {
    return Promise.resolve(false);
  }

  limits(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  histories(): AsyncIterable<RecordedExecution> {
    throw new Error('histories is not scripted');
  }

  allHistories(): AsyncIterable<RecordedExecution> {
    throw new Error('allHistories is not scripted');
  }

  close(): Promise<void> {
    this.closed = true;
    return Promise.resolve();
  }
}
