import { Context } from '@temporalio/activity';
import type { ClassifiedFailure, FailureTexts } from '../contract/failure.js';
import type { ToolPolicy } from '../contract/manifest.js';
import type { Model, ModelReply, ModelRequest } from '../models/model.js';
import { CallGuards } from '../guards/call-guards.js';
import type { HeldUp } from '../guards/call-guards.js';
import { estimateInputTokens, usageOf } from '../models/usage.js';
import { classifyThrown, isControl } from '../policy/classify-thrown.js';
import { describeFailure } from '../policy/model-message.js';
import { decideRetry } from '../policy/retry-rule.js';
import { turnAttemptKey } from '../policy/turn-attempt-key.js';
import { attemptFailed, cancelled, notReady, turnFailed } from '../temporal/failure-mapper.js';
import type { TurnKey } from '../store/records.js';
import { RequestWatch } from './request-watch.js';
import { runBody } from './run-body.js';
import type { Services } from './services.js';

/**
 * Asking a model is a read: it changes nothing at the provider, and an answer that was lost is asked for again. Its
 * budget is longer than a tool's, since a rate limit of a minute is ordinary there and a run without its model is over.
 */
const modelPolicy = {
  effect: { kind: 'read' },
  timeoutMs: 300_000,
  budgetMs: 900_000,
  retry: {},
  reconciles: false,
  refreshes: false,
  eventuallyConsistent: false,
  polling: false,
  maxOutputBytes: 16_777_216,
  failureOutput: 'summary',
  errors: 'redacted',
  breaker: null,
  limiter: null,
  retryBudget: null,
  exclusive: false,
} as const satisfies ToolPolicy;

/** What the failure table says of a tool's arguments is, of a model, the conversation. */
const modelMessages: FailureTexts = {
  input_too_large: { message: 'The conversation is too long for {tool}[: {reason}].' },
};

/** One model turn to be asked for. */
export interface ModelTurn {
  model: Model;
  question: Omit<ModelRequest, 'signal'>;
  /** Its attempts and waits are counted under it. */
  turn: TurnKey;
  /** Asked once the request may be sent: a wait for the limiter is no start. */
  countStart: () => Promise<number>;
}

/**
 * One request to the model, within the limits that the configuration sets to it. The turn's time budget covers its attempts
 * and the waits between them, not the time without a worker. Throws the mapper's failures: the next attempt's, or the turn's end
 * where retrying does not cure it.
 */
export async function askModel(services: Services, asked: ModelTurn): Promise<ModelReply> {
  const { model, question, turn, countStart } = asked;
  const limiter = services.modelLimits ?? null;
  // Counting the characters of a long conversation costs more than the rest of a step.
  const estimate = limiter ? estimateInputTokens(question) : 0;
  const guards = new CallGuards(
    services.guards,
    {
      tool: `model:${model.name}`,
      policy: { ...modelPolicy, limiter },
      key: `turn ${turn.runKey} ${turn.step} ${turn.take} ${turn.head} ${turn.settings}`,
      breakerKey: undefined,
      lockKey: undefined,
      tokens: estimate,
    },
    { leaseMs: services.heartbeatTimeoutMs, random: () => services.random(), log: services.log },
  );
  const held = await guards.enter(Context.current().cancellationSignal);
  if (held) throw await heldUp(services, asked, guards, held);
  try {
    const start = await countStart();
    guards.begin();
    const reply = await sendRequest(services, asked, guards, start);
    if (limiter) {
      const { inputTokens, outputTokens } = usageOf(reply, question, undefined);
      await guards.correctTokens(inputTokens + outputTokens - estimate);
    }
    return reply;
  } finally {
    await guards.leave();
  }
}

