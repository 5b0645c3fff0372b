/** Checks what a tool or the configuration says of limits across runs and workers. Each throws `ConfigError`. */
import type { BreakerLimits, LimiterLimits, RetryBudgetLimits } from '../contract/shared-limits.js';
import { ConfigError } from '../config/config-error.js';
import { at, checkInteger, checkNumber, checkObject, refuseUnknownKeys } from '../config/check-options.js';
import { parseDuration } from '../config/duration.js';

export function resolveBreaker(path: string, breaker: unknown, defaults: BreakerLimits): BreakerLimits | null {
  if (breaker === false) return null;
  const given = breaker === undefined ? {} : checkObject(path, breaker);
  refuseUnknownKeys(path, given, Object.keys(defaults));
  return {
    failures: checkInteger(at(path, 'failures'), given['failures'] ?? defaults.failures, 1),
    windowMs: parseDuration(at(path, 'windowMs'), given['windowMs'] ?? defaults.windowMs),
    coolDownMs: parseDuration(at(path, 'coolDownMs'), given['coolDownMs'] ?? defaults.coolDownMs),
  };
}

const limiterKeys = ['requestsPerMinute', 'tokensPerMinute', 'concurrency'] as const satisfies (keyof LimiterLimits)[];

/** `undefined` where nothing is said. A limit of 0 would stop every call for ever, so the least is 1. */
export function resolveLimiter(path: string, limiter: unknown): LimiterLimits | undefined {
  if (limiter === undefined) return undefined;
  const given = checkObject(path, limiter);
  refuseUnknownKeys(path, given, limiterKeys);
  const limits: LimiterLimits = {};
  for (const key of limiterKeys) {
    if (given[key] !== undefined) limits[key] = checkInteger(at(path, key), given[key], 1);
  }
  if (Object.keys(limits).length === 0) {
    throw new ConfigError(path, `expected at least one of ${limiterKeys.join(', ')}`);
  }
  return limits;
}

export function resolveRetryBudget(
  path: string,
  budget: unknown,
  defaults: RetryBudgetLimits,
): RetryBudgetLimits | null {
  if (budget === false) return null;
  const given = budget === undefined ? {} : checkObject(path, budget);
  refuseUnknownKeys(path, given, Object.keys(defaults));
  return {
    tokens: checkNumber(at(path, 'tokens'), given['tokens'] ?? defaults.tokens, 1),
    perSuccess: checkNumber(at(path, 'perSuccess'), given['perSuccess'] ?? defaults.perSuccess, 0),
    perMinute: checkNumber(at(path, 'perMinute'), given['perMinute'] ?? defaults.perMinute, 0),
  };
}
