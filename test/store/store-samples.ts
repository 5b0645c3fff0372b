import type { CallModelResult } from '../../src/contract/activities.js';
import type { Outcome } from '../../src/contract/call.js';
import type { Effect } from '../../src/contract/effect.js';
import type { Manifest } from '../../src/contract/manifest.js';
import type { AgentRunResult } from '../../src/contract/run.js';
import type { TranscriptMessage } from '../../src/contract/transcript.js';
import type { LedgerEvent } from '../../src/contract/ledger.js';
import type { Intervening, RecordedOutcome, RenderedMessage, TurnCommit, TurnKey } from '../../src/store/records.js';

export const MANIFEST: Manifest = { hash: 'manifest-1', tools: [] };

export function runOf(runKey: string, messages: TranscriptMessage[] = [{ role: 'user', text: 'Refund order 1042' }]) {
  return { runKey, workflowId: `wf-${runKey}`, task: 'Refund order 1042', manifest: MANIFEST, messages };
}

export function endOf(status: AgentRunResult['status'], answer = 'Done.'): AgentRunResult {
  const counters = { steps: 1, calls: 0, inputTokens: 1, outputTokens: 1, costUsd: 0, failures: 0 };
  return { status, answer, termination: { reason: 'answered', summary: 'It answered.' }, counters };
}

export function turnOf(runKey: string, step: number, head: string, change: Partial<TurnKey> = {}): TurnKey {
  return { runKey, step, head, settings: 's1', take: 0, ...change };
}

export function assistant(text: string): TranscriptMessage {
  const usage = { inputTokens: 10, outputTokens: 2, costUsd: 0 };
  return { role: 'assistant', text, calls: [], finishReason: 'stop', usage };
}

/** A turn that answers `text`, with the outcomes it has already refused. */
export function commitOf(turn: TurnKey, text: string, answered: RecordedOutcome[] = []): TurnCommit {
  const usage = { inputTokens: 10, outputTokens: 2, costUsd: 0 };
  const result: Omit<CallModelResult, 'head'> = { calls: [], usage, text, empty: false };
  return { turn, messages: [assistant(text)], result, answered };
}

export function rendered(content: string): RenderedMessage {
  return { content, failed: false };
}

export function succeeded(key: string, callId: string, result: string): Outcome {
  const base = { callId, tool: 'refund_payment', key, attempts: 1, elapsedMs: 5 };
  return { ...base, status: 'succeeded', result: { inline: result } };
}

export function failed(key: string, callId: string): Outcome {
  const failure = { class: 'tool_bug', code: 'TOOL_FAILED_002', effectState: 'none', retryable: false } as const;
  const words = { message: 'broken', suggestedAction: 'Use another tool.' };
  const base = { callId, tool: 'refund_payment', key, attempts: 1, elapsedMs: 5 };
  return { ...base, status: 'failed', failure: { ...failure, ...words } };
}

export function recordedOf(key: string, runKey: string, callId: string, result = 'refused'): RecordedOutcome {
  const outcome = succeeded(key, callId, result);
  return { key, runKey, callId, tool: 'refund_payment', digest: 'd1', outcome, rendered: rendered(result) };
}

/** What a retry writes first: the run goes on. */
export function retryOf(runKey: string): Intervening {
  const former = { status: 'failed' as const };
  const resumed = { carried: {} as never };
  return {
    runKey,
    intervention: { kind: 'retry', id: 'i1', by: 'ada', former, reopened: [], resumed },
    run: { manifest: MANIFEST, pinned: { limits: {} as never, loopPolicy: {} as never } },
    ledger: [],
  };
}

/** Ledger events of one call. */
export function eventsFor(runKey: string, callId: string, effect: Effect = { kind: 'once' }) {
  const call = { runKey, callId, tool: 'refund_payment', digest: 'd1', effect };
  return {
    claim: (token: string, leaseMs = 10_000): LedgerEvent => ({ type: 'claim', call, token, leaseMs, graceMs: 0 }),
    begin: (token: string, leaseMs = 10_000): LedgerEvent => ({ type: 'begin', call, token, leaseMs }),
    end: (token: string): LedgerEvent => ({ type: 'end', token, effect: 'none', waitMs: 0 }),
    giveBack: (token: string): LedgerEvent => ({ type: 'giveBack', token }),
    settle: (token: string, outcome: Outcome): LedgerEvent => ({ type: 'settle', token, outcome }),
    reopen: (): LedgerEvent => ({ type: 'reopen', call }),
    seal: (ifNone: Outcome, ifUnknown: Outcome): LedgerEvent => ({ type: 'seal', call, ifNone, ifUnknown }),
  };
}
