import { CancellationScope, continueAsNew, patched, workflowInfo } from '@temporalio/workflow';
import type { AgentRunInput, AgentRunResult } from '../contract/run.js';
import { isCancellation, runFailed } from '../temporal/failure-mapper.js';
import { AgentRun } from './agent-run-state.js';
import { executeCalls } from './execute-calls.js';
import { refuseRepeats } from './tool-executor.js';

/**
 * A whole agent: model → tools → model …, until it answers or a cap ends it. Every call that the model asks for has
 * exactly one outcome before the next turn.
 *
 * Returns an `AgentRunResult` that says why it ended. Where the run could not be completed, the workflow fails with
 * type `RunFailed` and the same result in its details; on cancellation it ends as cancelled, after what was running has
 * ended or been settled.
 */
export async function agentRun(input: AgentRunInput): Promise<AgentRunResult> {
  refuseRepeats();
  const run = await AgentRun.open(input);
  try {
    const result = await takeSteps(run, input);
    await run.close(result);
    if (result.status === 'failed') throw runFailed(result);
    return result;
  } catch (error) {
    if (isCancellation(error)) await CancellationScope.nonCancellable(() => run.close(run.end('cancelled')));
    throw error;
  }
}

async function takeSteps(run: AgentRun, input: AgentRunInput): Promise<AgentRunResult> {
  const ended = await finishResumed(run);
  if (ended) return ended;
  for (;;) {
    const cap = run.reachedCap();
    if (cap) return await run.answerWithoutTools(cap);

    const turn = await run.askModel();
    if (turn.status === 'ended') return turn.result;
    if (turn.result.calls.length === 0) return run.endWith('answered', turn.result.text);

    // Reserved before anything is scheduled: what exceeds the budget is answered without running.
    const calls = run.admit(turn.result.calls);
    const outcomes = await executeCalls(calls, run.stepContext());
    run.record(outcomes);
    // Settled calls are recorded first, so that a cancelled run leaves no call without its outcome.
    run.throwIfCancelled();
    const end = run.endAfter(outcomes);
    if (end) return end;
    if (isLongEnough()) {
      await continueAsNew<typeof agentRun>({ ...input, carried: run.carry() });
    }
  }
}

/**
 * The server suggests continue-as-new after 4,096 events, which is some 340 steps. Reading so many anew took up to 2 s, at 4 to
 * 6 ms a step, and that is what a run waits for when its worker dies: half of them are read in half the time
 * (docs/benchmarks.md, "Recovery").
 */
const mostEvents = 2_048;

/** Whether the next step belongs into an execution of its own. */
function isLongEnough(): boolean {
  const { continueAsNewSuggested, historyLength } = workflowInfo();
  return continueAsNewSuggested || (historyLength >= mostEvents && patched('continue-as-new-at-2048-events'));
}

/** Brings the step to its end that the former execution of a resumed run left open. */
async function finishResumed(run: AgentRun): Promise<AgentRunResult | undefined> {
  const { step, answer } = run.resumed;
  if (answer !== undefined) return run.endWith('answered', answer);
  if (!step) return undefined;
  const outcomes = await executeCalls(run.admit(step.open), run.stepContext());
  run.record(outcomes, step);
  run.throwIfCancelled();
  return run.endAfter(outcomes);
}
