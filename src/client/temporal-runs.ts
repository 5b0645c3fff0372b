import { hostname } from 'node:os';
import {
  Client,
  type Connection,
  isGrpcServiceError,
  type WorkflowExecutionInfo,
  WorkflowNotFoundError,
  WorkflowExecutionAlreadyStartedError,
} from '@temporalio/client';
import proto from '@temporalio/proto';
import type { temporal } from '@temporalio/proto';
import { AGENT_WORKFLOW_TYPE } from '../contract/task-queue.js';
import type { AgentRunResult } from '../contract/run.js';
import type { RunLimits } from '../contract/run-limits.js';
import { pinnedLimits } from '../replay/history-words.js';
import { executionOf, type RecordedExecution } from '../replay/recorded-execution.js';
import { unreachableAdvice } from '../server/connection.js';
import { PerdureError } from './perdure-error.js';
import { userName } from './user-name.js';
import { runEndOf } from './run-end.js';
import type {
  PendingWork,
  RunEnd,
  RunServer,
  ServerEvent,
  ServerRun,
  ServerStatus,
  StartRequest,
} from './run-server.js';
import { serverEvents, timestampMs } from './server-events.js';

// A CommonJS package whose names an ES module import does not see.
const { TaskQueueType, PendingActivityState } = proto.temporal.api.enums.v1;

/** gRPC status codes, https://grpc.github.io/grpc/core/md_doc_statuscodes.html */
const DEADLINE_EXCEEDED = 4;
const UNAVAILABLE = 14;
const PERMISSION_DENIED = 7;
const UNAUTHENTICATED = 16;

/** A worker's long poll ends after 60 s at the latest and another follows at once: one silent for longer is gone. */
const POLLER_SILENCE_MS = 70_000;
/** A server that has not answered by then is as good as gone; nothing here waits longer, except for a run's end. */
const REQUEST_TIMEOUT_MS = 5_000;
/** The run's start is its first activity: its result comes within that many events, failed attempts leave none. */
const LIMITS_WITHIN_EVENTS = 20;
/** A history has up to 50,000 events and 50 MB (the server's limits), fetched in pages. */
const HISTORY_TIMEOUT_MS = 60_000;
/** One failed workflow task may be a lost worker; three in a row fail for what is in the run or in its code. */
const STUCK_AFTER_ATTEMPTS = 3;
/** What the Temporal UI shows of the task on one line. */
const TASK_PREVIEW_CHARACTERS = 200;

export interface TemporalRunsOptions {
  connection: Connection;
  namespace: string;
  address: string;
  /** What to do where it does not answer any more. Default: to start it, or name another. */
  advice?: string;
  /** Base address of the Temporal UI, where it is known. */
  uiUrl?: string | undefined;
}

/** Runs on a Temporal server. Owns the connection from here on: `close` closes it. */
export class TemporalRuns implements RunServer {
  readonly #client: Client;
  readonly #options: TemporalRunsOptions;

  constructor(options: TemporalRunsOptions) {
    this.#options = options;
    const { connection, namespace } = options;
    // Histories keep who asked; the SDK would say the process's id, which tells nobody anything tomorrow.
    this.#client = new Client({ connection, namespace, identity: `${userName()}@${hostname()}` });
  }

  runUrl(id: string): string | undefined {
    const { uiUrl, namespace } = this.#options;
    return uiUrl && `${uiUrl}/namespaces/${encodeURIComponent(namespace)}/workflows/${encodeURIComponent(id)}`;
  }

  async start({ id, input, taskQueue, again }: StartRequest): Promise<void> {
    const task = preview(input.task);
    try {
      await this.#ask(() =>
        this.#client.workflow.start(AGENT_WORKFLOW_TYPE, {
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
      const description = await this.#ask(() => this.#client.workflow.getHandle(id).describe());
      const { pendingActivities, pendingWorkflowTask } = description.raw;
      const attempts = pendingWorkflowTask?.attempt ?? 1;
      return {
        ...serverRun(description),
        pending: (pendingActivities ?? []).map(pendingWork),
        ...(attempts >= STUCK_AFTER_ATTEMPTS && { stuck: { attempts, reason: await this.#whyStuck(id) } }),
      };
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return undefined;
      throw error;
    }
  }

  async limits(workflowId: string): Promise<RunLimits | undefined> {
    const { namespace } = this.#options;
    const answer = await this.#ask(() =>
      this.#client.workflowService.getWorkflowExecutionHistory({
        namespace,
        execution: { workflowId },
        maximumPageSize: LIMITS_WITHIN_EVENTS,
      }),
    );
    return pinnedLimits(answer.history?.events ?? []);
  }

