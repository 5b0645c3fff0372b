import {
  ActivityFailure,
  ApplicationFailure,
  CancelledFailure,
  RetryState,
  TimeoutFailure,
  TimeoutType,
} from '@temporalio/common';
import { describe, expect, it } from 'vitest';
import type { Outcome } from '../../src/contract/call.js';
import type { Failure } from '../../src/contract/failure.js';
import type { AgentRunResult } from '../../src/contract/run.js';
import {
  attemptFailed,
  callFailed,
  cancelled,
  isCancellation,
  misuse,
  notReady,
  readActivityError,
  readRunFailure,
  runFailed,
  turnFailed,
} from '../../src/temporal/failure-mapper.js';

const failure: Failure = {
  class: 'rate_limit',
  code: 'RATE_LIMIT_001',
  effectState: 'none',
  message: 'too many requests',
  suggestedAction: 'wait',
  retryable: true,
};
const outcome: Outcome & { status: 'failed' } = {
  status: 'failed',
  callId: 'c1.0',
  tool: 'refund',
  key: 'k1:x',
  attempts: 2,
  elapsedMs: 10,
  failure,
};
const result: AgentRunResult = {
  status: 'failed',
  answer: '',
  termination: { reason: 'model_failed', summary: 'the model could not answer' },
  counters: { steps: 1, calls: 0, inputTokens: 0, outputTokens: 0, costUsd: 0, failures: 0 },
};

/** As the workflow gets it: what the activity threw is the cause. */
const ofActivity = (cause: Error) =>
  new ActivityFailure('Activity task failed', 'callTool', 'c1.0', RetryState.NON_RETRYABLE_FAILURE, 'id', cause);

describe('what an activity throws', () => {
  it.each([
    [0, 1],
    [0.2, 1],
    [1_500.4, 1_501],
  ])('an attempt that is followed by another after %d ms says so to the server, as a whole number', (delayMs, said) => {
    expect(attemptFailed(failure, delayMs)).toMatchObject({
      type: 'rate_limit',
      message: 'too many requests',
      details: [failure],
      nonRetryable: false,
      nextRetryDelay: said,
    });
    expect(notReady('busy', delayMs)).toMatchObject({ type: 'NotReady', nonRetryable: false, nextRetryDelay: said });
  });

  it('a call that ended is not tried again, and shows its class, message and outcome', () => {
    expect(callFailed(outcome)).toMatchObject({
      type: 'rate_limit',
      message: 'too many requests',
      details: [outcome],
      nonRetryable: true,
    });
  });
});

describe('what the workflow reads', () => {
  it.each<[string, Error, ReturnType<typeof readActivityError>]>([
    ['the outcome of a call', ofActivity(callFailed(outcome)), { kind: 'outcome', outcome }],
    ['the failure of a turn', ofActivity(turnFailed(failure)), { kind: 'failure', failure }],
    ['an attempt that another was to follow', ofActivity(attemptFailed(failure, 1)), { kind: 'unfinished' }],
    ['a cancellation', ofActivity(cancelled('stop')), { kind: 'cancelled' }],
    ['a cancellation before the activity was scheduled', new CancelledFailure('stop'), { kind: 'cancelled' }],
    [
      'a timeout',
      ofActivity(new TimeoutFailure('late', undefined, TimeoutType.SCHEDULE_TO_CLOSE)),
      { kind: 'timeout' },
    ],
    ['a mistake in how perdure is used', ofActivity(misuse('no')), { kind: 'unfinished' }],
    ['a programming error', new TypeError('x'), { kind: 'foreign' }],
    [
      'details that are something else',
      ofActivity(ApplicationFailure.create({ details: ['x'] })),
      { kind: 'unfinished' },
    ],
    ['no details', ofActivity(ApplicationFailure.create({})), { kind: 'unfinished' }],
  ])('%s', (_what, error, end) => {
    expect(readActivityError(error)).toEqual(end);
  });

  it.each([undefined, null, 'text', 0, {}])('%j as foreign, without throwing', (thrown) => {
    expect(readActivityError(thrown)).toEqual({ kind: 'foreign' });
    expect(isCancellation(thrown)).toBe(false);
    expect(readRunFailure(thrown)).toBeUndefined();
  });

  it('a cancellation by its kind, wrapped or not', () => {
    expect(isCancellation(cancelled('x'))).toBe(true);
    expect(isCancellation(ofActivity(cancelled('x')))).toBe(true);
    expect(isCancellation(ofActivity(callFailed(outcome)))).toBe(false);
  });
});

describe('what a client reads', () => {
  it('the result of a run that failed, and nothing of another failure', () => {
    expect(readRunFailure(new Error('Workflow execution failed', { cause: runFailed(result) }))).toEqual(result);
    expect(readRunFailure(new Error('Workflow execution failed', { cause: misuse('cron') }))).toBeUndefined();
  });
});
