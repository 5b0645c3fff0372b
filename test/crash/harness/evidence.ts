/**
 * What is left of a run when it is over, from three witnesses that know nothing of each other: the server's history (by the
 * plain client), the store's rows (by plain SQL) and the oracle's log. No code of the product reads any of it.
 */
import { readFileSync } from 'node:fs';
import type { Client } from '@temporalio/client';
import type { temporal } from '@temporalio/proto';
import type { StoreChoice } from '../../../src/store/store-choice.js';
import type { OracleLine } from '../support/oracle.js';
import type { Program } from './program.js';
import { openStoreRows, type StoreRows } from './store-rows.js';

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = Record<string, Json>;
export type History = temporal.api.history.v1.IHistory;
type HistoryEvent = temporal.api.history.v1.IHistoryEvent;

/** One activity of an execution, from its scheduling to its end. */
export interface ActivityEvidence {
  type: string;
  id: string;
  input: JsonObject;
  scheduledAt: number;
  /** Absent where the execution closed before. */
  endedAt?: number;
  ended?: 'completed' | 'failed' | 'cancelled' | 'timed out';
  result?: Json;
  endedAtMs?: number;
}

export interface Execution {
  runId: string;
  history: History;
  /** Input of the workflow. */
  input: JsonObject;
  activities: ActivityEvidence[];
  /** It was asked to cancel. */
  cancelRequested: boolean;
  /** How it closed, as the event's name says it. */
  closed: 'completed' | 'failed' | 'cancelled' | 'terminated' | 'continued' | 'open';
  result?: Json;
  /** What continue-as-new carried on. */
  carried?: JsonObject;
  closedAtMs?: number;
}

export interface StoredCall {
  key: string;
  callId: string;
  tool: string;
  state: string;
  starts: number;
  outcome: JsonObject | null;
  rendered: { content: string; failed: boolean } | null;
  /** Starts whose failure an operator can read, with what was decided. */
  attempts: { start: number; failure: JsonObject | null }[];
}

export interface StoredMessage {
  role: string;
  callId?: string;
  content?: string;
  calls?: { callId: string }[];
}

export interface RunEvidence {
  program: Program;
  workflowId: string;
  runKey: string;
  /** Every execution of the workflow id, oldest first: continued ones, and the branches of resets. */
  executions: Execution[];
  calls: StoredCall[];
  /** From the root to the run's head. */
  transcript: StoredMessage[];
  /** The oracle's lines about this run's calls. */
  lines: OracleLine[];
  children: RunEvidence[];
  /** Somebody cancelled it on purpose. */
  cancelled: boolean;
}

/** Reads what all runs have left; workers may be alive. */
export class Witnesses implements AsyncDisposable {
  readonly #client: Client;
  readonly #store: StoreRows;
  readonly #lines: OracleLine[];

  private constructor(client: Client, store: StoreRows, lines: OracleLine[]) {
    this.#client = client;
    this.#store = store;
    this.#lines = lines;
  }

  static async open(bench: {
    client: Client;
    storeChoice: StoreChoice;
    oracle: { logPath: string };
  }): Promise<Witnesses> {
    const lines = readFileSync(bench.oracle.logPath, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as OracleLine);
    return new Witnesses(bench.client, await openStoreRows(bench.storeChoice), lines);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#store[Symbol.asyncDispose]();
  }

  async ask(run: { program: Program; workflowId: string; cancelled: boolean }): Promise<RunEvidence> {
    const { program, workflowId, cancelled } = run;
    const executions = await this.#executions(workflowId);
    const runKey = executions[0]?.input['runKey'];
    if (typeof runKey !== 'string') throw new Error(`${workflowId}: the input of its first execution has no runKey`);
    const labels = new Set(program.calls.map(({ of }) => of));
    const children: RunEvidence[] = [];
    for (const { callId, child } of program.calls) {
      const childId = `${workflowId}/${callId}`;
      if (child && (await this.#exists(childId))) {
        children.push(await this.ask({ program: child, workflowId: childId, cancelled }));
      }
    }
    return {
      program,
      workflowId,
      runKey,
      executions,
      calls: await this.#calls(runKey),
      transcript: await this.#transcript(runKey),
      lines: this.#lines.filter(({ of }) => labels.has(of)),
      children,
      cancelled,
    };
  }

  async #exists(workflowId: string): Promise<boolean> {
    try {
      await this.#client.workflow.getHandle(workflowId).describe();
      return true;
    } catch {
      return false;
    }
  }

