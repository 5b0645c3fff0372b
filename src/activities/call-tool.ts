import { Context } from '@temporalio/activity';
import type { CallToolInput } from '../contract/activities.js';
import type { Outcome } from '../contract/call.js';
import type { ClassifiedFailure } from '../contract/failure.js';
import { classifyThrown } from '../policy/classify-thrown.js';
import type { LedgerRow, LedgerVerdict } from '../policy/ledger.js';
import { decideRetry, lostAnswer } from '../policy/retry-rule.js';
import type { RetryDecision } from '../policy/retry-rule.js';
import { attemptFailed, callFailed, cancelled, notReady } from '../temporal/failure-mapper.js';
import { prepareAttempt } from './attempt.js';
import type { Attempt } from './attempt.js';
import { Claim } from './claim.js';
import { reconcile } from './reconcile.js';
import { refreshCredentials } from './refresh-credentials.js';
import { runBody, whyCancelled } from './run-body.js';
import type { BodyEnd } from './run-body.js';
import type { ManifestCache, Services } from './services.js';
import { requireStep, requireStore } from './store-identity.js';

/** How soon an attempt that may not run here and now is offered again. */
const notReadyDelayMs = 1_000;

/**
 * One attempt of one tool call. Returns the outcome where the call succeeded; throws the mapper's failures where the
 * attempt or the call failed, and `CancelledFailure` where the run was cancelled. Whatever is thrown, the ledger was
 * written first: a process that dies after any line finds out what happened.
 */
export async function callTool(services: Services, manifests: ManifestCache, input: CallToolInput): Promise<Outcome> {
  requireStore(services.store, input.storeId);
  await requireStep(services.store, input.call.runKey, input.stepNode);
  const attempt = await prepareAttempt(services, manifests, input);
  if (attempt.status === 'refused') return conclude(attempt.outcome);

  const { tool, call } = attempt;
  const effect = tool.policy.effect;
  const claim = new Claim({
    store: services.store,
    call,
    effect,
    leaseMs: services.heartbeatTimeoutMs,
    log: services.log,
  });
  const former =
    effect.kind === 'read' ? await formerRead(services, attempt) : await takeClaim(services, attempt, claim);
  if (former.status === 'concluded') return conclude(former.outcome);

  await confirmWithServer(claim, effect.kind === 'read');
  const begun = await claim.begin();
  if (begun.type === 'settled') return conclude(begun.outcome);
  if (begun.type !== 'accepted') throw notReady('another attempt has taken this call over', notReadyDelayMs);
  return await execute(services, attempt, claim, begun.row);
}

/** A stored outcome as the activity reports it: a failed one fails the activity, so that the Temporal UI shows it. */
function conclude(outcome: Outcome): Outcome {
  if (outcome.status === 'failed' || outcome.status === 'aborted') throw callFailed(outcome);
  return outcome;
}

type Former = { status: 'free' } | { status: 'concluded'; outcome: Outcome };

/** Reads claim nothing; but a read whose worker was lost still counts as a start, so that no tool kills workers for ever. */
async function formerRead(services: Services, attempt: Attempt): Promise<Former> {
  if (Context.current().info.attempt === 1) return { status: 'free' };
  const stored = await services.store.getCall(attempt.call.key);
  if (!stored) return { status: 'free' };
  if (stored.row.outcome) return { status: 'concluded', outcome: stored.row.outcome };
  if (!stored.row.begun) return { status: 'free' };
  const lost = lostWorker();
  const decision = decide(services, attempt, lost, stored.row);
  if (decision.retry) return { status: 'free' };
  const outcome = attempt.recorder.failed(lost, stored.row);
  await services.store.recordOutcomes([attempt.recorder.recorded(outcome)]);
  return { status: 'concluded', outcome };
}

/** Becomes the one attempt that may run the body, having made sure of what the former one left behind. */
async function takeClaim(services: Services, attempt: Attempt, claim: Claim): Promise<Former> {
  const verdict = await claim.take();
  switch (verdict.type) {
    case 'granted':
      return verdict.former === 'unknown'
        ? await afterUnknownStart(services, attempt, claim, verdict)
        : { status: 'free' };
    case 'settled':
      return { status: 'concluded', outcome: verdict.outcome };
    case 'busy':
      throw notReady('an earlier attempt of this call may still be running', verdict.retryAfterMs);
    case 'mismatch': {
      // Not recorded under the key: what is stored there belongs to the call that came first.
      const mismatch: ClassifiedFailure = { class: 'idempotency_mismatch', effectState: 'none' };
      return { status: 'concluded', outcome: attempt.recorder.failed(mismatch, verdict.row) };
    }
    case 'accepted':
    case 'superseded':
      throw notReady('another attempt has taken this call over', notReadyDelayMs);
  }
}

