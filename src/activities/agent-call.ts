import { randomUUID } from 'node:crypto';
import type {
  AgentCallEnd,
  AgentCallOpening,
  CloseAgentCallInput,
  OpenAgentCallInput,
} from '../contract/activities.js';
import type { Outcome } from '../contract/call.js';
import type { ClassifiedFailure } from '../contract/failure.js';
import type { AgentRunResult } from '../contract/run.js';
import { ledgerEffect } from '../policy/ledger-effect.js';
import type { LedgerRow } from '../contract/ledger.js';
import { normalizeResult } from '../results/normalize-result.js';
import { StoreError } from '../store/store-error.js';
import { partial } from '../tools/results.js';
import { asLatestOfCall } from './asking-execution.js';
import { prepareAttempt } from './attempt.js';
import { CallRecorder } from './call-recorder.js';
import { usageOf } from './run-usage.js';
import type { ManifestCache, Services } from './services.js';
import { requireStep, requireStore } from './store-identity.js';
import { successOutcome } from './success-outcome.js';
import type { SuccessfulEnd } from './success-outcome.js';

/** Failed calls of a child that its parent's model is told one by one. */
const toldFailures = 10;

/**
 * Before the child: returns the outcome that the call has already, or words the child's task and counts the start. What the
 * arguments are refused for is recorded like any other call's.
 */
export async function openAgentCall(
  services: Services,
  manifests: ManifestCache,
  input: OpenAgentCallInput,
): Promise<AgentCallOpening> {
  const { call, childRunKey } = input;
  const { store } = services;
  requireStore(store, input.storeId);
  const step = requireStep(store, call.runKey, input.stepNode);
  await step;
  const known = (await store.getCall(call.key))?.row.outcome;
  // Also of one that does not go on: what its run used before counts.
  const settled = async (outcome: Outcome): Promise<AgentCallOpening> => {
    return { status: 'settled', outcome, used: await usageOf(store, childRunKey) };
  };
  if (known) return await settled(known);
  const attempt = await prepareAttempt(services, manifests, input, step);
  if (attempt.status === 'refused') return await settled(attempt.outcome);
  const { recorder, live, value, tool } = attempt;
  const worded = wordTask(() => live.agent?.task(value));
  if ('failure' in worded) {
    return await settled(await recorder.refuse(worded.failure));
  }
  const { runKey, callId, digest } = call;
  const event = {
    type: 'begin',
    call: { runKey, callId, tool: call.tool, digest, effect: ledgerEffect(tool) },
    token: randomUUID(),
    leaseMs: services.heartbeatTimeoutMs,
  } as const;
  const verdict = await asLatestOfCall(services, runKey, (by) => store.applyLedger(call.key, event, undefined, by));
  if (verdict.type === 'mismatch') {
    const mismatch: ClassifiedFailure = { class: 'idempotency_mismatch', effectState: 'none' };
    return await settled(recorder.failed(mismatch, verdict.row));
  }
  return { status: 'ready', task: worded.task };
}

function wordTask(task: () => unknown): { task: string } | { failure: ClassifiedFailure } {
  const bug = (reason: string): { failure: ClassifiedFailure } => ({
    failure: { class: 'tool_bug', effectState: 'none', reason },
  });
  try {
    const words = task();
    if (typeof words === 'string' && words.trim() !== '') return { task: words };
    return bug(`its task function returned ${typeof words === 'string' ? 'an empty text' : typeof words}`);
  } catch (error) {
    return bug(`its task function threw: ${String(error)}`);
  }
}

