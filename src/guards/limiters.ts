import type { RateLimits } from '../contract/shared-limits.js';
import type { Charge } from '../policy/token-bucket.js';
import type { SharedState } from '../store/shared-state.js';

/** A wait up to here is slept in the worker's slot; a longer one gives the slot back. */
export const longestSleepMs = 1_000;
/** How long a worker may spend what it was granted ahead. */
const pocketMs = 1_000;
/** Calls granted ahead at most: a worker that dies takes them with it, a second's worth of the limit. */
const maxSpare = 100;

/** What a worker was granted ahead for calls of one limiter, and how many calls came lately. */
interface Pocket {
  left: Charge;
  untilMs: number;
  /** Calls since `sinceMs`: as many are likely to come in the next second. */
  calls: number;
  sinceMs: number;
}

export type LimiterPass =
  /** Charged; to be sent after `waitMs`. */
  { type: 'granted'; waitMs: number } | { type: 'refused'; retryAfterMs: number };

/**
 * One worker's access to the limiters that all workers share. Where calls come often, the next second's are granted
 * ahead, so that not each of them asks the store.
 */
export class Limiters {
  readonly #shared: SharedState;
  readonly #monotonicMs: () => number;
  readonly #pockets = new Map<string, Pocket>();

  constructor(shared: SharedState, monotonicMs: () => number = () => performance.now()) {
    this.#shared = shared;
    this.#monotonicMs = monotonicMs;
  }

  /** Charges one request of about `tokens` tokens. */
  async take(name: string, limits: RateLimits, tokens: number): Promise<LimiterPass> {
    const charge = { requests: 1, tokens };
    const pocket = this.#pocket(name);
    pocket.calls += 1;
    const nowMs = this.#monotonicMs();
    if (nowMs < pocket.untilMs && pocket.left.requests >= 1 && pocket.left.tokens >= tokens) {
      pocket.left = minus(pocket.left, charge);
      return { type: 'granted', waitMs: 0 };
    }
    const returned = pocket.left;
    pocket.left = { requests: 0, tokens: 0 };
    const spare = Math.min(maxSpare, pocket.calls - 1);
    if (nowMs - pocket.sinceMs >= pocketMs) Object.assign(pocket, { calls: 1, sinceMs: nowMs });
    const verdict = await this.#shared.applyShared(name, {
      kind: 'limiter',
      type: 'take',
      limits,
      charge,
      maxWaitMs: longestSleepMs,
      spare,
      returned,
    });
    if (verdict.type === 'refused') return verdict;
    if (verdict.type === 'corrected') throw new TypeError(`limiter ${name}: a take was answered as a correction`);
    pocket.left = plus(pocket.left, { requests: verdict.spare, tokens: verdict.spare * tokens });
    pocket.untilMs = this.#monotonicMs() + pocketMs;
    return { type: 'granted', waitMs: verdict.waitMs };
  }

  /** Charges what was used beyond the estimate; negative numbers give back. */
  async correct(name: string, limits: RateLimits, charge: Charge): Promise<void> {
    if (charge.requests === 0 && (charge.tokens === 0 || limits.tokensPerMinute === undefined)) return;
    await this.#shared.applyShared(name, { kind: 'limiter', type: 'correct', limits, charge });
  }

  #pocket(name: string): Pocket {
    const known = this.#pockets.get(name);
    if (known) return known;
    const pocket: Pocket = { left: { requests: 0, tokens: 0 }, untilMs: 0, calls: 0, sinceMs: this.#monotonicMs() };
    this.#pockets.set(name, pocket);
    return pocket;
  }
}

function plus(a: Charge, b: Charge): Charge {
  return { requests: a.requests + b.requests, tokens: a.tokens + b.tokens };
}

function minus(a: Charge, b: Charge): Charge {
  return plus(a, { requests: -b.requests, tokens: -b.tokens });
}
