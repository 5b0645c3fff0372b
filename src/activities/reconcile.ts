import type { LedgerRow } from '../contract/ledger.js';
import type { Attempt } from './attempt.js';
import { runBody } from './run-body.js';
import type { Services } from './services.js';

export type Found =
  | { kind: 'done'; result: unknown }
  | { kind: 'fenced' }
  | { kind: 'unknown' }
  /** This worker was stopped, or lost the call, before there was an answer: another attempt may ask again. */
  | { kind: 'interrupted' };

/**
 * Asks the tool what became of a start whose answer was lost. Anything but a clear answer is `unknown`: no tool, no
 * time, an error, or "not there" without the backend's promise to refuse a late arrival.
 */
export async function reconcile(
  services: Services,
  attempt: Attempt,
  { row, superseded }: { row: LedgerRow; superseded: AbortSignal },
): Promise<Found> {
  const { live, tool, value } = attempt;
  if (!live.reconcile) return { kind: 'unknown' };
  const end = await runBody({
    body: async (signal) => await live.reconcile?.(value, attempt.contextFor(row, signal, tool.policy.timeoutMs)),
    deadlineMs: tool.policy.timeoutMs,
    superseded,
    onLate: () => undefined,
  });
  if (end.kind !== 'returned') {
    if (end.interruption === 'stopping' || end.interruption === 'superseded') return { kind: 'interrupted' };
    services.log.warn('reconcile gave no answer', {
      tool: tool.name,
      key: attempt.call.key,
      error: end.kind === 'threw' ? String(end.thrown) : `still running at its deadline (${end.interruption})`,
    });
    return { kind: 'unknown' };
  }
  const answer = end.value;
  if (typeof answer !== 'object' || answer === null) return { kind: 'unknown' };
  if ('done' in answer && answer.done === true)
    return { kind: 'done', result: 'result' in answer ? answer.result : null };
  if ('none' in answer && answer.none === true && 'fenced' in answer && answer.fenced === true)
    return { kind: 'fenced' };
  return { kind: 'unknown' };
}
