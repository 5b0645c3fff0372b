import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Effect } from '../../src/contract/effect.js';
import type { ClassifiedFailure, FailureClass } from '../../src/contract/failure.js';
import { failureClassNames, failureClasses } from '../../src/policy/failure-classes.js';
import {
  actsOnce,
  decideRetry,
  lostAnswer,
  maxAttemptsOf,
  mayRunAgain,
  type RetryQuestion,
} from '../../src/policy/retry-rule.js';
import { toolPolicy } from './fixtures.js';

const nowMs = 1_800_000_000_000;
const read = toolPolicy({ effect: { kind: 'read' } });
const once = toolPolicy({ effect: { kind: 'once' } });
const keyed = toolPolicy();

function failed(failureClass: FailureClass, more: Partial<ClassifiedFailure> = {}): ClassifiedFailure {
  return { class: failureClass, effectState: failureClasses[failureClass].effectState, ...more };
}

function ask(failure: ClassifiedFailure, more: Partial<RetryQuestion> = {}) {
  return decideRetry({
    failure,
    policy: keyed,
    starts: 1,
    spentMs: 0,
    mayHaveHappened: false,
    firstStartAtMs: nowMs,
    nowMs,
    cancelled: false,
    random: 0.5,
    ...more,
  });
}
const again = (delayMs: number) => ({ retry: true, delayMs });
const stop = (because: string) => ({ retry: false, because });

describe('attempts', () => {
  test.each(failureClassNames)('%s gets as many starts as the table says', (failureClass) => {
    const row = failureClasses[failureClass];
    const most = row.neverAgain ? 1 : row.maxAttempts;
    const failure = failed(failureClass, row.needsKnownWait ? { retryAfterMs: 10 } : {});
    let starts = 1;
    while (starts < 10 && ask(failure, { policy: read, starts, random: 0 }).retry) starts += 1;
    expect(starts).toBe(most === 'budget' ? 10 : most);
  });

  test('something just created may be looked for three times', () => {
    const eventually = toolPolicy({ eventuallyConsistent: true });
    expect(ask(failed('not_found'), { policy: eventually, starts: 2 })).toEqual(again(1_000));
    expect(ask(failed('not_found'), { policy: eventually, starts: 3 })).toEqual(stop('attempts_spent'));
    expect(ask(failed('not_found'))).toEqual(stop('attempts_spent'));
  });

  test('arguments that timed out before get one start only', () => {
    expect(ask(failed('timeout'))).toEqual(again(500));
    expect(ask(failed('timeout'), { timedOutBefore: true })).toEqual(stop('attempts_spent'));
  });

  test('credentials are renewed once, also after transient failures', () => {
    const refreshes = toolPolicy({ refreshes: true });
    expect(ask(failed('auth_failed'), { policy: refreshes })).toEqual({ retry: true, delayMs: 0, refresh: true });
    expect(ask(failed('auth_failed'), { policy: refreshes, starts: 3 })).toEqual({
      retry: true,
      delayMs: 0,
      refresh: true,
    });
    expect(ask(failed('auth_failed'), { policy: refreshes, starts: 4 })).toEqual(stop('attempts_spent'));
    expect(ask(failed('auth_failed'), { policy: refreshes, starts: 2, refreshed: true })).toEqual(
      stop('attempts_spent'),
    );
    expect(ask(failed('auth_failed'))).toEqual(stop('attempts_spent'));
  });

  test('a breaker is waited for only where it says when it closes', () => {
    expect(ask(failed('tool_temporarily_disabled', { retryAfterMs: 30_000 }), { random: 0, starts: 0 })).toEqual(
      again(30_000),
    );
    expect(ask(failed('tool_temporarily_disabled'), { starts: 0 })).toEqual(stop('attempts_spent'));
  });

  test('an override changes the number, for one class of one tool', () => {
    const policy = toolPolicy({ retry: { server_error: { maxAttempts: 5 }, timeout: { maxAttempts: 1 } } });
    expect(ask(failed('server_error'), { policy, starts: 4, random: 0 })).toEqual(again(1));
    expect(ask(failed('server_error'), { policy, starts: 5 })).toEqual(stop('attempts_spent'));
    expect(ask(failed('timeout'), { policy })).toEqual(stop('attempts_spent'));
    expect(ask(failed('network_error'), { policy, starts: 2 })).toEqual(again(1_000));
  });
});

