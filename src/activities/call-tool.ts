import { Context } from '@temporalio/activity';
import type { CallToolInput } from '../contract/activities.js';
import type { Outcome } from '../contract/call.js';
import type { ClassifiedFailure } from '../contract/failure.js';
import type { CallGuards, HeldUp } from '../guards/call-guards.js';
import { lostStart } from '../policy/ledger.js';
import type { LedgerRow, LedgerVerdict } from '../policy/ledger.js';
import { decideRetry, lostAnswer, mayRunAgain } from '../policy/retry-rule.js';
import type { RetryDecision, RetryQuestion } from '../policy/retry-rule.js';
import { normalizeResult } from '../results/normalize-result.js';
import { attemptFailed, callFailed, cancelled, notReady } from '../temporal/failure-mapper.js';
import { prepareAttempt } from './attempt.js';
import type { Attempt } from './attempt.js';
import { Claim } from './claim.js';
import { confirmWithServer } from './confirm-attempt.js';
import { guardCall } from './guard-call.js';
import { judgeEnd, lostWorker, maskedResult } from './judge-end.js';
import { outlastOutage } from './outlast-outage.js';
import { reconcile } from './reconcile.js';
import { hasRefreshed, refreshCredentials } from './refresh-credentials.js';
import { runBody, whyCancelled } from './run-body.js';
import type { BodyEnd } from './run-body.js';
import type { ManifestCache, Services } from './services.js';
import { requireStep, requireStore } from './store-identity.js';
import { successOutcome } from './success-outcome.js';
import type { SuccessfulEnd } from './success-outcome.js';

/** The operator's record of a start whose end nobody saw. */
const workerLost = 'worker_lost';

/** How soon an attempt that may not run here and now is offered again. */
const notReadyDelayMs = 1_000;

/**
 * One attempt of one tool call. Returns the outcome where the call succeeded; throws the mapper's failures where the
 * attempt or the call failed, and `CancelledFailure` where the run was cancelled. Whatever is thrown, the ledger was
 * written first: a process that dies after any line finds out what happened.
 */
export async function callTool(services: Services, manifests: ManifestCache, input: CallToolInput): Promise<Outcome> {
  requireStore(services.store, input.storeId);
  // Awaited before anything is written but a claim, which is asked for in the same round trip.
  const step = requireStep(services.store, input.call.runKey, input.stepNode);
  step.catch(() => undefined);
  const attempt = await prepareAttempt(services, manifests, input, step);
  if (attempt.status === 'refused') return conclude(attempt.outcome);
  return conclude(await new CallAttempt(services, attempt, step).run());
}

/** A stored outcome as the activity reports it: a failed one fails the activity, so that the Temporal UI shows it. */
function conclude(outcome: Outcome): Outcome {
  if (outcome.status === 'failed' || outcome.status === 'aborted') throw callFailed(outcome);
  return outcome;
}

/** How old the server's word on an attempt may be when its body begins. An ordinary claim takes milliseconds. */
const confirmedForMs = 50;

/** The phases of an attempt, in the order of the methods. Each returns the call's outcome as soon as there is one. */
class CallAttempt {
  readonly #services: Services;
  readonly #attempt: Attempt;
  readonly #step: Promise<void>;
  readonly #claim: Claim;
  readonly #guards: CallGuards;
  /** Why the call cannot be guarded, and so must not run. */
  readonly #unusable: ClassifiedFailure | undefined;
  /** Waited for guards in earlier attempts: part of the call's time budget. */
  #waitedMs = 0;
  /** Of the body, on the monotonic clock. */
  #startedAt = 0;

  constructor(services: Services, attempt: Attempt, step: Promise<void>) {
    this.#services = services;
    this.#attempt = attempt;
    this.#step = step;
    ({ guards: this.#guards, unusable: this.#unusable } = guardCall(services, attempt));
    this.#claim = new Claim({
      store: services.store,
      call: attempt.call,
      effect: attempt.tool.policy.effect,
      worker: services.workerIdentity,
      leaseMs: services.heartbeatTimeoutMs,
      log: services.log,
    });
  }