/** A former start may have had its effect: run again where that is safe, else find out, else say that nobody knows. */
async function afterUnknownStart(
  services: Services,
  attempt: Attempt,
  claim: Claim,
  verdict: LedgerVerdict & { type: 'granted' },
): Promise<Former> {
  const { row, lost } = verdict;
  const failure = lostWorker();
  if (lost) await attempt.recorder.recordLost(row, failure);
  // An attempt that ended by itself was judged then; a lost one is judged now. Either way the key may have expired since.
  const decision = decide(services, attempt, failure, lost ? row : { ...row, starts: 0 });
  if (decision.retry) return { status: 'free' };
  const settled = await settleUnknown(services, attempt, claim, failure, row);
  return settled ?? { status: 'free' };
}

/**
 * Ends a call whose last start lost its answer and may not be repeated: the tool's `reconcile` is asked first.
 * `undefined` where the backend was fenced and the body may run after all.
 */
async function settleUnknown(
  services: Services,
  attempt: Attempt,
  claim: Claim,
  failure: ClassifiedFailure,
  row: LedgerRow,
): Promise<(Former & { status: 'concluded' }) | undefined> {
  const found = await reconcile(services, attempt, row);
  if (found.kind === 'done') {
    const success = await attempt.recorder.succeeded(found.result, row);
    return { status: 'concluded', outcome: await settle(services, attempt, claim, success) };
  }
  if (found.kind === 'fenced') {
    await claim.fenced();
    const fenced: ClassifiedFailure = { ...failure, effectState: 'none' };
    if (decide(services, attempt, fenced, { ...row, mayHaveHappened: false }).retry) return undefined;
    return { status: 'concluded', outcome: await settleFailed(services, attempt, claim, fenced, row) };
  }
  const unknown = lostAnswer(failure, tooLateFor(attempt, row));
  return { status: 'concluded', outcome: await settleFailed(services, attempt, claim, unknown, row) };
}

/**
 * Just before the body: one heartbeat of our own, answered by the server. The SDK's heartbeats are throttled and
 * unanswered; this one tells an attempt that was given up, or a cancelled run, before anything is sent.
 */
async function confirmWithServer(claim: Claim, isRead: boolean): Promise<void> {
  const context = Context.current();
  if (context.cancellationSignal.aborted) {
    if (!isRead) await claim.giveBack();
    if (whyCancelled(context) === 'cancelled') throw cancelled('the run was cancelled before the tool was started');
    throw notReady('this worker is stopping', notReadyDelayMs);
  }
  // A read that runs once too often harms nobody, and this costs a round trip.
  if (isRead) return;
  let answer: { cancelRequested?: boolean | null; activityPaused?: boolean | null };
  try {
    answer = await context.client.workflowService.recordActivityTaskHeartbeat({
      namespace: context.info.namespace,
      taskToken: context.info.taskToken,
    });
  } catch (error) {
    await claim.giveBack();
    const why = error instanceof Error ? error.message : String(error);
    throw notReady(`the server did not confirm this attempt, so nothing was run: ${why}`, notReadyDelayMs);
  }
  if (!answer.cancelRequested && !answer.activityPaused) return;
  await claim.giveBack();
  if (answer.cancelRequested) throw cancelled('the run was cancelled before the tool was started');
  throw notReady('this activity is paused', notReadyDelayMs);
}

async function execute(services: Services, attempt: Attempt, claim: Claim, row: LedgerRow): Promise<Outcome> {
  const { tool, live, value, recorder } = attempt;
  const remainingMs = tool.policy.budgetMs - row.spentMs;
  const deadlineMs = Math.max(1, Math.min(tool.policy.timeoutMs, remainingMs));
  const startedAt = performance.now();
  claim.renew();
  try {
    const end = await runBody({
      body: (signal) => live.execute(value, attempt.contextFor(row, signal, deadlineMs)),
      deadlineMs,
      superseded: claim.superseded,
      onLate: (late) =>
        services.log.warn('a tool ended after it was given up; nothing was changed', {
          tool: tool.name,
          key: attempt.call.key,
          start: row.starts,
          ended: late.kind,
        }),
    });
    const durationMs = performance.now() - startedAt;
    const failure = failureOf(services, attempt, end);
    if (failure === undefined) return await settleSucceeded(services, attempt, claim, row, end, durationMs);
    await recorder.recordFailed({ row, failure, thrown: end.kind === 'threw' ? end.thrown : undefined, durationMs });
    return await afterFailure(services, attempt, claim, row, end, failure, durationMs);
  } finally {
    claim.stopRenewing();
  }
}

/** What went wrong in a body's end, `undefined` where nothing did. Control flow of the SDK is thrown on untouched. */
function failureOf(services: Services, attempt: Attempt, end: BodyEnd): ClassifiedFailure | undefined {
  const { live, tool } = attempt;
  switch (end.kind) {
    case 'returned': {
      const declared = live.isFailure?.(end.value);
      if (!declared) return undefined;
      const { effect = 'none', message, class: failureClass, ...rest } = declared;
      return { ...rest, class: failureClass, effectState: effect, reason: message, public: true };
    }
    case 'threw': {
      const classified = classifyThrown(end.thrown, { nowMs: Date.now(), source: live.source });
      if ('control' in classified) throw end.thrown;
      // A body that was told to stop and says nothing of its own has simply run out of its time.
      if (end.interruption === undefined || classified.public) return classified;
      return interruptedFailure(end.interruption, tool.policy.timeoutMs);
    }
    case 'running':
      return interruptedFailure(end.interruption, tool.policy.timeoutMs);
  }
}