describe('who decides', () => {
  test('an owner other than the executor', () => {
    expect(
      ask(failed('network_error'), { policy: toolPolicy({ retry: { network_error: { owner: 'never' } } }) }),
    ).toEqual(stop('owner_never'));
    expect(
      ask(failed('network_error'), { policy: toolPolicy({ retry: { network_error: { owner: 'model' } } }) }),
    ).toEqual(stop('left_to_model'));
    expect(
      ask(failed('network_error'), { policy: toolPolicy({ retry: { network_error: { owner: 'executor' } } }) }).retry,
    ).toBe(true);
  });

  test('the backend, which may refuse or ask for a retry', () => {
    expect(ask(failed('network_error', { shouldRetry: false }))).toEqual(stop('told_not_to'));
    expect(ask(failed('business_rule_violation', { shouldRetry: true }), { starts: 2 }).retry).toBe(true);
    expect(ask(failed('business_rule_violation', { shouldRetry: true }), { starts: 3 })).toEqual(
      stop('attempts_spent'),
    );
    const one = toolPolicy({ retry: { business_rule_violation: { maxAttempts: 1 } } });
    expect(ask(failed('business_rule_violation', { shouldRetry: true }), { policy: one })).toEqual(
      stop('attempts_spent'),
    );
  });

  test('cancellation, before anything else', () => {
    expect(ask(failed('rate_limit'), { cancelled: true })).toEqual(stop('cancelled'));
  });

  test('nobody, where a class is final', () => {
    const policy = toolPolicy({
      effect: { kind: 'read' },
      retry: { outcome_unknown: { owner: 'executor', maxAttempts: 9 } },
    });
    expect(ask(failed('outcome_unknown', { shouldRetry: true, effectState: 'none' }), { policy })).toEqual(
      stop('final_class'),
    );
  });

  test('the retry budget, last', () => {
    expect(ask(failed('network_error'), { retryToken: false })).toEqual(stop('no_retry_token'));
    expect(ask(failed('network_error'), { retryToken: true }).retry).toBe(true);
  });
});

describe('safety', () => {
  test('a once tool runs again only after a start that proved no effect', () => {
    expect(ask(failed('rate_limit'), { policy: once })).toEqual(again(500));
    expect(ask(failed('rate_limit', { effectState: 'unknown' }), { policy: once })).toEqual(stop('effect_unsafe'));
    expect(ask(failed('network_error'), { policy: once })).toEqual(stop('effect_unsafe'));
    expect(ask(failed('network_error', { effectState: 'none' }), { policy: once })).toEqual(again(500));
    expect(ask(failed('network_error', { effectState: 'none' }), { policy: once, mayHaveHappened: true })).toEqual(
      stop('effect_unsafe'),
    );
    expect(ask(failed('external_service_unavailable', { retryAfterMs: 5 }), { policy: once })).toEqual(
      stop('effect_unsafe'),
    );
    expect(
      ask(failed('output_invalid'), {
        policy: toolPolicy({ effect: { kind: 'once' }, retry: { output_invalid: { maxAttempts: 3 } } }),
      }),
    ).toEqual(stop('effect_unsafe'));
  });

  test('a keyed tool runs again while the backend remembers its key, at the time of the next start', () => {
    const policy = toolPolicy({ effect: { kind: 'idempotent', by: 'key', keyTtlMs: 10_000 } });
    const at = (ageMs: number, retryAfterMs: number) =>
      ask(failed('network_error', { retryAfterMs }), { policy, nowMs: nowMs + ageMs, random: 0 });
    expect(at(5_000, 4_999)).toEqual(again(4_999));
    expect(at(5_000, 5_000)).toEqual(stop('effect_unsafe'));
    expect(at(10_000, 1)).toEqual(stop('effect_unsafe'));
  });

  test('what is idempotent by nature, and what only reads, may always run again', () => {
    const nature = toolPolicy({ effect: { kind: 'idempotent', by: 'nature' } });
    for (const policy of [nature, read])
      expect(ask(failed('timeout'), { policy, mayHaveHappened: true })).toEqual(again(500));
  });
});

