import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClassifiedFailure } from '../contract/failure.js';
import type { Json } from '../contract/json.js';
import type { ToolPolicy } from '../contract/manifest.js';
import { digestOf } from '../policy/idempotency-key.js';
import { failureClasses } from '../policy/failure-classes.js';
import { estimateTokens } from '../results/tokens.js';
import type { SharedState } from '../store/shared-state.js';
import type { ToolLog } from '../tools/tool.js';
import type { Breakers } from './breakers.js';
import { HeldPlaces } from './held-places.js';
import type { Limiters } from './limiters.js';

/** What the guards of one worker's calls have in common. */
export interface SharedGuards {
  shared: SharedState;
  breakers: Breakers;
  limiters: Limiters;
}

/** One attempt as the guards see it. */
export interface GuardedCall {
  tool: string;
  policy: Pick<ToolPolicy, 'breaker' | 'limiter' | 'retryBudget'>;
  /** The call's idempotency key: its waits are counted under it. */
  key: string;
  /** Within the tool; `undefined` is the tool's one breaker. */
  breakerKey: string | undefined;
  /** Over all tools. */
  lockKey: string | undefined;
  /** About what the call's arguments have. */
  tokens: number;
}

/** Why the call may not start now, as its failure would say it, and when to ask again. */
export interface HeldUp {
  failure: ClassifiedFailure;
  waitMs: number;
}

/**
 * A limiter wait up to here is slept in the worker's slot; a longer one gives the slot back. Never longer than a third of
 * the lease, because nobody sends heartbeats for a call that sleeps.
 */
const longestSleepMs = 1_000;

/** How soon a call asks again for a lock or a place: the holder may end at any moment. Spread, so that waiting calls do not knock in step. */
const knockMs = { least: 250, spread: 750 };

/**
 * What stands between one attempt and its backend besides the ledger: breaker, limiter, lock, in this order. `enter` is
 * asked before the claim; then either `leave` alone (nothing was sent), or one report on the attempt's end and `leave`.
 */
export class CallGuards {
  readonly #guards: SharedGuards;
  readonly #call: GuardedCall;
  readonly #leaseMs: number;
  readonly #random: () => number;
  readonly #log: ToolLog;
  readonly #token = randomUUID();
  readonly #lost = new AbortController();
  readonly #places: HeldPlaces;
  #probing = false;
  #charged = false;
  #begun = false;
  #renewal: NodeJS.Timeout | undefined;

  constructor(
    guards: SharedGuards,
    call: GuardedCall,
    options: { leaseMs: number; random: () => number; log: ToolLog },
  ) {
    this.#guards = guards;
    this.#call = call;
    this.#leaseMs = options.leaseMs;
    this.#places = new HeldPlaces(guards.shared, { token: this.#token, leaseMs: options.leaseMs });
    this.#random = options.random;
    this.#log = options.log;
  }

