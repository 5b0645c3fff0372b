/**
 * The retry rule: whether a body may be started again, and after which wait. The executor is the only layer that retries,
 * and this is the only place where it decides to. Time and chance are arguments.
 */
import type { Effect, EffectState } from '../contract/effect.js';
import type { ClassifiedFailure, FailureClass } from '../contract/failure.js';
import type { ToolPolicy } from '../contract/manifest.js';
import { failureClasses } from './failure-classes.js';
import type { FormerStart } from '../contract/ledger.js';

/** What is known of a call when one of its starts has ended in a failure. */
export interface RetryQuestion {
  failure: ClassifiedFailure;
  policy: ToolPolicy;
  /** Starts of the body so far, the ended one included. */
  starts: number;
  /** Of these, starts before a person had the call run again: they are no attempts any more. Default 0. */
  startsBefore?: number;
  /** Time used up by attempts and the waits between them, milliseconds. */
  spentMs: number;
  /** Some earlier start may have had its effect, and nothing has proved that it did not. */
  mayHaveHappened: boolean;
  firstStartAtMs?: number;
  nowMs: number;
  cancelled: boolean;
  /** In [0, 1). */
  random: number;
  /** Equal arguments timed out before while other calls of the tool succeed. */
  timedOutBefore?: boolean;
  /** The tool's credentials were renewed in this call already. */
  refreshed?: boolean;
  /** How long the tool's breaker stays open: no start before that. Default 0. */
  breakerRestMs?: number;
  /** Whether the tool's retry budget has a token. Default true. */
  retryToken?: boolean;
}

export type RetryRefusal =
  | 'cancelled'
  /** The class is never run again, whatever anybody says. */
  | 'final_class'
  /** `retry: 'never'`. */
  | 'owner_never'
  /** `retry: 'model'`: the model reads that it may try again. */
  | 'left_to_model'
  /** The backend or the tool said not to. */
  | 'told_not_to'
  | 'attempts_spent'
  /** Running it again might do it twice. */
  | 'effect_unsafe'
  /** The wait, or what is left after it, does not fit the time budget. */
  | 'budget_spent'
  | 'no_retry_token';

export type RetryDecision =
  /** `refresh`: renew the tool's credentials first. */
  { retry: true; delayMs: number; refresh?: true } | { retry: false; because: RetryRefusal };

/** A credential may expire after transient failures used up the usual starts; this bounds the calls that it still rescues. */
const MAX_STARTS_WITH_REFRESH = 4;

/** A start that cannot run for at least this share of its deadline (at most 1 s) would only turn a wait into a timeout. */
const LEAST_RUN_SHARE = 0.1;
const LEAST_RUN_MS = 1_000;

/**
 * Decides whether a body starts again (docs/failures.md). The delay is never negative or NaN, is at least what the backend asked for, and
 * leaves room for the next start within the call's time budget.
 */
export function decideRetry(question: RetryQuestion): RetryDecision {
  const { failure, policy } = question;
  const starts = attemptsOf(question);
  const row = failureClasses[failure.class];
  const override = policy.retry[failure.class];
  if (question.cancelled) return refuse('cancelled');
  if (row.neverAgain) return refuse('final_class');
  if (override?.owner === 'never') return refuse('owner_never');
  if (override?.owner === 'model') return refuse('left_to_model');
  if (failure.shouldRetry === false) return refuse('told_not_to');
  const refresh = row.onceMoreAfterRefresh === true && policy.refreshes && question.refreshed !== true;
  const mostStarts = refresh ? MAX_STARTS_WITH_REFRESH : maxAttemptsOf(question);
  if (starts >= mostStarts) return refuse('attempts_spent');
  if (row.needsKnownWait && failure.retryAfterMs === undefined) return refuse('attempts_spent');
  const { breakerRestMs = 0 } = question;
  const atOnce = refresh && failure.retryAfterMs === undefined && breakerRestMs <= 0;
  const delayMs = atOnce ? 0 : nextDelayMs(question);
  if (!isSafeAgain(question, delayMs ?? 0)) return refuse('effect_unsafe');
  if (delayMs === undefined) return refuse('budget_spent');
  if (question.retryToken === false) return refuse('no_retry_token');
  return refresh ? { retry: true, delayMs, refresh } : { retry: true, delayMs };
}

function attemptsOf({ starts, startsBefore = 0 }: { starts: number; startsBefore?: number }): number {
  return starts - startsBefore;
}

function refuse(because: RetryRefusal): RetryDecision {
  return { retry: false, because };
}

/**
 * Starts that the failure's class allows for this tool in all; Infinity where only time bounds them. An override's number
 * wins over the table's, an explicit "retry" from the backend over the table's single attempt.
 */
export function maxAttemptsOf(question: {
  failure: Pick<ClassifiedFailure, 'class' | 'shouldRetry'>;
  policy: Pick<ToolPolicy, 'retry' | 'eventuallyConsistent'>;
  timedOutBefore?: boolean;
}): number {
  const { failure, policy } = question;
  const row = failureClasses[failure.class];
  const configured = policy.retry[failure.class]?.maxAttempts;
  if (configured !== undefined) return configured;
  if (row.maxAttemptsTimedOutBefore !== undefined && question.timedOutBefore) return row.maxAttemptsTimedOutBefore;
  if (row.maxAttemptsEventually !== undefined && policy.eventuallyConsistent) return row.maxAttemptsEventually;
  if (row.maxAttempts === 'budget') return Infinity;
  if (failure.shouldRetry === true) return Math.max(row.maxAttempts, TOLD_TO_RETRY_ATTEMPTS);
  return row.maxAttempts;
}

