import { WorkflowExecutionAlreadyStartedError, WorkflowNotFoundError } from '@temporalio/client';
import proto from '@temporalio/proto';
import type { AgentRunResult } from '../contract/run.js';
import type { RunLimits } from '../contract/run-limits.js';
import { AGENT_WORKFLOW_TYPE } from '../contract/task-queue.js';
import type { RecordedExecution } from '../replay/recorded-execution.js';
import { PerdureError } from './perdure-error.js';
import { runEndOf } from './run-end.js';
import type { RunEnd, RunServer, ServerEvent, ServerRun, StartRequest } from './run-server.js';
import { timestampMs } from './server-events.js';
import { pendingWork, serverRun } from './server-run.js';
import { TemporalHistories } from './temporal-histories.js';
import { TemporalRequests, type TemporalRequestsOptions } from './temporal-requests.js';

// A CommonJS package whose names an ES module import does not see.
const { TaskQueueType } = proto.temporal.api.enums.v1;

/** A worker's long poll ends after 60 s at the latest and another follows at once: one silent for longer is gone. */
const POLLER_SILENCE_MS = 70_000;
/** One failed workflow task may be a lost worker; three in a row fail for what is in the run or in its code. */
const STUCK_AFTER_ATTEMPTS = 3;
/** What the Temporal UI shows of the task on one line. */
const TASK_PREVIEW_CHARACTERS = 200;

export interface TemporalRunsOptions extends TemporalRequestsOptions {
  /** Base address of the Temporal UI, where it is known. */
  uiUrl?: string | undefined;
}

/** Runs on a Temporal server: started, looked at, ended. Owns the connection from here on: `close` closes it. */
export class TemporalRuns implements RunServer {
  readonly #requests: TemporalRequests;
  readonly #histories: TemporalHistories;
  readonly #uiUrl: string | undefined;

  constructor(options: TemporalRunsOptions) {
    this.#requests = new TemporalRequests(options);
    this.#histories = new TemporalHistories(this.#requests);
    this.#uiUrl = options.uiUrl;
  }

  runUrl(id: string): string | undefined {
    const { namespace } = this.#requests;
    const uiUrl = this.#uiUrl;
    return uiUrl && `${uiUrl}/namespaces/${encodeURIComponent(namespace)}/workflows/${encodeURIComponent(id)}`;
  }

  async start({ id, input, taskQueue, again }: StartRequest): Promise<void> {
    const task = preview(input.task);
    try {
      await this.#requests.ask(() =>
        this.#requests.client.workflow.start(AGENT_WORKFLOW_TYPE, {
          workflowId: id,
          taskQueue,
          args: [input],
          // One name is one run for as long as anybody can look it up; what goes on is that run.
          workflowIdReusePolicy: again ? 'ALLOW_DUPLICATE' : 'REJECT_DUPLICATE',
          workflowIdConflictPolicy: 'FAIL',
          memo: { runKey: input.runKey, task },
          staticSummary: task,
        }),
      );
    } catch (error) {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
      throw runExists(id, error);
    }
  }

  async describe(id: string): Promise<ServerRun | undefined> {
    try {
      const description = await this.#requests.ask(() => this.#requests.client.workflow.getHandle(id).describe());
      const { pendingActivities, pendingWorkflowTask } = description.raw;
      const attempts = pendingWorkflowTask?.attempt ?? 1;
      return {
        ...serverRun(description),
        pending: (pendingActivities ?? []).map(pendingWork),
        ...(attempts >= STUCK_AFTER_ATTEMPTS && { stuck: { attempts, reason: await this.#histories.whyStuck(id) } }),
      };
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return undefined;
      throw error;
    }
  }

  async list({ taskQueue, limit }: { taskQueue: string; limit: number }): Promise<ServerRun[]> {
    const query = `WorkflowType = '${AGENT_WORKFLOW_TYPE}' AND TaskQueue = '${taskQueue}'`;
    return await this.#requests.ask(async () => {
      const newestById = new Map<string, ServerRun>();
      // A run that continued as new is listed once for each of its executions, the newest first.
      for await (const info of this.#requests.client.workflow.list({ query, pageSize: Math.min(limit, 1_000) })) {
        if (!newestById.has(info.workflowId)) newestById.set(info.workflowId, serverRun(info));
        if (newestById.size >= limit) break;
      }
      return [...newestById.values()];
    });
  }

  async waitForEnd(id: string): Promise<RunEnd> {
    try {
      // No deadline: the SDK polls until the run has ended, however long that takes.
      const result = (await this.#requests.client.workflow.getHandle(id).result()) as AgentRunResult;
      return { status: 'reported', result };
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) throw runNotFound(id, error);
      this.#requests.throwServerProblem(error);
      return runEndOf(error);
    }
  }

  async cancel(id: string): Promise<void> {
    // The server takes a request for a closed workflow and drops it (seen with 1.29): nobody would be told.
    const run = await this.describe(id);
    if (run?.status !== 'running') throw runNotFound(id);
    await this.#requests.ask(() => this.#requests.client.workflow.getHandle(id).cancel());
  }

  async terminate({ id, executionId }: Pick<ServerRun, 'id' | 'executionId'>, reason: string): Promise<void> {
    try {
      await this.#requests.ask(() => this.#requests.client.workflow.getHandle(id, executionId).terminate(reason));
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) throw runNotFound(id, error);
      throw error;
    }
  }

  async hasWorker(taskQueue: string): Promise<boolean> {
    const { namespace } = this.#requests;
    const answer = await this.#requests.ask(() =>
      this.#requests.client.workflowService.describeTaskQueue({
        namespace,
        taskQueue: { name: taskQueue },
        taskQueueType: TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW,
      }),
    );
    const sinceMs = Date.now() - POLLER_SILENCE_MS;
    return (answer.pollers ?? []).some((poller) => (timestampMs(poller.lastAccessTime) ?? 0) > sinceMs);
  }

  async limits(id: string): Promise<RunLimits | undefined> {
    return await this.#histories.limits(id);
  }

  async events(id: string, runKey?: string): Promise<ServerEvent[]> {
    return await this.#histories.events(id, runKey);
  }

  async *histories(id: string): AsyncGenerator<RecordedExecution> {
    const newest = await this.describe(id);
    if (!newest) throw runNotFound(id);
    yield* this.#histories.chain(id, newest.executionId);
  }

  allHistories(filter: { taskQueue: string; closedSinceMs?: number }): AsyncGenerator<RecordedExecution> {
    return this.#histories.all(filter);
  }

  async close(): Promise<void> {
    await this.#requests.close();
  }
}

function runExists(id: string, cause: unknown): PerdureError {
  return new PerdureError('run_exists', `A run with the id "${id}" exists already.`, {
    next: `Look at it with: perdure show ${id} - or give another --id.`,
    cause,
  });
}

function runNotFound(id: string, cause?: unknown): PerdureError {
  return new PerdureError('run_not_found', `The server knows no open run "${id}".`, {
    next: `perdure show ${id}`,
    cause,
  });
}

function preview(task: string): string {
  const line = task.replace(/\s+/g, ' ').trim();
  return line.length <= TASK_PREVIEW_CHARACTERS ? line : `${line.slice(0, TASK_PREVIEW_CHARACTERS - 1)}…`;
}