describe('waits', () => {
  test('double from one second to sixty, with full jitter', () => {
    const policy = toolPolicy({ budgetMs: 10_000_000 });
    const delays = [1, 2, 3, 6, 7, 30].map((starts) => ask(failed('rate_limit'), { policy, starts, random: 0.5 }));
    expect(delays).toEqual([500, 1_000, 2_000, 16_000, 30_000, 30_000].map(again));
  });

  test('are short while another attempt holds the key', () => {
    const delays = [1, 2, 20].map((starts) => ask(failed('conflict_in_progress'), { starts, random: 0.5 }));
    expect(delays).toEqual([125, 250, 2_500].map(again));
  });

  test('are never shorter than what was asked for, and never 0', () => {
    expect(ask(failed('rate_limit', { retryAfterMs: 7_000 }), { random: 0 })).toEqual(again(7_000));
    expect(ask(failed('rate_limit', { retryAfterMs: 7_000 }), { random: 0.5 })).toEqual(again(7_500));
    expect(ask(failed('rate_limit'), { random: 0 })).toEqual(again(1));
    expect(ask(failed('rate_limit', { retryAfterMs: 0 }), { random: 0 })).toEqual(again(1));
  });

  test('fit the budget with room for the next start, and lose only their jitter to it', () => {
    const tight = { spentMs: 110_000, random: 0.999 };
    expect(ask(failed('rate_limit', { retryAfterMs: 9_000 }), tight)).toEqual(again(9_000));
    expect(ask(failed('rate_limit', { retryAfterMs: 9_001 }), tight)).toEqual(stop('budget_spent'));
    expect(ask(failed('rate_limit', { retryAfterMs: 8_900 }), tight)).toEqual(again(9_000));
    expect(ask(failed('rate_limit'), { spentMs: 119_000 })).toEqual(stop('budget_spent'));
  });

  test('follow an override', () => {
    const policy = toolPolicy({ retry: { network_error: { baseDelayMs: 100, maxDelayMs: 150 } } });
    expect(ask(failed('network_error'), { policy })).toEqual(again(50));
    expect(ask(failed('network_error'), { policy, starts: 2 })).toEqual(again(75));
  });
});

