import { randomUUID } from 'node:crypto';
import { Context } from '@temporalio/activity';
import type { Outcome, ToolCall } from '../contract/call.js';
import type { Effect } from '../contract/effect.js';
import type { LedgerCall, LedgerVerdict } from '../policy/ledger.js';
import type { RenderedMessage, Store } from '../store/store.js';
import type { ToolLog } from '../tools/tool.js';

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

  /** Aborted when another attempt has taken the call over, or may have: the lease lapsed and could not be renewed. */
  get superseded(): AbortSignal {
    return this.#superseded.signal;
  }

  take(): Promise<LedgerVerdict> {
    return this.#store.applyLedger(this.#key, {
      type: 'claim',
      call: this.#call,
      token: this.#token,
      leaseMs: this.#leaseMs,
      graceMs,
    });
  }

  /**
   * Counts the start of the body. `superseded` where the claim is gone; then nothing may run. An event loop that was
   * blocked for longer than the lease while waiting for the answer makes the start void as well: somebody else may
   * have taken the call over meanwhile.
   */
  async begin(): Promise<LedgerVerdict> {
    const askedAt = performance.now();
    const verdict = await this.#store.applyLedger(this.#key, {
      type: 'begin',
      call: this.#call,
      token: this.#token,
      leaseMs: this.#leaseMs,
      by: { worker: this.#worker, atMs: Date.now() },
    });
    if (verdict.type !== 'accepted') return verdict;
    if (performance.now() - askedAt > this.#leaseMs) {
      await this.end('none', 0);
      return { type: 'superseded', row: verdict.row };
    }
    return verdict;
  }

  /** Keeps lease and activity alive until `stopRenewing`: both die together, one third before the time is over. */
  renew(): void {
    const context = Context.current();
    this.#heldAt = performance.now();
    this.#renewal = setInterval(() => {
      context.heartbeat();
      void this.#renewOnce();
    }, this.#leaseMs / 3);
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
      this.#log.warn('the claim could not be renewed', { key: this.#key, error: String(error) });
      if (performance.now() - this.#heldAt > this.#leaseMs) this.#superseded.abort();
    }
  }

  stopRenewing(): void {
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
    return this.#store.applyLedger(this.#key, { type: 'end', token: this.#token, effect, waitMs });
  }

  /** Writes the outcome and its rendered message together. Where it came too late, says what is stored instead, if anything. */
  async settle(
    outcome: Outcome,
    rendered: RenderedMessage,
  ): Promise<{ late: false; outcome: Outcome } | { late: true; stored: Outcome | undefined }> {
    const verdict = await this.#store.applyLedger(this.#key, { type: 'settle', token: this.#token, outcome }, rendered);
    if (verdict.type === 'accepted') return { late: false, outcome };
    return { late: true, stored: verdict.row?.outcome };
  }
}
