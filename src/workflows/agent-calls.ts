import { CancellationScope, condition, startChild, workflowInfo } from '@temporalio/workflow';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import type { CallToolInput, ChildEnd, OpenAgentCallInput } from '../contract/activities.js';
import type { Outcome, PreparedCall } from '../contract/call.js';
import type { ResumeRequest } from '../contract/resume-request.js';
import type { AgentSpec, ManifestSummary } from '../contract/manifest.js';
import type { AgentRunInput, AgentRunResult, RunCounters } from '../contract/run.js';
import { AGENT_WORKFLOW_TYPE } from '../contract/task-queue.js';
import { carveLimits, chargeAgent, childRunKey, takeBackAgent } from '../policy/agent-budget.js';
import type { AgentBudget, AgentShare } from '../policy/agent-budget.js';
import { isCancellation, readChildError } from '../temporal/failure-mapper.js';
import { refuse } from './refuse-call.js';
import { bookkeeping, endFormerAgent } from './run-activities.js';

type PinnedAgent = Omit<AgentSpec, 'tools'>;

export interface AgentCallsOptions {
  /** Depth of the run that makes the calls: 0 for the first. */
  depth: number;
  catalogue: string;
  /** The run's own choice of model, which agents without one inherit. */
  model?: string;
  /** The run's budget, charged with what its children use. Absent for `toolExecutor()`, which has none. */
  budget?: AgentBudget;
  /** Set for the step with which a resumed run goes on: its children may have ended before, and go on as well. */
  resume?: ResumeRequest;
}

/** What the Temporal UI shows of a task on one line. */
const taskPreviewCharacters = 200;

/** The agent calls of one step: child runs, so many at once, each with a part of what the run has left. */
export class AgentCalls {
  readonly #options: AgentCallsOptions;
  readonly #running = new Map<string, { agent: string; share: AgentShare }>();
  #waiting = 0;

  constructor(options: AgentCallsOptions) {
    this.#options = options;
  }

  /** Before the step's first call is started: what is left is divided among all of its agents. */
  expect(calls: PreparedCall[], manifest: ManifestSummary): void {
    const agents = new Set(manifest.tools.filter(({ agent }) => agent).map(({ name }) => name));
    this.#waiting = calls.filter((prepared) => prepared.status === 'ready' && agents.has(prepared.call.tool)).length;
  }

  /**
   * Runs one call as a child run and returns its outcome. A child that is running when this run is cancelled is cancelled
   * and waited for.
   */
  async run(input: CallToolInput, agent: PinnedAgent, heartbeatTimeoutMs: number): Promise<Outcome> {
    const { call } = input;
    let isWaiting = true;
    const begin = (): void => {
      if (isWaiting) this.#waiting -= 1;
      isWaiting = false;
    };
    try {
      if (agent.maxDepth <= this.#options.depth) {
        const reason = `agents may be started at most ${agent.maxDepth} deep, and this would be the next`;
        return refuse(call, 'unsupported', reason);
      }
      const isFree = (): boolean => this.#runningOf(call.tool) < agent.maxConcurrent;
      if (!isFree()) await this.#waitFor(isFree);
      if (CancellationScope.current().consideredCancelled) {
        return refuse(call, 'cancelled', 'the run was cancelled first');
      }
      const former = this.#options.budget?.paid?.find(({ key }) => key === call.key)?.agent;
      const carved = this.#carve(agent, former);
      if (carved === undefined) return refuse(call, 'budget_exhausted', 'the run has nothing left for another agent');
      begin();
      this.#running.set(call.callId, { agent: call.tool, share: carved.share });
      const opening = { ...input, childRunKey: childRunKey(call.runKey, call.callId) };
      this.#count((counters) => (former ? takeBackAgent(counters, former) : counters));
      try {
        return await this.#runChild(opening, carved.limits, heartbeatTimeoutMs);
      } catch (error) {
        // It has no end that would report what it used.
        this.#count((counters) => (former ? chargeAgent(counters, former) : counters));
        throw error;
      }
    } finally {
      begin();
      this.#running.delete(call.callId);
    }
  }