/** The slot is given back until the limiter has room; a limit that leaves none within the turn's budget ends the turn. */
async function heldUp(
  services: Services,
  { model }: ModelTurn,
  guards: CallGuards,
  { failure, waitMs }: HeldUp,
): Promise<Error> {
  const described = describeFailure(failure, {
    toolName: model.name,
    attempts: 0,
    redact: (text) => services.redactor.text(text),
  });
  const mayWait = await guards.mayWait(waitMs, modelPolicy.budgetMs);
  return mayWait ? attemptFailed(described, waitMs) : turnFailed(described);
}

async function sendRequest(
  services: Services,
  { model, question, turn }: ModelTurn,
  guards: CallGuards,
  starts: number,
): Promise<ModelReply> {
  const watch = new RequestWatch();
  const startedAtMs = Date.now();
  const sentAtMs = performance.now();
  const end = await runBody({
    body: (signal) => watch.run(() => model.complete({ ...question, signal })),
    deadlineMs: modelPolicy.timeoutMs,
    superseded: new AbortController().signal,
    onLate: () =>
      services.log.warn('a model answered after it was given up; the answer was dropped', { model: model.name }),
  });

  const durationMs = performance.now() - sentAtMs;
  await recordRetried(services, watch, { model: model.name, turn, start: starts, startedAtMs });
  if (end.kind === 'returned') {
    services.metrics.modelAnswered(model.name, durationMs);
    return end.value as ModelReply;
  }
  if (end.interruption === 'cancelled') throw cancelled('the run was cancelled while the model was asked');
  if (end.interruption === 'stopping' || end.interruption === 'superseded') {
    throw notReady('this worker stopped asking the model; another attempt asks again', 1_000);
  }
  const failure = failureOf(end.kind === 'threw' && end.interruption === undefined ? end.thrown : undefined);
  services.metrics.modelAnswered(model.name, durationMs, failure.class);
  const decision = decideRetry({
    failure,
    policy: modelPolicy,
    starts,
    spentMs: (await guards.waitedMs()) + durationMs,
    mayHaveHappened: false,
    nowMs: Date.now(),
    cancelled: false,
    random: services.random(),
  });
  const described = describeFailure(failure, {
    toolName: model.name,
    attempts: starts,
    messages: modelMessages,
    redact: (text) => services.redactor.text(text),
  });
  services.log.warn('the model did not answer', {
    model: model.name,
    error_type: failure.class,
    upstream_status: failure.upstreamStatus,
    attempt: starts,
    retry: decision.retry,
    reason: services.redactor.text(failure.reason ?? ''),
  });
  if (!decision.retry) throw turnFailed(described);
  await guards.mayWait(Math.round(durationMs + decision.delayMs), Number.MAX_SAFE_INTEGER);
  throw attemptFailed(described, decision.delayMs);
}

/**
 * A model's client that retries by itself multiplies the turn's attempts and waits outside its budget; the starts in which
 * one did are recorded. A side matter: the turn goes on without it.
 */
async function recordRetried(
  services: Services,
  watch: RequestWatch,
  { model, turn, start, startedAtMs }: { model: string; turn: TurnKey; start: number; startedAtMs: number },
): Promise<void> {
  const requests = watch.seen((text) => services.redactor.text(text));
  if (!requests?.retried) return;
  services.hiddenRetries.tell(`model ${model}`, requests);
  const key = turnAttemptKey(turn, model);
  try {
    const worker = services.workerIdentity;
    await services.store.recordAttempt({ key, start, worker, startedAtMs, endedAtMs: Date.now(), requests });
  } catch (error) {
    services.log.warn('a model client that retries by itself could not be recorded', { model, error: String(error) });
  }
}

function failureOf(thrown: unknown): ClassifiedFailure {
  if (thrown === undefined) {
    return { class: 'timeout', effectState: 'none', reason: `no answer within ${modelPolicy.timeoutMs / 1000} s` };
  }
  const classified = classifyThrown(thrown, { nowMs: Date.now(), source: 'model' });
  if (!isControl(classified)) return classified;
  throw thrown instanceof Error ? thrown : new Error('the model threw control flow of another SDK', { cause: thrown });
}
