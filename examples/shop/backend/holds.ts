import type { Operation } from './faults.ts';

/** Where in its life a request is stopped: before its effect is committed, or after it and before the answer. */
export type HoldMoment = 'before_commit' | 'after_commit';

export interface HeldRequest {
  operation: Operation;
  moment: HoldMoment;
  idempotencyKey: string | undefined;
}

interface Waiting {
  request: HeldRequest;
  release: () => void;
}

/**
 * Stops chosen requests until they are let go, so that a test or a demo can kill a client at an exact moment. A hold
 * stops one request. A request whose client goes away while it is held is not carried on.
 */
export class Holds {
  readonly #armed: { operation: Operation; moment: HoldMoment }[] = [];
  readonly #waiting = new Set<Waiting>();
  readonly #watchers = new Set<() => void>();

  /** Stops the next request of that operation. */
  arm(operation: Operation, moment: HoldMoment): void {
    this.#armed.push({ operation, moment });
  }

  /** Forgets what is armed and lets every held request go on. */
  releaseAll(): void {
    this.#armed.length = 0;
    for (const waiting of this.#waiting) waiting.release();
  }

  held(): HeldRequest[] {
    return [...this.#waiting].map(({ request }) => request);
  }

  /** Resolves with the held requests once there is one, or with none after `timeoutMs` or when `gone` is aborted. */
  async waitForHeld(timeoutMs: number, gone: AbortSignal): Promise<HeldRequest[]> {
    if (this.#waiting.size > 0) return this.held();
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, timeoutMs);
    this.#watchers.add(resolve);
    gone.addEventListener('abort', () => resolve(), { once: true });
    await promise;
    clearTimeout(timer);
    this.#watchers.delete(resolve);
    return this.held();
  }

  /** Waits here if a hold is armed for it. Rejects when the client goes away. */
  async reach(request: HeldRequest, clientGone: AbortSignal): Promise<void> {
    const index = this.#armed.findIndex(
      ({ operation, moment }) => operation === request.operation && moment === request.moment,
    );
    if (index === -1) return;
    this.#armed.splice(index, 1);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiting: Waiting = { request, release: resolve };
    const onGone = () => reject(new Error('the client went away'));
    clientGone.addEventListener('abort', onGone, { once: true });
    if (clientGone.aborted) onGone();
    this.#waiting.add(waiting);
    for (const watcher of this.#watchers) watcher();
    try {
      await promise;
    } finally {
      this.#waiting.delete(waiting);
      clientGone.removeEventListener('abort', onGone);
    }
  }
}