  /** What the last failed workflow task says; the server keeps the first failure of a row of them. */
  async #whyStuck(id: string): Promise<string> {
    const { history } = await this.#ask(() =>
      this.#client.workflowService.getWorkflowExecutionHistoryReverse({
        namespace: this.#options.namespace,
        execution: { workflowId: id },
        maximumPageSize: 20,
      }),
    );
    const failed = history?.events?.find((event) => event.workflowTaskFailedEventAttributes);
    return failed?.workflowTaskFailedEventAttributes?.failure?.message ?? 'the server does not say why';
  }

  async list({ taskQueue, limit }: { taskQueue: string; limit: number }): Promise<ServerRun[]> {
    const query = `WorkflowType = '${AGENT_WORKFLOW_TYPE}' AND TaskQueue = '${taskQueue}'`;
    return await this.#ask(async () => {
      const newestById = new Map<string, ServerRun>();
      // A run that continued as new is listed once for each of its executions, the newest first.
      for await (const info of this.#client.workflow.list({ query, pageSize: Math.min(limit, 1_000) })) {
        if (!newestById.has(info.workflowId)) newestById.set(info.workflowId, serverRun(info));
        if (newestById.size >= limit) break;
      }
      return [...newestById.values()];
    });
  }

  async waitForEnd(id: string): Promise<RunEnd> {
    try {
      // No deadline: the SDK polls until the run has ended, however long that takes.
      const result = (await this.#client.workflow.getHandle(id).result()) as AgentRunResult;
      return { status: 'reported', result };
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) throw runNotFound(id, error);
      throwServerProblem(error, this.#options);
      return runEndOf(error);
    }
  }

  async cancel(id: string): Promise<void> {
    // The server takes a request for a closed workflow and drops it (seen with 1.29): nobody would be told.
    const run = await this.describe(id);
    if (run?.status !== 'running') throw runNotFound(id);
    await this.#ask(() => this.#client.workflow.getHandle(id).cancel());
  }

  async terminate(id: string, reason: string): Promise<void> {
    try {
      await this.#ask(() => this.#client.workflow.getHandle(id).terminate(reason));
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) throw runNotFound(id, error);
      throw error;
    }
  }

  async hasWorker(taskQueue: string): Promise<boolean> {
    const { namespace } = this.#options;
    const answer = await this.#ask(() =>
      this.#client.workflowService.describeTaskQueue({
        namespace,
        taskQueue: { name: taskQueue },
        taskQueueType: TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW,
      }),
    );
    const sinceMs = Date.now() - POLLER_SILENCE_MS;
    return (answer.pollers ?? []).some((poller) => (timestampMs(poller.lastAccessTime) ?? 0) > sinceMs);
  }

  async events(id: string, runKey?: string): Promise<ServerEvent[]> {
    const executions = await this.#ask(async () => {
      const found: WorkflowExecutionInfo[] = [];
      for await (const info of this.#client.workflow.list({ query: `WorkflowId = ${JSON.stringify(id)}` })) {
        found.push(info);
      }
      return found;
    });
    const events: ServerEvent[] = [];
    for (const info of executions) {
      const { runKey: key } = serverRun(info);
      const isNamesake = runKey !== undefined && key !== undefined && key !== runKey;
      // One that continued as new has handed on whatever befell it.
      if (isNamesake || info.status.name === 'CONTINUED_AS_NEW') continue;
      const handle = this.#client.workflow.getHandle(id, info.runId);
      const history = await this.#ask(() => handle.fetchHistory(), HISTORY_TIMEOUT_MS);
      events.push(...serverEvents(history.events ?? [], info.runId));
      if (info.closeTime) events.push({ type: 'closed', atMs: info.closeTime.getTime(), executionId: info.runId });
    }
    // A reset copies the events before its point.
    const byPlace = new Map(events.map((event) => [`${event.type}/${event.atMs}`, event]));
    return [...byPlace.values()].sort((a, b) => a.atMs - b.atMs);
  }

  async *histories(id: string): AsyncGenerator<RecordedExecution> {
    const newest = await this.describe(id);
    if (!newest) throw runNotFound(id);
    const chain = [newest.executionId];
    for (;;) {
      const former = await this.#executionBefore(id, chain[0] ?? '');
      if (former === undefined) break;
      chain.unshift(former);
    }
    for (const executionId of chain) yield await this.#history(id, executionId);
  }

  /** The execution that continued as this one; `undefined` for the first, and where the server has forgotten it. */
  async #executionBefore(workflowId: string, runId: string): Promise<string | undefined> {
    const { namespace } = this.#options;
    const answer = await this.#ask(() =>
      this.#client.workflowService.getWorkflowExecutionHistory({
        namespace,
        execution: { workflowId, runId },
        maximumPageSize: 1,
      }),
    );
    const former = answer.history?.events?.[0]?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId;
    if (!former) return undefined;
    try {
      await this.#ask(() => this.#client.workflow.getHandle(workflowId, former).describe());
      return former;
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return undefined;
      throw error;
    }
  }

  async *allHistories(filter: { taskQueue: string; closedSinceMs?: number }): AsyncGenerator<RecordedExecution> {
    const { taskQueue, closedSinceMs } = filter;
    const since = closedSinceMs === undefined ? '' : new Date(closedSinceMs).toISOString();
    const wanted = since === '' ? '' : ` AND (ExecutionStatus = 'Running' OR CloseTime >= '${since}')`;
    const query = `TaskQueue = '${taskQueue}'${wanted}`;
    const listed = this.#client.workflow.list({ query, pageSize: 1_000 })[Symbol.asyncIterator]();
    for (;;) {
      const next = await this.#ask(() => listed.next());
      if (next.done) return;
      yield await this.#history(next.value.workflowId, next.value.runId);
    }
  }

  async #history(id: string, executionId: string): Promise<RecordedExecution> {
    const handle = this.#client.workflow.getHandle(id, executionId);
    const history = await this.#ask(() => handle.fetchHistory(), HISTORY_TIMEOUT_MS);
    return executionOf(history, { id, executionId });
  }

  async close(): Promise<void> {
    await this.#options.connection.close();
  }

  async #ask<T>(request: () => Promise<T>, timeoutMs = REQUEST_TIMEOUT_MS): Promise<T> {
    try {
      return await this.#client.connection.withDeadline(Date.now() + timeoutMs, request);
    } catch (error) {
      throwServerProblem(error, this.#options);
      throw error;
    }
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

/** Throws where it was the server or the way to it that failed, in a person's words; else returns. */
function throwServerProblem(error: unknown, server: TemporalRunsOptions): void {
  const { address } = server;
  const status = isGrpcServiceError(error) ? error : error instanceof Error ? error.cause : undefined;
  if (!isGrpcServiceError(status)) return;
  const code: number = status.code;
  if (code === UNAVAILABLE || code === DEADLINE_EXCEEDED) {
    throw new PerdureError('server_unreachable', `No Temporal server answers at ${address}.`, {
      next: unreachableAdvice(server),
      cause: error,
    });
  }
  if (code === PERMISSION_DENIED || code === UNAUTHENTICATED) {
    throw new PerdureError('server_unreachable', `The Temporal server at ${address} refused: ${status.details}.`, {
      next: 'Check TEMPORAL_API_KEY, TEMPORAL_NAMESPACE and the TLS settings.',
      cause: error,
    });
  }
}

function serverRun(info: Omit<WorkflowExecutionInfo, 'raw'>): ServerRun {
  const { runKey, task } = info.memo ?? {};
  return {
    id: info.workflowId,
    ...(typeof runKey === 'string' && { runKey }),
    ...(typeof task === 'string' && { task }),
    status: serverStatus(info.status.name),
    executionId: info.runId,
    taskQueue: info.taskQueue,
    startedAtMs: info.startTime.getTime(),
    ...(info.closeTime && { closedAtMs: info.closeTime.getTime() }),
    historyEvents: info.historyLength,
    ...(info.historySize !== undefined && { historyBytes: info.historySize }),
  };
}

function serverStatus(name: WorkflowExecutionInfo['status']['name']): ServerStatus {
  switch (name) {
    case 'COMPLETED':
      return 'completed';
    case 'FAILED':
      return 'failed';
    case 'CANCELLED':
      return 'cancelled';
    case 'TERMINATED':
      return 'terminated';
    case 'TIMED_OUT':
      return 'timed_out';
    // Continued as new: the newest execution of the chain is what counts, and until it is listed the run goes on.
    default:
      return 'running';
  }
}

function pendingWork(info: temporal.api.workflow.v1.IPendingActivityInfo): PendingWork {
  const scheduledAtMs = timestampMs(info.scheduledTime);
  const state = pendingState(info.state);
  return {
    id: info.activityId ?? '',
    activity: info.activityType?.name ?? 'activity',
    state,
    attempt: info.attempt ?? 1,
    ...(info.lastFailure?.message && { lastFailure: info.lastFailure.message }),
    ...(state === 'scheduled' && scheduledAtMs !== undefined && { nextAttemptAtMs: scheduledAtMs }),
  };
}

function pendingState(state: temporal.api.enums.v1.PendingActivityState | null | undefined): PendingWork['state'] {
  switch (state) {
    case PendingActivityState.PENDING_ACTIVITY_STATE_CANCEL_REQUESTED:
      return 'cancelling';
    case PendingActivityState.PENDING_ACTIVITY_STATE_STARTED:
      return 'started';
    default:
      return 'scheduled';
  }
}

function preview(task: string): string {
  const line = task.replace(/\s+/g, ' ').trim();
  return line.length <= TASK_PREVIEW_CHARACTERS ? line : `${line.slice(0, TASK_PREVIEW_CHARACTERS - 1)}…`;
}
