import { Context } from '@temporalio/activity';
import type { CallToolInput } from '../contract/activities.js';
import type { Outcome } from '../contract/call.js';
import type { ClassifiedFailure } from '../contract/failure.js';
import type { CallGuards, HeldUp } from '../guards/call-guards.js';
import type { LedgerRow } from '../contract/ledger.js';
import { withResultDigest } from '../policy/result-digest.js';
import type { NormalizedResult } from '../results/normalized-result.js';
import { attemptFailed, callFailed, cancelled, notReady } from '../temporal/failure-mapper.js';
import { prepareAttempt } from './attempt.js';
import type { Attempt } from './attempt.js';
import { Claim } from './claim.js';
import { confirmAttempt } from './confirm-attempt.js';
import type { ConversationCache } from './conversation-cache.js';
import { FailedStart } from './failed-start.js';
import { FormerStarts } from './former-starts.js';
import { guardCall } from './guard-call.js';
import { judgeEnd } from './judge-end.js';
import { outlastOutage } from './outlast-outage.js';
import { runBody, whyCancelled } from './run-body.js';
import type { BodyEnd } from './run-body.js';
import type { ManifestCache, Services } from './services.js';
import { notReadyDelayMs, Settlement, takenOver } from './settlement.js';
import { requireStep, requireStore } from './store-identity.js';
import { successOutcome } from './success-outcome.js';

/**
 * One attempt of one tool call. Returns the outcome where the call succeeded; throws the mapper's failures where the
 * attempt or the call failed, and `CancelledFailure` where the run was cancelled. Whatever is thrown, the ledger was
 * written first: a process that dies after any line finds out what happened.
 */
export async function callTool(
  services: Services,
  manifests: ManifestCache,
  conversations: ConversationCache,
  input: CallToolInput,
): Promise<Outcome> {
  requireStore(services.store, input.storeId);
  // Awaited before anything is written but a claim, which is asked for in the same round trip.
  const { runKey } = input.call;
  const isKnown = conversations.wasSeen(input.stepNode);
  const step = isKnown ? Promise.resolve() : requireStep(services.store, runKey, input.stepNode);
  step.catch(() => undefined);
  const attempt = await prepareAttempt(services, manifests, input, step);
  if (attempt.status === 'refused') return conclude(attempt.outcome);
  return conclude(await new CallAttempt(services, attempt, step).run());
}

/** A stored outcome as the activity reports it: a failed one fails the activity, so that the Temporal UI shows it. */
function conclude(outcome: Outcome): Outcome {
  if (outcome.status === 'failed' || outcome.status === 'aborted') throw callFailed(outcome);
  return withResultDigest(outcome);
}

/** How old the answer to `confirmAttempt` may be when the body begins. An ordinary claim takes milliseconds. */
const confirmedForMs = 50;

/** The phases of an attempt, in the order of the methods. Each returns the call's outcome as soon as there is one. */
class CallAttempt {
  readonly #services: Services;
  readonly #attempt: Attempt;
  readonly #step: Promise<void>;
  readonly #claim: Claim;
  readonly #guards: CallGuards;
  readonly #settlement: Settlement;
  readonly #formerStarts: FormerStarts;
  /** Why the call cannot be guarded, and so must not run. */
  readonly #unusable: ClassifiedFailure | undefined;
  /** When the attempt came in, on this process's monotonic clock. */
  readonly #enteredAtMs = performance.now();
  /** Waited for guards in earlier attempts: part of the call's time budget. */
  #waitedMs = 0;

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
    this.#settlement = new Settlement(services, attempt, this.#claim);
    this.#formerStarts = new FormerStarts(services, attempt, this.#settlement);
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
    return await this.#settlement.failed(failure, row);
  }

  async #runGuarded(): Promise<Outcome> {
    const isRead = this.#attempt.tool.policy.effect.kind === 'read';
    const known = isRead ? await this.#readable() : await this.#takeConfirmedClaim();
    if (known) return known;
    let begun = await this.#claim.begin();
    if (isRead && begun.type === 'superseded' && begun.row?.effect.kind !== 'read') {
      // The call is of a time when its tool was declared as more than a read, and needs a claim like all of those.
      const claimed = await this.#takeConfirmedClaim();
      if (claimed) return claimed;
      begun = await this.#claim.begin();
    }
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

  async #readable(): Promise<Outcome | undefined> {
    await this.#step;
    return await this.#formerStarts.ofRead();
  }

  /**
   * The claim, and the server's word that this attempt is still wanted; asked for side by side. Where the claim took long
   * (a former start was reconciled, the process was stopped), it is asked for once more, because it has to be fresh when the
   * body begins. A read needs neither: one that runs once too often harms nobody.
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
    return confirmAttempt(this.#attempt.tool.policy.effect, {
      enteredAtMs: this.#enteredAtMs,
      deadlineMs: this.#services.heartbeatTimeoutMs,
    });
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
        return await this.#formerStarts.ofClaim(verdict);
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

  async #execute(row: LedgerRow): Promise<Outcome> {
    const { tool, live, value, call, starts } = this.#attempt;
    const deadlineMs = Math.max(
      1,
      Math.min(tool.policy.timeoutMs, tool.policy.budgetMs - row.spentMs - this.#waitedMs),
    );
    const startedAt = performance.now();
    this.#guards.begin();
    return await this.#claim.renewedWhile(async () => {
      const end = await runBody({
        body: (signal) =>
          starts.requests.run(() =>
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
      return await this.#conclude(row, end, startedAt);
    });
  }

  async #conclude(row: LedgerRow, end: BodyEnd, startedAt: number): Promise<Outcome> {
    const durationMs = performance.now() - startedAt;
    const judged = await judgeEnd(this.#services, this.#attempt, end);
    if (judged.kind === 'succeeded') return await this.#succeed(judged.result, row, durationMs);
    if (end.interruption === 'superseded') {
      // Else the claim is left as it is: its lease lapses, and the next attempt judges what this one may have done.
      if (judged.failure.effectState === 'none') await this.#claim.end('none', 0);
      throw takenOver();
    }
    return await new FailedStart({
      services: this.#services,
      attempt: this.#attempt,
      claim: this.#claim,
      guards: this.#guards,
      settlement: this.#settlement,
    }).conclude({
      failure: judged.failure,
      ...(judged.thrown === undefined ? {} : { thrown: judged.thrown }),
      interruption: end.interruption,
      row,
      spent: { ...row, spentMs: row.spentMs + this.#waitedMs + Math.round(durationMs) },
      startedAt,
      durationMs,
    });
  }

  async #succeed(result: NormalizedResult, row: LedgerRow, durationMs: number): Promise<Outcome> {
    const success = await outlastOutage(() => successOutcome(this.#services.store, this.#attempt, result, row));
    const [outcome] = await Promise.all([
      this.#settlement.record(success),
      this.#attempt.starts.succeeded(row, durationMs),
      this.#guards.succeeded(result.json),
    ]);
    return outcome;
  }
}