  /** Aborted when the lock was lost in mid-body: another call may hold it now. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  get fencingToken(): number | undefined {
    const { lockKey } = this.#call;
    return lockKey === undefined ? undefined : this.#places.fenceOf(lockName(lockKey));
  }

  /**
   * `undefined` where the attempt may start; what was taken is held until `leave`. Otherwise nothing is held, and the
   * caller gives its worker slot back for `waitMs`. Short limiter waits are slept here; `signal` ends them early.
   */
  async enter(signal: AbortSignal): Promise<HeldUp | undefined> {
    try {
      const held = (await this.#passBreaker()) ?? (await this.#passLimiter(signal)) ?? (await this.#takePlaces());
      if (held) await this.leave();
      else this.#renewRegularly();
      return held;
    } catch (error) {
      await this.leave();
      throw error;
    }
  }

  /** The body is about to start: what it was charged is spent from here on. */
  begin(): void {
    this.#begun = true;
  }

  /** Whether a wait fits what the call may still wait in all; then it is counted. */
  async mayWait(waitMs: number, budgetMs: number): Promise<boolean> {
    return (await this.#wait(waitMs, budgetMs)).granted;
  }

  /** What the call has waited for guards so far, milliseconds. */
  async waitedMs(): Promise<number> {
    return (await this.#wait(0, Number.MAX_SAFE_INTEGER)).spentMs;
  }

  /** The backend answered with this result, whose tokens are charged on top of the estimate. */
  async succeeded(result: Json): Promise<void> {
    const { tool, policy } = this.#call;
    const counts = policy.limiter?.tokensPerMinute !== undefined;
    const tokens = counts ? estimateTokens(JSON.stringify(result)) : 0;
    await Promise.all([
      this.#answered(),
      policy.retryBudget &&
        this.#guards.shared.applyShared(tool, { kind: 'retries', type: 'succeeded', limits: policy.retryBudget }),
      this.correctTokens(tokens),
    ]);
  }

  /** Charges what was used beyond the estimate, or gives back what was not. */
  async correctTokens(tokens: number): Promise<void> {
    const { tool, policy } = this.#call;
    if (policy.limiter) await this.#guards.limiters.correct(tool, policy.limiter, { requests: 0, tokens });
  }

  /**
   * An attempt's body ended in a failure. Returns how long the breaker stays open now, milliseconds; 0 where it is not.
   * What the table does not count against the backend is an answer of it.
   */
  async attemptFailed(failure: ClassifiedFailure): Promise<number> {
    if (!countsAgainstBackend(failure)) {
      await this.#answered();
      return 0;
    }
    return await this.#failed({ attempts: 1, calls: 0 });
  }

  /** The call ended with this failure: no attempt follows. */
  async callFailed(failure: ClassifiedFailure): Promise<void> {
    if (countsAgainstBackend(failure)) await this.#failed({ attempts: 0, calls: 1 });
  }

  /** Whether the tool has a retry left; then it is taken. */
  async takeRetry(): Promise<boolean> {
    const { tool, policy } = this.#call;
    if (!policy.retryBudget) return true;
    const taken = await this.#guards.shared.applyShared(tool, {
      kind: 'retries',
      type: 'take',
      limits: policy.retryBudget,
    });
    return taken.granted;
  }

  /** Gives back what is still held. Never throws: a lease that cannot be given back lapses. */
  async leave(): Promise<void> {
    clearInterval(this.#renewal);
    const { breakers, limiters } = this.#guards;
    const { tool, policy, tokens } = this.#call;
    const ended = await Promise.allSettled([
      ...this.#places.release(),
      ...(this.#probing ? [breakers.released(this.#breakerName(), this.#token)] : []),
      ...(this.#charged && !this.#begun && policy.limiter
        ? [limiters.correct(tool, policy.limiter, { requests: -1, tokens: -tokens })]
        : []),
    ]);
    this.#probing = false;
    this.#charged = false;
    for (const end of ended) {
      if (end.status === 'rejected') {
        this.#log.warn('a guard was not given back; it lapses by itself', { tool, error: String(end.reason) });
      }
    }
  }

  async #passBreaker(): Promise<HeldUp | undefined> {
    if (!this.#call.policy.breaker) return undefined;
    const verdict = await this.#guards.breakers.admit(this.#breakerName(), this.#token, this.#leaseMs);
    this.#probing = verdict.type === 'probe';
    if (verdict.type !== 'open') return undefined;
    const { retryAfterMs } = verdict;
    return {
      failure: { class: 'tool_temporarily_disabled', effectState: 'none', retryAfterMs },
      waitMs: retryAfterMs,
    };
  }

  async #passLimiter(signal: AbortSignal): Promise<HeldUp | undefined> {
    const { tool, policy, tokens } = this.#call;
    const { limiter } = policy;
    if (!limiter || (limiter.requestsPerMinute === undefined && limiter.tokensPerMinute === undefined)) {
      return undefined;
    }
    const pass = await this.#guards.limiters.take(tool, limiter, tokens, Math.min(longestSleepMs, this.#leaseMs / 3));
    if (pass.type === 'refused') {
      const { retryAfterMs } = pass;
      return { ...limited('its limit for a minute is used up', retryAfterMs), waitMs: retryAfterMs + this.#knock() };
    }
    this.#charged = true;
    // An aborted sleep is no error: what aborted it is looked at just before the body.
    if (pass.waitMs > 0) await sleep(pass.waitMs, undefined, { signal }).catch(() => undefined);
    return undefined;
  }

  async #takePlaces(): Promise<HeldUp | undefined> {
    const { tool, policy, lockKey } = this.#call;
    const { concurrency } = policy.limiter ?? {};
    if (concurrency !== undefined && !(await this.#places.take(`tool:${tool}`, concurrency))) {
      return limited(`${concurrency} of its calls are running, which is its limit`, this.#knock());
    }
    if (lockKey === undefined || (await this.#places.take(lockName(lockKey), 1))) return undefined;
    const waitMs = this.#knock();
    return {
      failure: {
        class: 'conflict_in_progress',
        effectState: 'none',
        retryAfterMs: waitMs,
        reason: 'another call that must not run at the same time has not ended',
        hint: 'Go on with other work and make this call again later',
        public: true,
      },
      waitMs,
    };
  }

  /** Every third of the lease, from the entry on: waiting for the ledger and the server counts too. */
  #renewRegularly(): void {
    if (this.#places.isEmpty && !this.#probing) return;
    this.#renewal = setInterval(() => void this.#renew(), this.#leaseMs / 3);
    this.#renewal.unref();
  }

  async #renew(): Promise<void> {
    const { breakers } = this.#guards;
    try {
      const [held] = await Promise.all([
        this.#places.renew(),
        this.#probing && breakers.renewProbe(this.#breakerName(), this.#token, this.#leaseMs),
      ]);
      if (!held) this.#lost.abort();
    } catch (error) {
      this.#log.warn('a lock could not be renewed', { tool: this.#call.tool, error: String(error) });
      if (this.#places.mayHaveLapsed) this.#lost.abort();
    }
  }

  async #answered(): Promise<void> {
    if (!this.#call.policy.breaker) return;
    this.#probing = false;
    await this.#guards.breakers.answered(this.#breakerName());
  }

  async #failed(failed: { attempts: number; calls: number }): Promise<number> {
    const { breaker: limits } = this.#call.policy;
    if (!limits) return 0;
    this.#probing = false;
    const verdict = await this.#guards.breakers.failed(this.#breakerName(), { token: this.#token, ...failed, limits });
    return verdict.type === 'open' ? verdict.retryAfterMs : 0;
  }

  #wait(waitMs: number, budgetMs: number): Promise<{ granted: boolean; spentMs: number }> {
    return this.#guards.shared.applyShared(this.#call.key, { kind: 'wait', waitMs, budgetMs });
  }

  #breakerName(): string {
    const { tool, breakerKey } = this.#call;
    return breakerKey === undefined ? tool : `${tool}:${shortName(breakerKey)}`;
  }

  #knock(): number {
    return Math.ceil(knockMs.least + this.#random() * knockMs.spread);
  }
}

/** Whether a failure says that the backend is in trouble, by the failure table. */
function countsAgainstBackend(failure: ClassifiedFailure): boolean {
  return failureClasses[failure.class].breaker === 'counts';
}

function limited(reason: string, waitMs: number): HeldUp {
  return {
    failure: { class: 'rate_limit', effectState: 'none', retryAfterMs: waitMs, reason, public: true },
    waitMs,
  };
}

function lockName(key: string): string {
  return `key:${shortName(key)}`;
}

/** A person's key stays readable; a long one becomes its digest. */
function shortName(key: string): string {
  return key.length <= 100 ? key : digestOf(key);
}
