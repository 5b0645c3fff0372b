/** A user's own workflow file, as `workflows:` of perdure.config.ts names it: it re-exports `perdure/workflow`. */
import { CancellationScope, continueAsNew, isCancellation, workflowInfo } from '@temporalio/workflow';
import type { JsonObject } from '../../src/contract/json.js';
import { toolExecutor, type Outcome, type ToolExecutorState } from '../../src/workflows/index.js';

export * from '../../src/workflows/index.js';

interface Call {
  tool: string;
  args: JsonObject;
}

/** Runs one group of calls after another, and returns all outcomes. */
export async function ownCalls(input: { groups: Call[][]; inlineBytes?: number }): Promise<Outcome[][]> {
  const tools = await toolExecutor(input.inlineBytes === undefined ? {} : { inlineBytes: input.inlineBytes });
  const outcomes: Outcome[][] = [];
  for (const group of input.groups) outcomes.push(await tools.callAll(group));
  return outcomes;
}

/** One call a round, each round a run of its own, with two executors side by side. */
export async function ownRounds(input: {
  rounds: number;
  tools?: ToolExecutorState;
  keys?: string[];
}): Promise<{ keys: string[]; state: ToolExecutorState }> {
  const options = input.tools ? { state: input.tools } : {};
  const one = await toolExecutor(options);
  const two = await toolExecutor(options);
  const first = await one.call('refund', { round: input.rounds });
  const second = await two.call('refund', { round: input.rounds });
  const keys = [...(input.keys ?? []), ...[first, second].map(({ callId, key }) => `${callId} ${key}`)];
  if (input.rounds === 1) return { keys, state: two.state() };
  return await continueAsNew<typeof ownRounds>({ rounds: input.rounds - 1, tools: two.state(), keys });
}

/** Forgets its executor's state when it is continued as new. */
export async function forgetsItsState(): Promise<Outcome> {
  const tools = await toolExecutor();
  const outcome = await tools.call('refund', {});
  if (workflowInfo().continuedFromExecutionRunId === undefined) await continueAsNew<typeof forgetsItsState>();
  return outcome;
}

/** Shows the outcome of a call during which the workflow was cancelled. */
export async function outlivesItsCancellation(): Promise<{ outcome: Outcome; cancelled: boolean }> {
  const tools = await toolExecutor();
  const outcome = await tools.call('refund', {});
  try {
    await CancellationScope.current().cancelRequested;
    return { outcome, cancelled: false };
  } catch (error) {
    return { outcome, cancelled: isCancellation(error) };
  }
}

/** Makes calls with arguments too large to be passed in, and returns how they ended. */
export async function ownLargeCalls(input: { text: string; length: number; times: number }): Promise<string[]> {
  const tools = await toolExecutor({ inlineBytes: 0 });
  const text = input.text.repeat(input.length);
  const calls = Array.from({ length: input.times }, (_, n) => ({ tool: 'refund', args: { n, text } }));
  const outcomes = await tools.callAll(calls);
  return outcomes.map((outcome) => ('failure' in outcome ? outcome.failure.class : outcome.status));
}
