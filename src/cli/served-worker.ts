import { PerdureError } from '../client/perdure-error.js';
import type { DevServer } from '../server/dev-server.js';
import type { LocalWorker } from './local-worker.js';

/** A worker and the embedded server that it works for. */
export class ServedWorker implements LocalWorker {
  readonly taskQueue: string;
  readonly healthUrl?: string;
  readonly metricsUrl?: string;
  readonly broken: Promise<never>;
  readonly #worker: LocalWorker;
  readonly #server: DevServer;
  #isStopping = false;

  constructor(worker: LocalWorker, server: DevServer) {
    this.#worker = worker;
    this.#server = server;
    this.taskQueue = worker.taskQueue;
    if (worker.healthUrl !== undefined) this.healthUrl = worker.healthUrl;
    if (worker.metricsUrl !== undefined) this.metricsUrl = worker.metricsUrl;
    this.broken = Promise.race([worker.broken, this.#serverBroken()]);
    this.broken.catch(() => undefined);
  }

  async #serverBroken(): Promise<never> {
    await this.#server.ended;
    if (this.#isStopping) return await new Promise(() => undefined);
    throw new PerdureError('server_unreachable', 'The embedded Temporal server has ended by itself.', {
      next: `Its log: ${this.#server.logPath}`,
    });
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#worker.stop();
    await this.#server.stop();
  }
}
