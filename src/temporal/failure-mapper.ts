/**
 * The one place that speaks Temporal failures, both ways: activities throw what is made here, the workflow reads it
 * back. A person in the Temporal UI sees the failure's class as its type, the model's message as its message, and the
 * structured outcome in its details.
 */
import {
  ActivityFailure,
  ApplicationFailure,
  ApplicationFailureCategory,
  CancelledFailure,
  ChildWorkflowFailure,
  TimeoutFailure,
} from '@temporalio/common';
import type { ChildEnd } from '../contract/activities.js';
import type { Outcome } from '../contract/call.js';
import type { Failure } from '../contract/failure.js';
import type { AgentRunResult } from '../contract/run.js';

/** Failure types that are no failure classes: they concern the machinery, never the tool. */
export const machineryTypes = {
  /** The attempt must not run here or now; another attempt may. */
  notReady: 'NotReady',
  runFailed: 'RunFailed',
  misuse: 'ConfigError',
} as const;

/** An attempt failed and the call goes on after `delayMs`. */
export function attemptFailed(failure: Failure, delayMs: number): ApplicationFailure {
  return ApplicationFailure.create({
    type: failure.class,
    message: failure.message,
    details: [failure],
    nextRetryDelay: Math.max(1, Math.ceil(delayMs)),
    category: ApplicationFailureCategory.BENIGN,
  });
}

/** A call ended with a failed or aborted outcome. */
export function callFailed(outcome: Outcome & { status: 'failed' | 'aborted' }): ApplicationFailure {
  return ApplicationFailure.create({
    type: outcome.failure.class,
    message: outcome.failure.message,
    details: [outcome],
    nonRetryable: true,
    category: ApplicationFailureCategory.BENIGN,
  });
}

/** A model turn ended with a failure that retrying does not cure. */
export function turnFailed(failure: Failure): ApplicationFailure {
  return ApplicationFailure.create({
    type: failure.class,
    message: failure.message,
    details: [failure],
    nonRetryable: true,
    category: ApplicationFailureCategory.BENIGN,
  });
}

/** This attempt ran nothing (another holds the call, the store is a different one, the worker is stopping): come back after `delayMs`. */
export function notReady(message: string, delayMs: number): ApplicationFailure {
  return ApplicationFailure.create({
    type: machineryTypes.notReady,
    message,
    nextRetryDelay: Math.max(1, Math.ceil(delayMs)),
    category: ApplicationFailureCategory.BENIGN,
  });
}

export function isNotReady(error: unknown): boolean {
  return error instanceof ApplicationFailure && error.type === machineryTypes.notReady;
}

/** A mistake in how perdure is used, which no retry cures: ends the workflow. */
export function misuse(message: string): ApplicationFailure {
  return ApplicationFailure.create({ type: machineryTypes.misuse, message, nonRetryable: true });
}

/** How a run that could not be completed ends its workflow; `AgentRunResult` is the first detail. */
export function runFailed(result: AgentRunResult): ApplicationFailure {
  return ApplicationFailure.create({
    type: machineryTypes.runFailed,
    message: result.termination.summary,
    details: [result],
    nonRetryable: true,
  });
}

export function cancelled(message: string): CancelledFailure {
  return new CancelledFailure(message);
}

/** What became of a call's activity, as the workflow must act on it. */
export type ActivityEnd =
  | { kind: 'outcome'; outcome: Outcome }
  | { kind: 'failure'; failure: Failure }
  | { kind: 'cancelled' }
  | { kind: 'timeout' }
  /**
   * An attempt that was not to be the last: the server retries no more where a cancellation was requested meanwhile, or the
   * days are over. What became of the call stands in the ledger.
   */
  | { kind: 'unfinished' }
  /** No end of an activity: a programming error, for the workflow to rethrow. */
  | { kind: 'foreign' };

/** Reads what an activity threw. Never throws. */
export function readActivityError(error: unknown): ActivityEnd {
  const cause = error instanceof ActivityFailure ? error.cause : error;
  if (cause instanceof CancelledFailure) return { kind: 'cancelled' };
  if (cause instanceof TimeoutFailure) return { kind: 'timeout' };
  if (cause instanceof ApplicationFailure) {
    const detail = cause.details?.[0];
    if (isOutcome(detail)) return { kind: 'outcome', outcome: detail };
    // One that may be retried speaks of its attempt, not of the end.
    if (isFailure(detail) && cause.nonRetryable) return { kind: 'failure', failure: detail };
  }
  return error instanceof ActivityFailure ? { kind: 'unfinished' } : { kind: 'foreign' };
}

/** The result that a failed run carries, read from what `handle.result()` threw; `undefined` for anything else. */
export function readRunFailure(error: unknown): AgentRunResult | undefined {
  const cause = error instanceof Error ? error.cause : undefined;
  if (!(cause instanceof ApplicationFailure) || cause.type !== machineryTypes.runFailed) return undefined;
  return cause.details?.[0] as AgentRunResult | undefined;
}

/** Reads what a child run's workflow ended with. Rethrows what is no end of a child. */
export function readChildError(error: unknown): ChildEnd {
  if (error instanceof CancelledFailure) return { kind: 'cancelled' };
  if (!(error instanceof ChildWorkflowFailure)) throw error;
  if (error.cause instanceof CancelledFailure) return { kind: 'cancelled' };
  const result = readRunFailure(error);
  if (result) return { kind: 'ended', result };
  return { kind: 'failed', reason: error.cause?.message ?? error.message };
}

export function isCancellation(error: unknown): boolean {
  return (
    error instanceof CancelledFailure || (error instanceof ActivityFailure && error.cause instanceof CancelledFailure)
  );
}

function isOutcome(value: unknown): value is Outcome {
  return isObject(value) && typeof value['callId'] === 'string' && typeof value['status'] === 'string';
}

function isFailure(value: unknown): value is Failure {
  return isObject(value) && typeof value['class'] === 'string' && typeof value['message'] === 'string';
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
