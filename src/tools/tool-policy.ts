import type { Effect } from '../contract/effect.js';
import type { RetryOverride, ToolPolicy } from '../contract/manifest.js';
import { ConfigError } from '../config/config-error.js';
import {
  at,
  checkBoolean,
  checkInteger,
  checkObject,
  checkOneOf,
  checkText,
  didYouMean,
  refuseUnknownKeys,
  shown,
} from '../config/check-options.js';
import { parseDuration } from '../config/duration.js';
import { resolveBreaker, resolveLimiter, resolveRetryBudget } from './shared-limits.js';
import { failureClassNames } from '../policy/failure-classes.js';
import type { ToolOptions } from './tool.js';

/**
 * A tool's policy where it says nothing.
 * - `effect`: a tool that declares nothing is never run again after a lost answer.
 * - `breaker`: 5 in a row is past chance even for a backend that fails every second call (3 %), and 30 s is what a restart
 *   or a failover takes; 10 min are several whole time budgets of calls that fail slowly.
 * - `retryBudget`: the AWS SDKs' standard mode has 500 tokens, takes 5 a retry and puts 1 back a success, which is this;
 *   the 10 a minute let a tool that is called rarely retry again after an outage.
 * - `maxOutputBytes`: 10 MiB, well above what a model can read and well below what hurts a worker's memory.
 */
export const toolDefaults = {
  effect: { kind: 'once' },
  timeoutMs: 30_000,
  budgetMs: 120_000,
  retry: {},
  reconciles: false,
  refreshes: false,
  eventuallyConsistent: false,
  polling: false,
  maxOutputBytes: 10 * 1024 * 1024,
  failureOutput: 'summary',
  errors: 'redacted',
  breaker: { failures: 5, windowMs: 600_000, coolDownMs: 30_000 },
  limiter: null,
  retryBudget: { tokens: 100, perSuccess: 0.2, perMinute: 10 },
  exclusive: false,
} as const satisfies ToolPolicy;

/** Budget of a tool with `latency: 'interactive'`: as long as a person waits before giving up (Nielsen's 10 s). */
export const interactiveBudgetMs = 10_000;

/** How long a backend honours an idempotency key: 24 h is what Stripe documents as its least. */
export const defaultKeyTtlMs = 24 * 3_600_000;

type PolicyOptions = Pick<
  ToolOptions<unknown, unknown>,
  | 'effect'
  | 'timeoutMs'
  | 'budgetMs'
  | 'latency'
  | 'retry'
  | 'polling'
  | 'eventuallyConsistent'
  | 'taskQueue'
  | 'maxOutputBytes'
  | 'failureOutput'
  | 'errors'
  | 'breaker'
  | 'limiter'
  | 'retryBudget'
> & { reconcile?: unknown; refresh?: unknown; exclusive?: unknown };

/** Resolves every default of a tool's policy. Throws `ConfigError` with the path under `path` and the value. */
export function resolvePolicy(path: string, options: PolicyOptions, defaultEffect?: Effect): ToolPolicy {
  const { polling, eventuallyConsistent, maxOutputBytes, failureOutput, errors, taskQueue } = options;
  return {
    effect: resolveEffect(at(path, 'effect'), options.effect, defaultEffect),
    ...resolveTimes(path, options),
    retry: resolveRetry(at(path, 'retry'), options.retry),
    reconciles: options.reconcile !== undefined,
    refreshes: options.refresh !== undefined,
    eventuallyConsistent: checkBoolean(
      at(path, 'eventuallyConsistent'),
      eventuallyConsistent ?? toolDefaults.eventuallyConsistent,
    ),
    polling: checkBoolean(at(path, 'polling'), polling ?? toolDefaults.polling),
    maxOutputBytes: checkInteger(at(path, 'maxOutputBytes'), maxOutputBytes ?? toolDefaults.maxOutputBytes, 1),
    failureOutput: checkOneOf(at(path, 'failureOutput'), failureOutput ?? toolDefaults.failureOutput, [
      'summary',
      'verbatim',
    ]),
    errors: checkOneOf(at(path, 'errors'), errors ?? toolDefaults.errors, ['redacted', 'public']),
    breaker: resolveBreaker(at(path, 'breaker'), options.breaker, toolDefaults.breaker),
    limiter: resolveLimiter(at(path, 'limiter'), options.limiter) ?? toolDefaults.limiter,
    retryBudget: resolveRetryBudget(at(path, 'retryBudget'), options.retryBudget, toolDefaults.retryBudget),
    exclusive: options.exclusive !== undefined,
    ...(taskQueue === undefined ? {} : { taskQueue: checkText(at(path, 'taskQueue'), taskQueue) }),
  };
}

