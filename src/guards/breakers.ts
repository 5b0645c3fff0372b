import type { BreakerLimits } from '../contract/shared-limits.js';
import type { BreakerVerdict } from '../policy/breaker.js';
import type { SharedState } from '../store/shared-state.js';

/** How long a worker acts on what it last heard of a breaker: what one worker finds out, the others know after this. */
const cacheMs = 1_000;
/** Breakers with keys of their own can be many; the one that was heard of longest ago is forgotten first. */
const maxCached = 1_000;

export interface BreakersOptions {
  monotonicMs?: () => number;
  /** Told each time the store says how a breaker stands. Must not throw. */
  observe?: (name: string, verdict: BreakerVerdict) => void;
}

/** One worker's view of the breakers that all workers share. A probe is only ever granted by the store. */
export class Breakers {
  readonly #shared: SharedState;
  readonly #monotonicMs: () => number;
  readonly #observe: NonNullable<BreakersOptions['observe']>;
  readonly #heard = new Map<string, { verdict: BreakerVerdict; atMs: number }>();

  constructor(shared: SharedState, options: BreakersOptions = {}) {
    this.#shared = shared;
    this.#monotonicMs = options.monotonicMs ?? (() => performance.now());
    this.#observe = options.observe ?? (() => undefined);
  }

  /** Whether a call may go to the backend. `probe` is a lease: `renewProbe` keeps it, any report on its end frees it. */
  async admit(name: string, token: string, leaseMs: number): Promise<BreakerVerdict> {
    return this.#known(name) ?? (await this.renewProbe(name, token, leaseMs));
  }

  async renewProbe(name: string, token: string, leaseMs: number): Promise<BreakerVerdict> {
    return this.#hear(name, await this.#shared.applyShared(name, { kind: 'breaker', type: 'admit', token, leaseMs }));
  }

  /** The backend failed an attempt, or a call after its last one. Returns how the breaker stands now. */
  async failed(
    name: string,
    failure: { token: string; attempts: number; calls: number; limits: BreakerLimits },
  ): Promise<BreakerVerdict> {
    return this.#hear(name, await this.#shared.applyShared(name, { kind: 'breaker', type: 'failed', ...failure }));
  }

  async answered(name: string): Promise<void> {
    this.#hear(name, await this.#shared.applyShared(name, { kind: 'breaker', type: 'answered' }));
  }

  async released(name: string, token: string): Promise<void> {
    this.#hear(name, await this.#shared.applyShared(name, { kind: 'breaker', type: 'released', token }));
  }

  #known(name: string): BreakerVerdict | undefined {
    const heard = this.#heard.get(name);
    if (!heard) return undefined;
    const ageMs = this.#monotonicMs() - heard.atMs;
    if (ageMs >= cacheMs) return undefined;
    if (heard.verdict.type !== 'open') return heard.verdict;
    const retryAfterMs = Math.ceil(heard.verdict.retryAfterMs - ageMs);
    return retryAfterMs > 0 ? { type: 'open', retryAfterMs } : undefined;
  }

  #hear(name: string, verdict: BreakerVerdict): BreakerVerdict {
    this.#observe(name, verdict);
    this.#heard.delete(name);
    // A probe is one call's, not the worker's.
    if (verdict.type !== 'probe') this.#heard.set(name, { verdict, atMs: this.#monotonicMs() });
    const [oldest] = this.#heard.keys();
    if (this.#heard.size > maxCached && oldest !== undefined) this.#heard.delete(oldest);
    return verdict;
  }
}