function interruptedFailure(interruption: BodyEnd['interruption'], timeoutMs: number): ClassifiedFailure {
  if (interruption === 'cancelled') return { class: 'cancelled', effectState: 'unknown' };
  if (interruption === 'stopping')
    return { ...lostWorker(), reason: 'the worker was stopped in the middle of the call' };
  return { class: 'timeout', effectState: 'unknown', reason: `no answer within ${timeoutMs / 1000} s` };
}

function lostWorker(): ClassifiedFailure {
  return { class: 'timeout', effectState: 'unknown', reason: 'the worker was lost in the middle of the call' };
}

async function settleSucceeded(
  services: Services,
  attempt: Attempt,
  claim: Claim,
  row: LedgerRow,
  end: BodyEnd,
  durationMs: number,
): Promise<Outcome> {
  const { recorder } = attempt;
  const value = end.kind === 'returned' ? end.value : undefined;
  const success = await recorder.succeeded(value, row);
  await recorder.recordEnded(row, success.outcome, durationMs);
  return conclude(await settle(services, attempt, claim, success));
}

/** A start failed: another one, or the call's end. */
async function afterFailure(
  services: Services,
  attempt: Attempt,
  claim: Claim,
  row: LedgerRow,
  end: BodyEnd,
  failure: ClassifiedFailure,
  durationMs: number,
): Promise<Outcome> {
  if (end.interruption === 'superseded') {
    // The claim is left as it is: its lease lapses, and the next attempt judges what this one may have done.
    throw notReady('another attempt has taken this call over', notReadyDelayMs);
  }
  const spent: LedgerRow = { ...row, spentMs: row.spentMs + durationMs };
  let refreshed = false;
  if (failure.class === 'auth_failed') {
    const refresh = await refreshCredentials(services, attempt, row);
    refreshed = refresh.kind === 'renewed';
    // The backend refused this start for its credentials: what the renewal met changes the class, not the effect.
    if (refresh.kind === 'failed') failure = { ...refresh.failure, effectState: failure.effectState };
  }
  const decision = decide(services, attempt, failure, spent, refreshed);
  if (decision.retry) {
    await claim.end(effectLeft(attempt, failure), decision.delayMs);
    throw attemptFailed(attempt.recorder.describe(failure, row), decision.delayMs);
  }
  if (lostAnswer(failure, tooLateFor(attempt, row)).class === 'outcome_unknown') {
    const settled = await settleUnknown(services, attempt, claim, failure, spent);
    if (settled) return conclude(settled.outcome);
    await claim.end('none', 0);
    throw attemptFailed(attempt.recorder.describe(failure, row), notReadyDelayMs);
  }
  const outcome = await settleFailed(services, attempt, claim, failure, spent);
  if (failure.class === 'cancelled') throw cancelled('the run was cancelled');
  return conclude(outcome);
}

function decide(
  services: Services,
  attempt: Attempt,
  failure: ClassifiedFailure,
  row: LedgerRow,
  refreshed = false,
): RetryDecision {
  return decideRetry({
    failure,
    policy: attempt.tool.policy,
    starts: row.starts,
    spentMs: row.spentMs,
    mayHaveHappened: row.mayHaveHappened,
    ...(row.firstStartAtMs === undefined ? {} : { firstStartAtMs: row.firstStartAtMs }),
    nowMs: Date.now(),
    cancelled: failure.class === 'cancelled',
    random: services.random(),
    refreshed,
  });
}

/** What the ledger is told of a start that another one follows. */
function effectLeft(attempt: Attempt, failure: ClassifiedFailure): 'none' | 'unknown' {
  return attempt.tool.policy.effect.kind === 'read' || failure.effectState === 'none' ? 'none' : 'unknown';
}

async function settleFailed(
  services: Services,
  attempt: Attempt,
  claim: Claim,
  failure: ClassifiedFailure,
  row: LedgerRow,
): Promise<Outcome> {
  const outcome = attempt.recorder.failed(failure, row);
  return await settle(services, attempt, claim, { outcome, rendered: attempt.recorder.render(outcome) });
}

async function settle(
  services: Services,
  attempt: Attempt,
  claim: Claim,
  end: Awaited<ReturnType<Attempt['recorder']['succeeded']>>,
): Promise<Outcome> {
  const settled = await claim.settle(end.outcome, end.rendered);
  if (!settled.late) return settled.outcome;
  services.log.warn('a late result was not recorded: the call had been settled or taken over', {
    tool: attempt.tool.name,
    key: attempt.call.key,
    late: end.outcome.status,
    recorded: settled.stored?.status,
  });
  if (settled.stored) return settled.stored;
  throw notReady('another attempt has taken this call over', notReadyDelayMs);
}
