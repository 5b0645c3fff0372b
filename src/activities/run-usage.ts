import type { PaidCall, RunCounters } from '../contract/run.js';
import { chargeAgent, childRunKey } from '../policy/agent-budget.js';
import { keyOf } from '../policy/prepared-call.js';
import { noCounters } from '../policy/run-budget.js';
import type { CallRecord } from '../store/records.js';
import type { Store } from '../store/store.js';

type StoredTurn = Awaited<ReturnType<Store['listTurns']>>[number];

/**
 * What a run has used so far, from the store: also of a run that was terminated, which reports nothing. Every answered model
 * turn counts, those of branches and takes that were left behind included, since they were paid for; and so do the runs of
 * its agents, down to the last.
 */
export async function usageOf(store: Store, runKey: string): Promise<RunCounters> {
  const run = await store.getRun(runKey);
  if (run?.result) return run.result.counters;
  if (!run) return noCounters;
  const [turns, calls] = await Promise.all([store.listTurns(runKey), store.listCalls(runKey)]);
  return await usageOfParts(store, turns, calls);
}

/** The same from a run's turns and calls, whatever its end says. */
export async function usageOfParts(
  store: Store,
  turns: readonly StoredTurn[],
  calls: readonly CallRecord[],
): Promise<RunCounters> {
  const counters = turns.reduce<RunCounters>(
    (sum, { turn, result }) => ({
      ...sum,
      steps: result.finalTurn ? sum.steps : Math.max(sum.steps, turn.step),
      inputTokens: sum.inputTokens + result.usage.inputTokens,
      outputTokens: sum.outputTokens + result.usage.outputTokens,
      costUsd: sum.costUsd + result.usage.costUsd,
    }),
    { ...noCounters },
  );
  const asked = new Set(turns.flatMap(({ result }) => (result.finalTurn ? [] : result.calls.map(keyOf))));
  const failed = calls.filter(({ row }) => row.outcome && 'failure' in row.outcome && asked.has(row.key));
  const refused = failed.filter(({ row }) => isOverBudget(row));
  const own = { ...counters, calls: asked.size - refused.length, failures: failed.length };
  return chargeAgent(own, await usageOfAgents(store, calls));
}

/**
 * What the agents that these calls stand for have used, for the budget of their parent. An agent's call is charged when it
 * ends: what a child that is still open has used is counted then.
 */
export async function usageOfAgents(store: Store, calls: readonly CallRecord[]): Promise<RunCounters> {
  let all: RunCounters = noCounters;
  for (const { row } of calls) {
    if (!row.outcome) continue;
    const key = childRunKey(row.runKey, row.callId);
    if (await store.getRun(key)) all = chargeAgent(all, await usageOf(store, key));
  }
  return all;
}

/**
 * What the run's counters hold for the calls of the turns that the step had: a model that is asked anew for the step may ask
 * for them again, under the same keys. `reopened`: keys of those that run again, whose next failure is another one.
 */
export async function paidCalls(store: Store, { step, turns, calls, reopened }: PaidQuestion): Promise<PaidCall[]> {
  const rows = new Map(calls.map((call) => [call.row.key, call]));
  const asked = turns.filter(({ turn, result }) => turn.step === step && !result.finalTurn);
  const keys = new Set(asked.flatMap(({ result }) => result.calls.map(keyOf)));
  const paid: PaidCall[] = [];
  for (const key of keys) {
    const record = rows.get(key);
    if (record && isOverBudget(record.row)) continue;
    const { outcome } = record?.row ?? {};
    const isFailed = outcome !== undefined && 'failure' in outcome && !reopened.has(key);
    const agent = record ? await usageOfAgents(store, [record]) : noCounters;
    paid.push({ key, ...(isFailed ? { failed: true } : {}), ...(agent === noCounters ? {} : { agent }) });
  }
  return paid;
}

interface PaidQuestion {
  step: number;
  turns: readonly StoredTurn[];
  calls: readonly CallRecord[];
  reopened: ReadonlySet<string>;
}

/** Refused because the budget had no room for it, so that it took none. */
function isOverBudget({ outcome, starts }: CallRecord['row']): boolean {
  return starts === 0 && outcome !== undefined && 'failure' in outcome && outcome.failure.class === 'budget_exhausted';
}
