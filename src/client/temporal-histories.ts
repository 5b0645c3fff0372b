import { type WorkflowExecutionInfo, WorkflowNotFoundError } from '@temporalio/client';
import type { temporal } from '@temporalio/proto';
import type { RunLimits } from '../contract/run-limits.js';
import { pinnedLimits } from '../replay/history-words.js';
import { executionOf, type RecordedExecution } from '../replay/recorded-execution.js';
import type { ServerEvent } from './run-server.js';
import { serverEvents } from './server-events.js';
import { serverRun } from './server-run.js';
import { isNotFound, type TemporalRequests } from './temporal-requests.js';

/** The run's start is its first activity: its result comes within that many events, failed attempts leave none. */
const LIMITS_WITHIN_EVENTS = 20;
/** A history has up to 50,000 events and 50 MB (the server's limits), fetched in pages. */
const HISTORY_TIMEOUT_MS = 60_000;

/** What only the histories of executions tell. Methods behave as those of `RunServer` with their names. */
export class TemporalHistories {
  readonly #requests: TemporalRequests;

  constructor(requests: TemporalRequests) {
    this.#requests = requests;
  }

  async limits(workflowId: string): Promise<RunLimits | undefined> {
    const { namespace } = this.#requests;
    const answer = await this.#requests.ask(() =>
      this.#requests.client.workflowService.getWorkflowExecutionHistory({
        namespace,
        execution: { workflowId },
        maximumPageSize: LIMITS_WITHIN_EVENTS,
      }),
    );
    return pinnedLimits(answer.history?.events ?? []);
  }

  /** What the last failed workflow task says; the server keeps the first failure of a row of them. */
  async whyStuck(id: string): Promise<string> {
    const { history } = await this.#requests.ask(() =>
      this.#requests.client.workflowService.getWorkflowExecutionHistoryReverse({
        namespace: this.#requests.namespace,
        execution: { workflowId: id },
        maximumPageSize: 20,
      }),
    );
    const failed = history?.events?.find((event) => event.workflowTaskFailedEventAttributes);
    return failed?.workflowTaskFailedEventAttributes?.failure?.message ?? 'the server does not say why';
  }

  async events(id: string, runKey?: string): Promise<ServerEvent[]> {
    const executions = await this.#requests.ask(async () => {
      const found: WorkflowExecutionInfo[] = [];
      for await (const info of this.#requests.client.workflow.list({ query: `WorkflowId = ${JSON.stringify(id)}` })) {
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
      const history = await this.#read(id, info.runId);
      if (history) events.push(...serverEvents(history.events ?? [], info.runId));
      else {
        const atMs = (info.closeTime ?? info.startTime).getTime();
        events.push({ type: 'history_gone', atMs, executionId: info.runId });
      }
      if (info.closeTime) events.push({ type: 'closed', atMs: info.closeTime.getTime(), executionId: info.runId });
    }
    // A reset copies the events before its point.
    const byPlace = new Map(events.map((event) => [`${event.type}/${event.atMs}`, event]));
    return [...byPlace.values()].sort((a, b) => a.atMs - b.atMs);
  }

  /** The histories of the execution and of those that continued as it, the first one first, as far as the server knows them. */
  async *chain(id: string, newest: string): AsyncGenerator<RecordedExecution> {
    const chain = [newest];
    for (;;) {
      const former = await this.#executionBefore(id, chain[0] ?? '');
      if (former === undefined) break;
      chain.unshift(former);
    }
    for (const executionId of chain) {
      const history = await this.#read(id, executionId);
      if (history) yield executionOf(history, { id, executionId });
    }
  }

  /** The execution that continued as this one; `undefined` for the first, and where the server has forgotten it. */
  async #executionBefore(workflowId: string, runId: string): Promise<string | undefined> {
    const { namespace } = this.#requests;
    const answer = await this.#requests.ask(() =>
      this.#requests.client.workflowService.getWorkflowExecutionHistory({
        namespace,
        execution: { workflowId, runId },
        maximumPageSize: 1,
      }),
    );
    const former = answer.history?.events?.[0]?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId;
    if (!former) return undefined;
    try {
      await this.#requests.ask(() => this.#requests.client.workflow.getHandle(workflowId, former).describe());
      return former;
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return undefined;
      throw error;
    }
  }

  async *all(filter: { taskQueue: string; closedSinceMs?: number }): AsyncGenerator<RecordedExecution> {
    const { taskQueue, closedSinceMs } = filter;
    const since = closedSinceMs === undefined ? '' : new Date(closedSinceMs).toISOString();
    const wanted = since === '' ? '' : ` AND (ExecutionStatus = 'Running' OR CloseTime >= '${since}')`;
    const query = `TaskQueue = '${taskQueue}'${wanted}`;
    const listed = this.#requests.client.workflow.list({ query, pageSize: 1_000 })[Symbol.asyncIterator]();
    for (;;) {
      const next = await this.#requests.ask(() => listed.next());
      if (next.done) return;
      const { workflowId: id, runId: executionId } = next.value;
      const history = await this.#read(id, executionId);
      if (history) yield executionOf(history, { id, executionId });
    }
  }

  /** `undefined` where the server has forgotten it: what it lists may be gone already, or go meanwhile. */
  async #read(id: string, executionId: string): Promise<temporal.api.history.v1.IHistory | undefined> {
    const handle = this.#requests.client.workflow.getHandle(id, executionId);
    try {
      return await this.#requests.ask(() => handle.fetchHistory(), HISTORY_TIMEOUT_MS);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }
}