  async #runChild(
    input: OpenAgentCallInput,
    limits: Partial<AgentRunInput['limits']>,
    heartbeatTimeoutMs: number,
  ): Promise<Outcome> {
    const opened = await bookkeeping.openAgentCall(input);
    if (opened.status === 'settled') return this.#charged(opened);
    const child: AgentRunInput & { runKey: string } = {
      task: opened.task,
      runKey: input.childRunKey,
      limits: limits ?? {},
      ...(this.#options.model === undefined ? {} : { model: this.#options.model }),
      agent: { tool: input.call.tool, depth: this.#options.depth + 1, catalogue: this.#options.catalogue },
      ...this.#resumeOf(input.call.callId),
    };
    const workflowId = `${workflowInfo().workflowId}/${input.call.callId}`;
    const end = await endOfChild(workflowId, child, heartbeatTimeoutMs);
    // Whatever cancelled this run, the child has ended: its outcome is recorded before the run's end is.
    return this.#charged(await CancellationScope.nonCancellable(() => bookkeeping.closeAgentCall({ ...input, end })));
  }

  /** Its last turn is asked anew only where it is the run's own that a person did not like. */
  #resumeOf(callId: string): { resume?: ResumeRequest } {
    if (!this.#options.resume) return {};
    const { askAgain: _askAgain, ...resume } = this.#options.resume;
    return { resume: { ...resume, id: `${resume.id}/${callId}` } };
  }

  #charged({ outcome, used }: { outcome: Outcome; used: RunCounters }): Outcome {
    this.#count((counters) => chargeAgent(counters, used));
    return outcome;
  }

  #count(change: (counters: RunCounters) => RunCounters): void {
    const { budget } = this.#options;
    if (budget) budget.counters = change(budget.counters);
  }

  /** `former`: what the child used before, which its limits count again. */
  #carve(agent: PinnedAgent, former: RunCounters | undefined): ReturnType<typeof carveLimits> {
    const { budget } = this.#options;
    if (!budget) return { limits: agent.limits, share: { calls: null, tokens: null, costUsd: null } };
    const reserved = [...this.#running.values()].map(({ share }) => share);
    const left = former ? { ...budget, counters: takeBackAgent(budget.counters, former) } : budget;
    return carveLimits({ own: agent.limits, budget: left, reserved, waiting: this.#waiting, nowMs: Date.now() });
  }

  #runningOf(agent: string): number {
    return [...this.#running.values()].filter((running) => running.agent === agent).length;
  }

  async #waitFor(isFree: () => boolean): Promise<void> {
    try {
      await condition(isFree);
    } catch (error) {
      if (!isCancellation(error)) throw error;
    }
  }
}

/**
 * Starts the child and waits for its end. After a reset of this run the child of the course that was given up may still be
 * there under the same id: it is cancelled, waited for, and started again with the same keys.
 */
async function endOfChild(
  workflowId: string,
  input: AgentRunInput & { runKey: string },
  heartbeatTimeoutMs: number,
): Promise<ChildEnd> {
  for (;;) {
    try {
      const handle = await startChild<(input: AgentRunInput) => Promise<AgentRunResult>>(AGENT_WORKFLOW_TYPE, {
        workflowId,
        args: [input],
        memo: { runKey: input.runKey, task: preview(input.task) },
        staticSummary: preview(input.task),
        cancellationType: 'WAIT_CANCELLATION_COMPLETED',
        parentClosePolicy: 'REQUEST_CANCEL',
      });
      return { kind: 'ended', result: await handle.result() };
    } catch (error) {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) return readChildError(error);
      const former = await endFormerAgent({ workflowId, runKey: input.runKey }, heartbeatTimeoutMs);
      if (!former.ended) return { kind: 'failed', reason: `another workflow has the id ${workflowId}` };
    }
  }
}

function preview(task: string): string {
  const line = task.replaceAll(/\s+/g, ' ').trim();
  return line.length <= taskPreviewCharacters ? line : `${line.slice(0, taskPreviewCharacters - 1)}…`;
}