  async #executions(workflowId: string): Promise<Execution[]> {
    const found: Execution[] = [];
    // The newest is asked for by id: the list may not have it yet.
    const newest = (await this.#client.workflow.getHandle(workflowId).describe()).runId;
    const runIds = new Map<string, number>([[newest, Infinity]]);
    for await (const info of this.#client.workflow.list({ query: `WorkflowId = '${workflowId}'` })) {
      if (info.runId !== newest) runIds.set(info.runId, info.startTime.getTime());
    }
    for (const [runId] of [...runIds].sort((a, b) => a[1] - b[1])) {
      found.push(readExecution(runId, await this.#client.workflow.getHandle(workflowId, runId).fetchHistory()));
    }
    return found;
  }

  async #calls(runKey: string): Promise<StoredCall[]> {
    const calls = await this.#store.query(
      'SELECT key, call_id, tool, state, starts, outcome, rendered FROM calls WHERE run_key = ?1',
      runKey,
    );
    const attempts = await this.#store.query(
      `SELECT key, start, failure FROM attempts WHERE key IN (SELECT key FROM calls WHERE run_key = ?1) ORDER BY start`,
      runKey,
    );
    return calls.map((row) => ({
      key: String(row['key']),
      callId: String(row['call_id']),
      tool: String(row['tool']),
      state: String(row['state']),
      starts: Number(row['starts']),
      outcome: parsed(row['outcome']) as JsonObject | null,
      rendered: parsed(row['rendered']) as StoredCall['rendered'],
      attempts: attempts
        .filter(({ key }) => key === row['key'])
        .map((attempt) => ({
          start: Number(attempt['start']),
          failure: parsed(attempt['failure']) as JsonObject | null,
        })),
    }));
  }

  async #transcript(runKey: string): Promise<StoredMessage[]> {
    const messages: StoredMessage[] = [];
    const [run] = await this.#store.query('SELECT head FROM runs WHERE run_key = ?1', runKey);
    let id = (run?.['head'] ?? null) as string | null;
    while (id !== null) {
      const [node] = await this.#store.query(
        'SELECT nodes.parent, bodies.bytes FROM nodes JOIN bodies ON bodies.id = nodes.body WHERE nodes.id = ?1',
        id,
      );
      if (!node) throw new Error(`the store holds no node ${id}`);
      messages.unshift(JSON.parse(Buffer.from(node['bytes'] as Uint8Array).toString()) as StoredMessage);
      id = (node['parent'] ?? null) as string | null;
    }
    return messages;
  }
}

function parsed(text: unknown): Json {
  return typeof text === 'string' ? (JSON.parse(text) as Json) : null;
}

interface Payloads {
  payloads?: { data?: Uint8Array | null }[] | null;
}

function payload(payloads: Payloads | null | undefined): Json {
  const data = payloads?.payloads?.[0]?.data;
  return data?.length ? (JSON.parse(Buffer.from(data).toString()) as Json) : null;
}

function millisecondsOf({ eventTime }: HistoryEvent): number {
  return Number(eventTime?.seconds ?? 0) * 1_000 + (eventTime?.nanos ?? 0) / 1e6;
}

function readExecution(runId: string, history: History): Execution {
  const execution: Execution = { runId, history, input: {}, activities: [], cancelRequested: false, closed: 'open' };
  const byId = new Map<number, ActivityEvidence>();
  for (const event of history.events ?? []) {
    const at = Number(event.eventId);
    const started = event.workflowExecutionStartedEventAttributes;
    if (started) execution.input = payload(started.input) as JsonObject;
    if (event.workflowExecutionCancelRequestedEventAttributes) execution.cancelRequested = true;
    const scheduled = event.activityTaskScheduledEventAttributes;
    if (scheduled) {
      const activity: ActivityEvidence = {
        type: scheduled.activityType?.name ?? '',
        id: scheduled.activityId ?? '',
        input: payload(scheduled.input) as JsonObject,
        scheduledAt: at,
      };
      byId.set(at, activity);
      execution.activities.push(activity);
    }
    const end = activityEnd(event);
    const activity = end && byId.get(end.scheduled);
    if (activity) {
      Object.assign(activity, { endedAt: at, ended: end.ended, result: end.result, endedAtMs: millisecondsOf(event) });
    }
    readClose(execution, event);
  }
  return execution;
}

function activityEnd(
  event: HistoryEvent,
): { scheduled: number; ended: NonNullable<ActivityEvidence['ended']>; result?: Json } | undefined {
  const completed = event.activityTaskCompletedEventAttributes;
  if (completed) {
    return { scheduled: Number(completed.scheduledEventId), ended: 'completed', result: payload(completed.result) };
  }
  const failed = event.activityTaskFailedEventAttributes;
  if (failed) return { scheduled: Number(failed.scheduledEventId), ended: 'failed' };
  const cancelled = event.activityTaskCanceledEventAttributes;
  if (cancelled) return { scheduled: Number(cancelled.scheduledEventId), ended: 'cancelled' };
  const timedOut = event.activityTaskTimedOutEventAttributes;
  if (timedOut) return { scheduled: Number(timedOut.scheduledEventId), ended: 'timed out' };
  return undefined;
}

function readClose(execution: Execution, event: HistoryEvent): void {
  const close = (closed: Execution['closed']): void => {
    execution.closed = closed;
    execution.closedAtMs = millisecondsOf(event);
  };
  if (event.workflowExecutionCompletedEventAttributes) {
    close('completed');
    execution.result = payload(event.workflowExecutionCompletedEventAttributes.result);
  }
  if (event.workflowExecutionFailedEventAttributes) close('failed');
  if (event.workflowExecutionCanceledEventAttributes) close('cancelled');
  if (event.workflowExecutionTerminatedEventAttributes) close('terminated');
  const continued = event.workflowExecutionContinuedAsNewEventAttributes;
  if (continued) {
    close('continued');
    execution.carried = (payload(continued.input) as { carried: JsonObject }).carried;
  }
}