  async run(): Promise<Outcome> {
    if (this.#unusable) return await this.#settleUnstarted(this.#unusable);
    const context = Context.current();
    const held = await this.#guards.enter(context.cancellationSignal);
    if (held) return await this.#wait(held);
    try {
      // A first attempt has waited for nothing yet.
      if (context.info.attempt > 1) this.#waitedMs = await this.#guards.waitedMs();
      return await this.#runGuarded();
    } finally {
      await this.#guards.leave();
    }
  }

  /** Gives the slot back while the call's time budget covers the wait; else the call ends as what holds it up. */
  async #wait({ failure, waitMs }: HeldUp): Promise<Outcome> {
    const { call, tool, recorder } = this.#attempt;
    const row = (await this.#services.store.getCall(call.key))?.row;
    if (row?.outcome) return row.outcome;
    const budgetMs = Math.max(0, tool.policy.budgetMs - (row?.spentMs ?? 0));
    if (await this.#guards.mayWait(waitMs, budgetMs)) throw attemptFailed(recorder.describe(failure, row), waitMs);
    return await this.#settleUnstarted(failure);
  }

  /**
   * Ends a call that may not start. Through the claim, also for reads: what an earlier start may have left behind is
   * settled first, and a call that runs elsewhere is not ended under its feet.
   */
  async #settleUnstarted(failure: ClassifiedFailure): Promise<Outcome> {
    const known = await this.#takeClaim();
    if (known) return known;
    const { row } = (await this.#services.store.getCall(this.#attempt.call.key)) ?? {};
    return await this.#settleFailed(failure, row);
  }

  async #runGuarded(): Promise<Outcome> {
    const isRead = this.#attempt.tool.policy.effect.kind === 'read';
    const known = isRead ? await this.#formerRead() : await this.#takeConfirmedClaim();
    if (known) return known;
    const begun = await this.#claim.begin();
    if (begun.type === 'settled') return begun.outcome;
    if (begun.type !== 'accepted') throw takenOver();
    // No `await` from here to the body's first line: a call that began beside this one may block the event loop meanwhile.
    const late = this.#tooLateToBegin();
    if (late) {
      await this.#claim.end('none', 0);
      throw late;
    }
    return await this.#execute(begun.row);
  }

  /** What may have happened while the ledger counted the start. */
  #tooLateToBegin(): Error | undefined {
    const context = Context.current();
    const told = context.cancellationSignal.aborted ? whyCancelled(context) : undefined;
    if (told === 'cancelled') return cancelled('the run was cancelled before the tool was started');
    if (told === undefined && !this.#claim.hasOverslept()) return undefined;
    return notReady('this worker was stopped or blocked before the tool was started', notReadyDelayMs);
  }

  /** Reads claim nothing; but a read whose worker was lost counts as a start, so that no tool kills workers for ever. */
  async #formerRead(): Promise<Outcome | undefined> {
    await this.#step;
    if (Context.current().info.attempt === 1) return undefined;
    const { call, tool, recorder } = this.#attempt;
    const row = (await this.#services.store.getCall(call.key))?.row;
    if (!row?.begun || row.outcome) return row?.outcome;
    await recorder.recordLost(row, lostWorker(), lostStart(row, await this.#services.store.now()));
    const again = mayRunAgain({ ...row, former: 'unknown', lost: true, policy: tool.policy, nowMs: Date.now() });
    if (again.run) return undefined;
    return await recorder.refuse(lostWorker());
  }

  /**
   * The claim, and the server's word that this attempt is still wanted; asked for side by side. Where the claim took long
   * (a former start was reconciled, the process was stopped), the server is asked once more, because its word has to be
   * fresh when the body begins. A read needs neither: one that runs once too often harms nobody.
   */
  async #takeConfirmedClaim(): Promise<Outcome | undefined> {
    const askedAt = performance.now();
    const [taken, confirmed] = await Promise.allSettled([this.#takeClaim(), this.#confirm()]);
    if (taken.status === 'rejected') throw taken.reason;
    if (taken.value) return taken.value;
    try {
      if (confirmed.status === 'rejected') throw confirmed.reason;
      if (performance.now() - askedAt > confirmedForMs) await this.#confirm();
    } catch (error) {
      await this.#claim.giveBack();
      throw error;
    }
    return undefined;
  }

  #confirm(): Promise<void> {
    return confirmWithServer(this.#services.heartbeatTimeoutMs);
  }

  /** Becomes the one attempt that may run the body, having made sure of what the former one left behind. */
  async #takeClaim(): Promise<Outcome | undefined> {
    const [found, claimed] = await Promise.allSettled([this.#step, this.#claim.take()]);
    if (found.status === 'rejected') {
      await this.#claim.giveBack();
      throw found.reason;
    }
    if (claimed.status === 'rejected') throw claimed.reason;
    const verdict = claimed.value;
    switch (verdict.type) {
      case 'granted':
        return await this.#afterFormerStarts(verdict);
      case 'settled':
        return verdict.outcome;
      case 'busy':
        throw notReady('an earlier attempt of this call may still be running', verdict.retryAfterMs);
      case 'mismatch': {
        // Not recorded under the key: what is stored there belongs to the call that came first.
        const mismatch: ClassifiedFailure = { class: 'idempotency_mismatch', effectState: 'none' };
        return this.#attempt.recorder.failed(mismatch, verdict.row);
      }
      case 'accepted':
      case 'superseded':
        throw takenOver();
    }
  }

  /** A former start may have had its effect: run again where that is safe, else find out, else say that nobody knows. */
  async #afterFormerStarts(granted: LedgerVerdict & { type: 'granted' }): Promise<Outcome | undefined> {
    const { tool, recorder } = this.#attempt;
    const { row, former } = granted;
    const failure = lostWorker();
    const lost = granted.lost || (former === 'unknown' && (await this.#lastStartWasLost(row)));
    if (granted.lostStart) await recorder.recordLost(row, failure, granted.lostStart);
    const again = mayRunAgain({ ...row, former, lost, policy: tool.policy, nowMs: Date.now() });
    if (again.run) return undefined;
    if (again.because === 'reconcile') return await this.#settleUnknown(failure, row);
    return await this.#settleFailed(failure, row);
  }

  /**
   * Whether nobody told how the last start ended: the claim says it only to the first who takes the call over, and that one
   * may have died before it decided.
   */
  async #lastStartWasLost(row: LedgerRow): Promise<boolean> {
    const stored = await this.#services.store.getCall(row.key);
    const told = stored?.attempts.find(({ start }) => start === row.starts)?.failure;
    return told === undefined || told['decision'] === workerLost;
  }

  async #execute(row: LedgerRow): Promise<Outcome> {
    const { tool, live, value, call, recorder } = this.#attempt;
    const deadlineMs = Math.max(
      1,
      Math.min(tool.policy.timeoutMs, tool.policy.budgetMs - row.spentMs - this.#waitedMs),
    );
    const startedAt = (this.#startedAt = performance.now());
    this.#guards.begin();
    return await this.#claim.renewedWhile(async () => {
      const end = await runBody({
        body: (signal) =>
          recorder.requests.run(() =>
            live.execute(value, this.#attempt.contextFor(row, signal, deadlineMs, this.#guards.fencingToken)),
          ),
        deadlineMs,
        superseded: AbortSignal.any([this.#claim.superseded, this.#guards.lost]),
        onLate: (late) =>
          this.#services.log.warn('a tool ended after it was given up; nothing was changed', {
            tool: tool.name,
            key: call.key,
            start: row.starts,
            ended: late.kind,
          }),
      });
      return await this.#conclude(row, end, performance.now() - startedAt);
    });
  }

  async #conclude(row: LedgerRow, end: BodyEnd, durationMs: number): Promise<Outcome> {
    const { store } = this.#services;
    const judged = await judgeEnd(this.#services, this.#attempt, end);
    if (judged.kind === 'succeeded') {
      const success = await outlastOutage(() => successOutcome(store, this.#attempt, judged.result, row));
      const [outcome] = await Promise.all([
        this.#settle(success),
        this.#attempt.recorder.recordSucceeded(row, durationMs),
        this.#guards.succeeded(judged.result.json),
      ]);
      return outcome;
    }
    if (end.interruption === 'superseded') {
      // Else the claim is left as it is: its lease lapses, and the next attempt judges what this one may have done.
      if (judged.failure.effectState === 'none') await this.#claim.end('none', 0);
      throw takenOver();
    }
    // An interrupted body says nothing about its backend, unless it was interrupted for taking too long.
    const says = end.interruption === undefined || end.interruption === 'deadline';
    const breakerRestMs = says ? await this.#guards.attemptFailed(judged.failure) : 0;
    const spent: LedgerRow = { ...row, spentMs: row.spentMs + this.#waitedMs + Math.round(durationMs) };
    const { decision, failure } = await this.#decide(judged.failure, spent, breakerRestMs);
    if (says && !decision.retry) await this.#guards.callFailed(judged.failure);
    await this.#attempt.recorder.recordFailed({
      row,
      failure: judged.failure,
      ...(judged.thrown === undefined ? {} : { thrown: judged.thrown }),
      durationMs,
      decision: decision.retry ? `retry in ${Math.round(decision.delayMs)} ms` : decision.because,
    });
    return await this.#afterFailure(failure, decision, spent);
  }

  /** Another start, or the call's end. A refused sign-in is renewed first, at most once a call. */
  async #decide(
    failure: ClassifiedFailure,
    row: LedgerRow,
    breakerRestMs: number,
  ): Promise<{ failure: ClassifiedFailure; decision: RetryDecision }> {
    const refreshed = failure.class === 'auth_failed' && (await hasRefreshed(this.#services, this.#attempt));
    const decision = this.#decideRetry(failure, row, { refreshed, breakerRestMs });
    if (decision.retry && !(await this.#guards.takeRetry())) {
      return { failure, decision: this.#decideRetry(failure, row, { refreshed, breakerRestMs, retryToken: false }) };
    }
    if (!decision.retry || !decision.refresh) return { failure, decision };
    const refresh = await refreshCredentials(this.#services, this.#attempt, { row, startedAt: this.#startedAt });
    if (refresh.kind === 'renewed') return { failure, decision };
    // The backend refused this start for its credentials: what the renewal met changes the class, not the effect.
    const met = refresh.kind === 'outage' ? { ...refresh.failure, effectState: failure.effectState } : failure;
    return { failure: met, decision: this.#decideRetry(met, row, { refreshed: true, breakerRestMs }) };
  }

  async #afterFailure(failure: ClassifiedFailure, decision: RetryDecision, row: LedgerRow): Promise<Outcome> {
    const { recorder, tool } = this.#attempt;
    if (decision.retry) {
      const proved = tool.policy.effect.kind === 'read' || failure.effectState === 'none';
      await this.#claim.end(proved ? 'none' : 'unknown', decision.delayMs);
      throw attemptFailed(recorder.describe(failure, row), decision.delayMs);
    }
    if (failure.class === 'cancelled') {
      await this.#settleFailed(failure, row);
      throw cancelled('the run was cancelled');
    }
    const final = lostAnswer(failure, { ...row, effect: tool.policy.effect, nowMs: Date.now() });
    if (final.class !== 'outcome_unknown') return await this.#settleFailed(failure, row);
    const settled = await this.#settleUnknown(failure, row);
    if (settled) return settled;
    await this.#claim.end('none', 0);
    throw attemptFailed(recorder.describe(failure, row), notReadyDelayMs);
  }

  /**
   * Ends a call whose answer was lost and which may not simply be repeated: the tool's `reconcile` is asked first.
   * `undefined` where the backend was fenced and the body may run after all.
   */
  async #settleUnknown(failure: ClassifiedFailure, row: LedgerRow): Promise<Outcome | undefined> {
    const { store } = this.#services;
    const { tool, live } = this.#attempt;
    const { superseded } = this.#claim;
    const found = await this.#claim.renewedWhile(() => reconcile(this.#services, this.#attempt, { row, superseded }));
    if (found.kind === 'interrupted') {
      await this.#claim.end('unknown', 0);
      throw notReady('this worker stopped before it knew what became of the call; another one asks', notReadyDelayMs);
    }
    if (found.kind === 'done') {
      const result = await normalizeResult(found.result, {
        maxBytes: tool.policy.maxOutputBytes,
        source: live.source,
      });
      const masked = maskedResult(this.#services, result);
      return await this.#settle(await successOutcome(store, this.#attempt, masked, row));
    }
    if (found.kind === 'unknown') {
      return await this.#settleFailed(failure, { ...row, mayHaveHappened: true });
    }
    await this.#claim.fenced();
    const fenced: ClassifiedFailure = { ...failure, effectState: 'none' };
    const fencedRow = { ...row, mayHaveHappened: false };
    if (this.#decideRetry(fenced, fencedRow, {}).retry) return undefined;
    return await this.#settleFailed(fenced, fencedRow);
  }

  #decideRetry(
    failure: ClassifiedFailure,
    row: LedgerRow,
    known: Pick<RetryQuestion, 'refreshed' | 'breakerRestMs' | 'retryToken'>,
  ): RetryDecision {
    return decideRetry({
      failure,
      policy: this.#attempt.tool.policy,
      starts: row.starts,
      spentMs: row.spentMs,
      mayHaveHappened: row.mayHaveHappened,
      ...(row.firstStartAtMs === undefined ? {} : { firstStartAtMs: row.firstStartAtMs }),
      nowMs: Date.now(),
      cancelled: failure.class === 'cancelled',
      random: this.#services.random(),
      ...known,
    });
  }

  async #settleFailed(failure: ClassifiedFailure, row: LedgerRow | undefined): Promise<Outcome> {
    const { recorder } = this.#attempt;
    return await this.#settle(await recorder.ended(failure, row));
  }

  async #settle(end: SuccessfulEnd): Promise<Outcome> {
    const { call, tool, recorder } = this.#attempt;
    const settled = await this.#claim.settle(end.outcome, end.rendered);
    if (!settled.late) {
      recorder.logOutcome(settled.outcome);
      return settled.outcome;
    }
    this.#services.log.warn('a late result was not recorded: the call had been settled or taken over', {
      tool: tool.name,
      key: call.key,
      late: end.outcome.status,
      recorded: settled.stored?.status,
    });
    if (settled.stored) return settled.stored;
    throw takenOver();
  }
}

function takenOver(): Error {
  return notReady('another attempt has taken this call over', notReadyDelayMs);
}