/** As for other failures that are said to pass: `external_service_unavailable`. */
const TOLD_TO_RETRY_ATTEMPTS = 3;

/**
 * At least what the backend asked for, plus full jitter up to the doubled base; without a word from the backend the jitter
 * alone, and never 0. The jitter is shortened where only it would break the budget. `undefined` where the wait does not fit.
 */
function nextDelayMs(question: RetryQuestion): number | undefined {
  const { failure, policy, spentMs, random, breakerRestMs = 0 } = question;
  const starts = attemptsOf(question);
  const row = failureClasses[failure.class];
  const override = policy.retry[failure.class];
  const baseMs = override?.baseDelayMs ?? row.backOff.baseDelayMs;
  const maxMs = override?.maxDelayMs ?? row.backOff.maxDelayMs;
  const asked = Math.max(failure.retryAfterMs ?? 0, breakerRestMs);
  const leastMs = asked > 0 ? asked : 1;
  const roomMs = policy.budgetMs - spentMs - Math.min(LEAST_RUN_MS, policy.timeoutMs * LEAST_RUN_SHARE);
  if (!(leastMs <= roomMs)) return undefined;
  const jitterMs = random * Math.min(maxMs, baseMs * 2 ** Math.max(0, starts - 1));
  return Math.ceil(Math.min(Math.max(leastMs, asked + jitterMs), Math.floor(roomMs)));
}

/** Whether a further start after `delayMs` cannot be a second effect. */
function isSafeAgain(question: RetryQuestion, delayMs: number): boolean {
  const { failure, policy, mayHaveHappened } = question;
  if (failure.effectState === 'none' && !mayHaveHappened) return true;
  return !actsOnce(policy.effect, { firstStartAtMs: question.firstStartAtMs, nowMs: question.nowMs + delayMs });
}

/**
 * True where running the tool again may be a second effect: a `once` tool, and a keyed one whose key the backend may have
 * forgotten (`keyTtlMs` after the first start). An unknown first start is taken to be now.
 */
export function actsOnce(effect: Effect, at: { firstStartAtMs?: number | undefined; nowMs: number }): boolean {
  if (effect.kind === 'once') return true;
  if (effect.kind !== 'idempotent' || effect.by !== 'key') return false;
  return at.nowMs - (at.firstStartAtMs ?? at.nowMs) >= effect.keyTtlMs;
}

/** What a claim found of the starts before it. */
export interface FormerStarts {
  former: FormerStart;
  /** The former holder vanished in mid-body: its worker died, or its lease lapsed. */
  lost: boolean;
  policy: ToolPolicy;
  starts: number;
  startsBefore?: number;
  spentMs: number;
  firstStartAtMs?: number;
  nowMs: number;
}

export type MayRunAgain =
  | { run: true }
  /** A start may have had its effect and another may double it: ask `reconcile`, else the outcome is unknown. */
  | { run: false; because: 'reconcile' }
  /** The call ends as the timeout that a lost worker is. */
  | { run: false; because: 'attempts_spent' | 'budget_spent' };

/**
 * Whether an attempt that was granted the claim may start the body. A worker that was lost in mid-body counts as a timeout,
 * so that a tool which kills its worker still ends.
 */
export function mayRunAgain(found: FormerStarts): MayRunAgain {
  const { former, lost, policy, spentMs } = found;
  const starts = attemptsOf(found);
  if (former === 'unknown' && actsOnce(policy.effect, found)) return { run: false, because: 'reconcile' };
  const lostAttempts = maxAttemptsOf({ failure: { class: 'timeout' }, policy });
  if (lost && starts >= lostAttempts) return { run: false, because: 'attempts_spent' };
  if (starts > 0 && spentMs >= policy.budgetMs) return { run: false, because: 'budget_spent' };
  return { run: true };
}

/** Classes that mean "no answer", rather than an answer. */
export function losesAnswer(failureClass: FailureClass): boolean {
  return failureClasses[failureClass].losesAnswer === true;
}

/**
 * The failure that a call ends with, once it is not started again. Where the answer was lost and the tool must not be run
 * twice, the class becomes `outcome_unknown`; an effect that an earlier start may have had stays possible, whatever the last
 * one proved; a tool that only reads leaves nothing behind.
 */
export function lostAnswer(
  failure: ClassifiedFailure,
  call: { effect: Effect; mayHaveHappened: boolean; firstStartAtMs?: number; nowMs: number },
): ClassifiedFailure {
  if (call.effect.kind === 'read') return { ...failure, effectState: failure.effectState === 'done' ? 'done' : 'none' };
  const effectState: EffectState =
    failure.effectState === 'none' && call.mayHaveHappened ? 'unknown' : failure.effectState;
  if (effectState !== 'unknown' || !losesAnswer(failure.class) || !actsOnce(call.effect, call)) {
    return { ...failure, effectState };
  }
  const { code: _code, retryAfterMs: _retryAfterMs, shouldRetry: _shouldRetry, ...kept } = failure;
  return { ...kept, class: 'outcome_unknown', effectState };
}