/** After the child: its end becomes the call's outcome, worded once and stored under the call's key. The first one stays. */
export async function closeAgentCall(
  services: Services,
  manifests: ManifestCache,
  input: CloseAgentCallInput,
): Promise<AgentCallEnd> {
  const { call, childRunKey } = input;
  const { store } = services;
  requireStore(store, input.storeId);
  const row = (await store.getCall(call.key))?.row;
  if (!row)
    throw new StoreError('missing_node', `the store does not hold the agent's call ${call.callId} (${call.key})`);
  const used = await usageOf(services.store, childRunKey);
  if (row.outcome) return { outcome: row.outcome, used };
  const end = await outcomeOf(services, manifests, input, row);
  const event = { type: 'settle', token: randomUUID(), outcome: end.outcome } as const;
  const verdict = await asLatestOfCall(services, call.runKey, (by) =>
    store.applyLedger(call.key, event, end.rendered, by),
  );
  if (verdict.type === 'superseded' && verdict.row?.outcome) return { outcome: verdict.row.outcome, used };
  if (verdict.type !== 'accepted') throw new TypeError(`settling ${call.key} gave ${verdict.type}`);
  return { outcome: end.outcome, used };
}

async function outcomeOf(
  services: Services,
  manifests: ManifestCache,
  input: CloseAgentCallInput,
  row: LedgerRow,
): Promise<SuccessfulEnd> {
  const { call, end } = input;
  const tool = await manifests.tool(input.manifestHash, call.tool);
  const recorder = new CallRecorder({ services, input, tool, live: services.tools.get(call.tool) });
  if (end.kind === 'ended' && tool) {
    const result = await resultOf(services, input, end.result);
    const normalized = await normalizeResult(result, { maxBytes: tool.policy.maxOutputBytes });
    const ended = { call, tool, inlineBytes: input.inlineBytes, repeatOf: input.repeatOf };
    const success = await successOutcome(services.store, ended, normalized, row);
    recorder.logOutcome(success.outcome);
    return success;
  }
  const failure: ClassifiedFailure =
    end.kind === 'failed'
      ? { class: 'tool_error', effectState: 'unknown', reason: end.reason }
      : { class: 'cancelled', effectState: 'unknown' };
  const outcome = recorder.failed(failure, row);
  recorder.logOutcome(outcome);
  return { outcome, rendered: recorder.render(outcome) };
}

/** The child's answer; as a partial success of low confidence where not everything in the child went well. */
async function resultOf(services: Services, input: CloseAgentCallInput, result: AgentRunResult): Promise<unknown> {
  const failed = await failuresOf(services, input.childRunKey);
  const answer = await wholeAnswer(services, input.childRunKey, result.answer);
  if (result.status !== 'completed') {
    const { reason, summary } = result.termination;
    failed.unshift({ agent: input.call.tool, ended: reason, message: summary });
  }
  if (failed.length === 0) return answer;
  return partial({ succeeded: answer === '' ? [] : [answer], failed, confidence: 'low' });
}

async function failuresOf(services: Services, childRunKey: string): Promise<unknown[]> {
  const calls = await services.store.listCalls(childRunKey);
  const failed = calls.flatMap(({ row }) => (row.outcome && isFailed(row.outcome) ? [row.outcome] : []));
  const told: unknown[] = failed.slice(0, toldFailures).map(({ tool, failure }) => ({
    tool,
    error_type: failure.class,
    message: failure.message,
    ...(failure.effectState === 'none' ? {} : { effect_state: failure.effectState }),
  }));
  if (failed.length > toldFailures) told.push({ message: `and ${failed.length - toldFailures} more failed calls` });
  return told;
}

/** A run's result holds the beginning of a long answer; the whole is in the transcript. */
async function wholeAnswer(services: Services, childRunKey: string, answer: string): Promise<string> {
  if (answer === '') return '';
  const head = (await services.store.getRun(childRunKey))?.head ?? '';
  const message = head === '' ? undefined : (await services.store.getNode(head))?.message;
  return message?.role === 'assistant' && message.text !== '' ? services.redactor.text(message.text) : answer;
}

function isFailed(outcome: Outcome): outcome is Outcome & { status: 'failed' | 'aborted' } {
  return outcome.status === 'failed' || outcome.status === 'aborted';
}
