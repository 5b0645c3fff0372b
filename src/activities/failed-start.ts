import type { Outcome } from '../contract/call.js';
import type { ClassifiedFailure } from '../contract/failure.js';
import type { CallGuards } from '../guards/call-guards.js';
import type { LedgerRow } from '../contract/ledger.js';
import { lostAnswer } from '../policy/retry-rule.js';
import type { RetryDecision } from '../policy/retry-rule.js';
import { policyOf } from '../policy/stricter-effect.js';
import { attemptFailed, cancelled } from '../temporal/failure-mapper.js';
import { askRetryRule } from './ask-retry-rule.js';
import type { Attempt } from './attempt.js';
import type { Claim } from './claim.js';
import { hasRefreshed, refreshCredentials } from './refresh-credentials.js';
import type { BodyEnd } from './run-body.js';
import type { Services } from './services.js';
import { notReadyDelayMs } from './settlement.js';
import type { Settlement } from './settlement.js';

/** A start of the body that failed: another start follows, or the call ends. */
export class FailedStart {
  readonly #services: Services;
  readonly #attempt: Attempt;
  readonly #claim: Claim;
  readonly #guards: CallGuards;
  readonly #settlement: Settlement;

  constructor(parts: {
    services: Services;
    attempt: Attempt;
    claim: Claim;
    guards: CallGuards;
    settlement: Settlement;
  }) {
    this.#services = parts.services;
    this.#attempt = parts.attempt;
    this.#claim = parts.claim;
    this.#guards = parts.guards;
    this.#settlement = parts.settlement;
  }

  /**
   * Counts the failure with the guards, decides, records the start for the operator, and acts on the decision. `row` is the
   * ledger's at the start, `spent` the same with what the start took; `startedAt` is of `performance.now()`.
   */
  async conclude(start: {
    failure: ClassifiedFailure;
    thrown?: unknown;
    interruption: BodyEnd['interruption'];
    row: LedgerRow;
    spent: LedgerRow;
    startedAt: number;
    durationMs: number;
  }): Promise<Outcome> {
    const { spent, startedAt } = start;
    // An interrupted body says nothing about its backend, unless it was interrupted for taking too long.
    const says = start.interruption === undefined || start.interruption === 'deadline';
    const breakerRestMs = says ? await this.#guards.attemptFailed(start.failure) : 0;
    const { decision, failure } = await this.#decide(start.failure, spent, { breakerRestMs, startedAt });
    if (says && !decision.retry) await this.#guards.callFailed(start.failure);
    await this.#attempt.starts.failed({
      row: start.row,
      failure: start.failure,
      ...(start.thrown === undefined ? {} : { thrown: start.thrown }),
      durationMs: start.durationMs,
      decision: decision.retry ? `retry in ${Math.round(decision.delayMs)} ms` : decision.because,
    });
    return decision.retry
      ? await this.#startAgain(failure, spent, decision.delayMs)
      : await this.#endCall(failure, spent);
  }

  /** Another start, or the call's end. A refused sign-in is renewed first, at most once a call. */
  async #decide(
    failure: ClassifiedFailure,
    row: LedgerRow,
    { breakerRestMs, startedAt }: { breakerRestMs: number; startedAt: number },
  ): Promise<{ failure: ClassifiedFailure; decision: RetryDecision }> {
    const ask = (known: { failure: ClassifiedFailure; refreshed: boolean; retryToken?: false }) =>
      askRetryRule(this.#services, this.#attempt, { row, breakerRestMs, ...known });
    const refreshed = failure.class === 'auth_failed' && (await hasRefreshed(this.#services, this.#attempt));
    const decision = ask({ failure, refreshed });
    if (decision.retry && !(await this.#guards.takeRetry())) {
      return { failure, decision: ask({ failure, refreshed, retryToken: false }) };
    }
    if (!decision.retry || !decision.refresh) return { failure, decision };
    const refresh = await refreshCredentials(this.#services, this.#attempt, { row, startedAt });
    if (refresh.kind === 'renewed') return { failure, decision };
    // The backend refused this start for its credentials: what the renewal met changes the class, not the effect.
    const met = refresh.kind === 'outage' ? { ...refresh.failure, effectState: failure.effectState } : failure;
    return { failure: met, decision: ask({ failure: met, refreshed: true }) };
  }

  async #startAgain(failure: ClassifiedFailure, row: LedgerRow, delayMs: number): Promise<never> {
    const { recorder, tool } = this.#attempt;
    const proved = policyOf(row, tool.policy).effect.kind === 'read' || failure.effectState === 'none';
    await this.#claim.end(proved ? 'none' : 'unknown', delayMs);
    throw attemptFailed(recorder.describe(failure, row), delayMs);
  }

  async #endCall(failure: ClassifiedFailure, row: LedgerRow): Promise<Outcome> {
    const { recorder, tool } = this.#attempt;
    if (failure.class === 'cancelled') {
      await this.#settlement.failed(failure, row);
      throw cancelled('the run was cancelled');
    }
    const final = lostAnswer(failure, { ...row, effect: policyOf(row, tool.policy).effect, nowMs: Date.now() });
    if (final.class !== 'outcome_unknown') return await this.#settlement.failed(failure, row);
    const settled = await this.#settlement.unknown(failure, row);
    if (settled) return settled;
    await this.#claim.end('none', 0);
    throw attemptFailed(recorder.describe(failure, row), notReadyDelayMs);
  }
}