describe('whatever the question', () => {
  const effects = fc.constantFrom<Effect>(
    { kind: 'read' },
    { kind: 'once' },
    { kind: 'idempotent', by: 'nature' },
    { kind: 'idempotent', by: 'key', keyTtlMs: 60_000 },
  );
  const questions = fc.record({
    failure: fc.record(
      {
        class: fc.constantFrom(...failureClassNames),
        effectState: fc.constantFrom('none', 'done', 'unknown'),
        retryAfterMs: fc.nat(200_000),
        shouldRetry: fc.boolean(),
      },
      { requiredKeys: ['class', 'effectState'] },
    ),
    policy: fc.record({
      effect: effects,
      timeoutMs: fc.integer({ min: 1, max: 100_000 }),
      budgetMs: fc.integer({ min: 1, max: 300_000 }),
      maxAttempts: fc.integer({ min: 1, max: 20 }),
    }),
    starts: fc.nat(20),
    spentMs: fc.nat(300_000),
    mayHaveHappened: fc.boolean(),
    ageMs: fc.nat(120_000),
    random: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
    refreshes: fc.boolean(),
  });

  test('a delay is whole, positive, at least what was asked for, and within the budget; nothing runs twice unsafely', () => {
    fc.assert(
      fc.property(questions, ({ failure, policy, ageMs, refreshes, ...rest }) => {
        const { maxAttempts, ...fields } = policy;
        const resolved = toolPolicy({ ...fields, refreshes, retry: { [failure.class]: { maxAttempts } } });
        const decision = decideRetry({
          ...rest,
          failure,
          policy: resolved,
          nowMs,
          firstStartAtMs: nowMs - ageMs,
          cancelled: false,
        });
        if (!decision.retry) return;
        expect(Number.isSafeInteger(decision.delayMs)).toBe(true);
        expect(decision.delayMs).toBeGreaterThanOrEqual(decision.refresh ? 0 : Math.max(1, failure.retryAfterMs ?? 0));
        if (!decision.refresh) expect(rest.spentMs + decision.delayMs).toBeLessThan(resolved.budgetMs);
        expect(failure.shouldRetry).not.toBe(false);
        expect(failureClasses[failure.class].neverAgain).toBeUndefined();
        const proved = failure.effectState === 'none' && !rest.mayHaveHappened;
        if (resolved.effect.kind === 'once') expect(proved).toBe(true);
        if (!proved)
          expect(actsOnce(resolved.effect, { firstStartAtMs: nowMs - ageMs, nowMs: nowMs + decision.delayMs })).toBe(
            false,
          );
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('mayRunAgain', () => {
  const found = { former: 'unknown' as const, lost: true, starts: 1, spentMs: 0, firstStartAtMs: nowMs, nowMs };
  test('after a start whose end is unknown, a once tool is reconciled, the others run', () => {
    expect(mayRunAgain({ ...found, policy: once })).toEqual({ run: false, because: 'reconcile' });
    expect(mayRunAgain({ ...found, policy: keyed })).toEqual({ run: true });
    expect(mayRunAgain({ ...found, policy: keyed, nowMs: nowMs + 86_400_000 })).toEqual({
      run: false,
      because: 'reconcile',
    });
    expect(mayRunAgain({ ...found, policy: once, former: 'proved-none', lost: false })).toEqual({ run: true });
    expect(mayRunAgain({ ...found, policy: once, former: 'never', lost: false, starts: 0 })).toEqual({ run: true });
  });
  test('a tool that kills its worker ends after the starts of a timeout', () => {
    expect(mayRunAgain({ ...found, policy: keyed, starts: 2 })).toEqual({ run: false, because: 'attempts_spent' });
    expect(mayRunAgain({ ...found, policy: keyed, starts: 2, lost: false })).toEqual({ run: true });
  });
  test('and when its time is used up', () => {
    expect(mayRunAgain({ ...found, policy: keyed, spentMs: 120_000 })).toEqual({ run: false, because: 'budget_spent' });
    expect(mayRunAgain({ ...found, policy: keyed, spentMs: 119_999 })).toEqual({ run: true });
  });
});

describe('lostAnswer', () => {
  const call = { effect: once.effect, mayHaveHappened: false, nowMs };
  test.each(failureClassNames)('%s', (failureClass) => {
    const ended = lostAnswer(failed(failureClass, { effectState: 'unknown', retryAfterMs: 5, reason: 'r' }), call);
    const replaced = [
      'timeout',
      'network_error',
      'external_service_unavailable',
      'server_error',
      'protocol_error',
    ].includes(failureClass);
    expect(ended.class).toBe(replaced ? 'outcome_unknown' : failureClass);
    expect(ended.retryAfterMs).toBe(replaced ? undefined : 5);
    expect(ended).toMatchObject({ effectState: 'unknown', reason: 'r' });
  });
  test('a failure that proved no effect keeps its class, unless an earlier start may have had one', () => {
    const failure = failed('network_error', { effectState: 'none' });
    expect(lostAnswer(failure, call)).toEqual(failure);
    expect(lostAnswer(failure, { ...call, mayHaveHappened: true })).toMatchObject({
      class: 'outcome_unknown',
      effectState: 'unknown',
    });
    expect(lostAnswer(failed('validation_error'), { ...call, mayHaveHappened: true })).toMatchObject({
      class: 'validation_error',
      effectState: 'unknown',
    });
  });
  test('a key that the backend may have forgotten makes the tool once', () => {
    const at = (ageMs: number) =>
      lostAnswer(failed('timeout'), {
        effect: keyed.effect,
        mayHaveHappened: false,
        firstStartAtMs: nowMs - ageMs,
        nowMs,
      });
    expect(at(86_399_999).class).toBe('timeout');
    expect(at(86_400_000).class).toBe('outcome_unknown');
  });
  test('what only reads leaves nothing behind', () => {
    expect(lostAnswer(failed('timeout'), { ...call, effect: { kind: 'read' }, mayHaveHappened: true })).toEqual({
      class: 'timeout',
      effectState: 'none',
    });
  });
});

test('maxAttemptsOf is for people too', () => {
  expect(maxAttemptsOf({ failure: { class: 'network_error' }, policy: keyed })).toBe(3);
  expect(maxAttemptsOf({ failure: { class: 'rate_limit' }, policy: keyed })).toBe(Infinity);
});