function resolveEffect(path: string, effect: PolicyOptions['effect'], defaultEffect?: Effect): Effect {
  if (effect === undefined) return defaultEffect ?? toolDefaults.effect;
  if (effect === 'read' || effect === 'once') return { kind: effect };
  if (typeof effect !== 'object' || (effect as unknown) === null) {
    throw new ConfigError(
      path,
      `expected 'read', 'once', { idempotent: 'key' } or { idempotent: 'nature' }, got ${shown(effect)}`,
    );
  }
  const by = checkOneOf(at(path, 'idempotent'), effect.idempotent, ['key', 'nature']);
  if (by === 'nature') {
    refuseUnknownKeys(path, effect, ['idempotent']);
    return { kind: 'idempotent', by };
  }
  refuseUnknownKeys(path, effect, ['idempotent', 'keyTtlMs']);
  const { keyTtlMs } = effect as { keyTtlMs?: unknown };
  return {
    kind: 'idempotent',
    by,
    keyTtlMs:
      keyTtlMs === undefined
        ? defaultKeyTtlMs
        : parseDuration(at(path, 'keyTtlMs'), keyTtlMs, { maxMs: Number.MAX_SAFE_INTEGER }),
  };
}

/** The undeclared one of timeout and budget gives way to the declared one; a contradiction of both is refused. */
function resolveTimes(path: string, options: PolicyOptions): { timeoutMs: number; budgetMs: number } {
  const latency =
    options.latency === undefined
      ? 'background'
      : checkOneOf(at(path, 'latency'), options.latency, ['interactive', 'background']);
  const usualBudgetMs = latency === 'interactive' ? interactiveBudgetMs : toolDefaults.budgetMs;
  const timeoutMs =
    options.timeoutMs === undefined ? undefined : parseDuration(at(path, 'timeoutMs'), options.timeoutMs);
  if (options.budgetMs === undefined) {
    const resolved = timeoutMs ?? Math.min(toolDefaults.timeoutMs, usualBudgetMs);
    return { timeoutMs: resolved, budgetMs: Math.max(usualBudgetMs, resolved) };
  }
  const budgetMs = parseDuration(at(path, 'budgetMs'), options.budgetMs);
  if (timeoutMs !== undefined && budgetMs < timeoutMs) {
    throw new ConfigError(
      at(path, 'budgetMs'),
      `expected timeoutMs (${String(timeoutMs)}) or more, got ${shown(options.budgetMs)}`,
    );
  }
  return { timeoutMs: timeoutMs ?? Math.min(toolDefaults.timeoutMs, budgetMs), budgetMs };
}

function resolveRetry(path: string, retry: unknown): ToolPolicy['retry'] {
  if (retry === undefined) return { ...toolDefaults.retry };
  const resolved: ToolPolicy['retry'] = {};
  for (const [name, option] of Object.entries(checkObject(path, retry))) {
    const known = failureClassNames.find((candidate) => candidate === name);
    if (!known) throw new ConfigError(at(path, name), `unknown failure class${didYouMean(name, failureClassNames)}`);
    if (option === undefined) continue;
    const override = resolveOverride(at(path, name), option);
    if (known === 'outcome_unknown' && (override.owner === 'executor' || (override.maxAttempts ?? 1) > 1)) {
      throw new ConfigError(
        at(path, name),
        'a lost answer is never run again; declare what a second run does with `effect`, or find out with `reconcile`',
      );
    }
    resolved[known] = override;
  }
  return resolved;
}

const owners = ['executor', 'model', 'never'] as const;

function resolveOverride(path: string, option: unknown): RetryOverride {
  if (typeof option === 'string') return { owner: checkOneOf(path, option, owners) };
  const given = checkObject(path, option);
  refuseUnknownKeys(path, given, ['owner', 'maxAttempts', 'baseDelayMs', 'maxDelayMs']);
  const override: RetryOverride = {};
  if (given['owner'] !== undefined) override.owner = checkOneOf(at(path, 'owner'), given['owner'], owners);
  if (given['maxAttempts'] !== undefined) {
    override.maxAttempts = checkInteger(at(path, 'maxAttempts'), given['maxAttempts'], 1);
  }
  for (const key of ['baseDelayMs', 'maxDelayMs'] as const) {
    if (given[key] !== undefined) override[key] = parseDuration(at(path, key), given[key], { minMs: 0 });
  }
  return override;
}
