/** Limits that hold across runs and workers. The reducers that keep them are in `src/policy`. */

export interface BreakerLimits {
  /** Calls in a row that failed after their attempts which open it; twice as many failed attempts do as well. */
  failures: number;
  /** A pause longer than this between two failures starts the count anew, milliseconds. */
  windowMs: number;
  /** How long it stays open before a probe, milliseconds. */
  coolDownMs: number;
}

/** Absent is no limit. */
export interface RateLimits {
  requestsPerMinute?: number;
  /** Tokens of language models, or of what a tool takes and gives. */
  tokensPerMinute?: number;
}

/** Limits of one tool or model over all runs and workers. */
export interface LimiterLimits extends RateLimits {
  /** Calls at once, over all workers. */
  concurrency?: number;
}

/** How many retries a tool has over all runs and workers, as a bucket of tokens. */
export interface RetryBudgetLimits {
  /** Retries that a full budget holds. */
  tokens: number;
  /** What a success puts back. */
  perSuccess: number;
  /** What a minute puts back, so that a tool which is called rarely finds its budget again. */
  perMinute: number;
}
