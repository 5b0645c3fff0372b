import { randomUUID } from 'node:crypto';
import type { Outcome, ToolCall } from '../contract/call.js';
import type { Effect } from '../contract/effect.js';
import type { LedgerCall, LedgerVerdict } from '../contract/ledger.js';
import type { AskingOfCall, RenderedMessage } from '../store/records.js';
import type { Store } from '../store/store.js';
import type { ToolLog } from '../tools/tool.js';
import { asLatestOfCall } from './asking-execution.js';
import { outlastOutage } from './outlast-outage.js';

/** Beyond the lease: clocks of one machine, and the time a write takes. */
const graceMs = 1_000;

/**
 * One attempt's hold on a call: a random token in the ledger with a lease that is renewed while the body runs. Every
 * question of who may run is answered by the ledger's transition on the store's clock, never by attempt numbers.
 */
export class Claim {
  readonly #store: Store;
  readonly #key: string;
  readonly #call: LedgerCall;
  readonly #worker: string;
  readonly #leaseMs: number;
  readonly #token = randomUUID();
  readonly #superseded = new AbortController();
  readonly #log: ToolLog;
  #renewal: NodeJS.Timeout | undefined;
  /** Calls of `renewedWhile` under way, one inside the other. */
  #holders = 0;
  /** When the lease was last known to hold, on this process's own monotonic clock. */
  #heldAt = 0;

  constructor(options: {
    store: Store;
    call: ToolCall;
    effect: Effect;
    /** Identity of this worker. */
    worker: string;
    leaseMs: number;
    log: ToolLog;
  }) {
    const { runKey, callId, tool, digest, key } = options.call;
    this.#store = options.store;
    this.#key = key;
    this.#call = { runKey, callId, tool, digest, effect: options.effect };
    this.#worker = options.worker;
    this.#leaseMs = options.leaseMs;
    this.#log = options.log;
  }

  get tool(): string {
    return this.#call.tool;
  }

  /** Aborted when another attempt has taken the call over, or may have: the lease lapsed and could not be renewed. */
  get superseded(): AbortSignal {
    return this.#superseded.signal;
  }

  take(): Promise<LedgerVerdict> {
    const event = { type: 'claim', call: this.#call, token: this.#token, leaseMs: this.#leaseMs, graceMs } as const;
    return this.#asLatest((by) => this.#store.applyLedger(this.#key, event, undefined, by));
  }

  /** Counts the start of the body. `superseded` where the claim is gone; then nothing may run. */
  async begin(): Promise<LedgerVerdict> {
    const askedAt = performance.now();
    const event = {
      type: 'begin',
      call: this.#call,
      token: this.#token,
      leaseMs: this.#leaseMs,
      by: { worker: this.#worker, atMs: Date.now() },
    } as const;
    const apply = (by?: AskingOfCall) => this.#store.applyLedger(this.#key, event, undefined, by);
    // A read has no claim whose token would say it.
    const verdict = await (this.#call.effect.kind === 'read' ? this.#asLatest(apply) : apply());
    if (verdict.type === 'accepted') this.#heldAt = askedAt;
    return verdict;
  }

  #asLatest(ask: (by: AskingOfCall | undefined) => Promise<LedgerVerdict>): Promise<LedgerVerdict> {
    const services = { store: this.#store, log: this.#log, heartbeatTimeoutMs: this.#leaseMs };
    return asLatestOfCall(services, this.#call.runKey, ask);
  }

  /**
   * True where the lease may have lapsed since `begin` was asked: the event loop was blocked, or the process stopped.
   * Somebody else may have taken the call over meanwhile, so the body must not run. To be asked in the same turn of the
   * event loop as the body's start: calls that began together may be held up by the first one's body.
   */
  hasOverslept(): boolean {
    return performance.now() - this.#heldAt > this.#leaseMs;
  }

  /** Renews the lease while `run` does. */
  async renewedWhile<T>(run: () => Promise<T>): Promise<T> {
    this.#holders += 1;
    this.#renewal ??= setInterval(() => void this.#renewOnce(), this.#leaseMs / 3);
    try {
      return await run();
    } finally {
      this.#holders -= 1;
      if (this.#holders === 0) this.#stopRenewing();
    }
  }

  async #renewOnce(): Promise<void> {
    const askedAt = performance.now();
    try {
      const verdict = await this.#store.applyLedger(this.#key, {
        type: 'renew',
        token: this.#token,
        leaseMs: this.#leaseMs,
      });
      if (verdict.type === 'accepted') this.#heldAt = askedAt;
      else this.#superseded.abort();
    } catch (error) {
      this.#log.warn('the claim could not be renewed', { tool: this.tool, key: this.#key, error: String(error) });
      if (performance.now() - this.#heldAt > this.#leaseMs) this.#superseded.abort();
    }
  }

  #stopRenewing(): void {
    clearInterval(this.#renewal);
    this.#renewal = undefined;
  }

  async fenced(): Promise<void> {
    await this.#store.applyLedger(this.#key, { type: 'fenced', token: this.#token });
  }

  async giveBack(): Promise<void> {
    await this.#store.applyLedger(this.#key, { type: 'giveBack', token: this.#token });
  }

  /** The attempt ended and another follows after `waitMs`. */
  end(effect: 'none' | 'unknown', waitMs: number): Promise<LedgerVerdict> {
    return outlastOutage(() => this.#store.applyLedger(this.#key, { type: 'end', token: this.#token, effect, waitMs }));
  }

  /** Writes the outcome and its rendered message together. Where it came too late, says what is stored instead, if anything. */
  async settle(
    outcome: Outcome,
    rendered: RenderedMessage,
  ): Promise<{ late: false; outcome: Outcome } | { late: true; stored: Outcome | undefined }> {
    const verdict = await outlastOutage(() =>
      this.#store.applyLedger(this.#key, { type: 'settle', token: this.#token, outcome }, rendered),
    );
    if (verdict.type === 'accepted') return { late: false, outcome };
    return { late: true, stored: verdict.row?.outcome };
  }
}
