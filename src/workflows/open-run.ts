import { workflowInfo } from '@temporalio/workflow';
import type { ResumedRun } from '../contract/intervention.js';
import type { AgentRunInput, CarriedRun } from '../contract/run.js';
import { newRun } from '../policy/new-run.js';
import { bookkeeping } from './run-activities.js';

/** A run as an execution takes it up. */
export interface OpenedRun {
  runKey: string;
  state: CarriedRun;
  /** `continued`: the search attributes and the details came along with it. */
  how: 'started' | 'resumed' | 'continued';
  /** The step with which a resumed run goes on. */
  resumed?: ResumedRun;
}

/**
 * Starts the run (pins the tools, writes its root), rebuilds one that ended before from the store, or takes up what
 * continue-as-new carried over.
 */
export async function openRun(input: AgentRunInput): Promise<OpenedRun> {
  const info = workflowInfo();
  // Without a client's key (a workflow started by hand) Temporal's first run id serves: it survives reset and
  // continue-as-new, and cron workflows, which share it, are refused.
  const runKey = input.runKey ?? info.firstExecutionRunId;
  if (input.carried) return { runKey, state: structuredCopy(input.carried), how: 'continued' };
  const start = {
    runKey,
    workflowId: info.workflowId,
    task: input.task,
    ...(input.limits ? { limits: input.limits } : {}),
    ...(input.model === undefined ? {} : { model: input.model }),
    ...(input.agent ? { agent: input.agent } : {}),
  };
  if (input.resume) {
    const resumed = await bookkeeping.resumeRun({ ...start, resume: input.resume });
    return { runKey, state: resumed.carried, how: 'resumed', resumed };
  }
  const started = await bookkeeping.startRun(start);
  return { runKey, state: newRun(started, info.startTime.getTime()), how: 'started' };
}

// The input belongs to the SDK; `structuredClone` is missing in the sandbox, and the state is JSON.
function structuredCopy<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}
