import type { ToolCall } from '../contract/call.js';
import type { ClassifiedFailure } from '../contract/failure.js';
import type { JsonObject } from '../contract/json.js';
import type { SeenRequests } from '../contract/seen-requests.js';
import type { LedgerRow, LostStart } from '../contract/ledger.js';
import { operatorRecord } from '../policy/operator-record.js';
import { outlastOutage } from './outlast-outage.js';
import { RequestWatch } from './request-watch.js';
import type { Services } from './services.js';
import { traceIdOf } from './trace-id.js';

/** The operator's record of each start of a call's body: how it ended, where and when, and what it asked of its backends. */
export class StartRecords {
  readonly #services: Services;
  readonly #call: Omit<ToolCall, 'arguments'>;
  readonly #args: JsonObject;
  /** Sees what the start of the body sends. */
  readonly requests = new RequestWatch();

  constructor(services: Services, call: Omit<ToolCall, 'arguments'>, args: JsonObject) {
    this.#services = services;
    this.#call = call;
    this.#args = args;
  }

  /** One that failed here: stored, and logged as one line. */
  async failed(attempt: {
    row: LedgerRow;
    failure: ClassifiedFailure;
    thrown?: unknown;
    durationMs: number;
    decision: string;
  }): Promise<void> {
    const { row, durationMs, ...known } = attempt;
    const endedAtMs = Date.now();
    await this.#recordEnd({
      ...known,
      start: row.starts,
      worker: this.#services.workerIdentity,
      startedAtMs: Math.round(endedAtMs - durationMs),
      endedAtMs,
      versions: { node: process.version },
      requests: this.#seenRequests(),
    });
  }

  /**
   * One whose worker vanished: whose it was, and how long its worker was known to live. The
   * worker's own record of a failure, written just before it vanished, stays.
   */
  async lost(row: LedgerRow, failure: ClassifiedFailure, lost: LostStart): Promise<void> {
    const noted = (await this.#services.store.getCall(row.key))?.attempts.find(({ start }) => start === row.starts);
    if (noted?.failure) return;
    // The times of its worker's clock, as for every other start; the ledger's are the store's.
    const startedAtMs = noted?.startedAtMs ?? lost.begunAtMs;
    await this.#recordEnd({
      failure,
      start: row.starts,
      worker: noted?.worker ?? 'unknown',
      startedAtMs,
      endedAtMs: noted?.endedAtMs ?? startedAtMs + (lost.lapsedAtMs - lost.begunAtMs),
      decision: 'worker_lost',
    });
  }

  async #recordEnd(attempt: {
    start: number;
    worker: string;
    startedAtMs: number;
    endedAtMs: number;
    failure: ClassifiedFailure;
    thrown?: unknown;
    decision: string;
    versions?: Record<string, string>;
    requests?: SeenRequests | undefined;
  }): Promise<void> {
    const { start, worker, startedAtMs, endedAtMs, failure, thrown, decision, versions, requests } = attempt;
    const call = this.#call;
    const { store, redactor, log, metrics } = this.#services;
    const record = operatorRecord(
      {
        tool: call.tool,
        callId: call.callId,
        key: call.key,
        runKey: call.runKey,
        params: this.#args,
        failure,
        ...(thrown === undefined ? {} : { thrown }),
        attempt: start,
        durationMs: endedAtMs - startedAtMs,
        atMs: endedAtMs,
        worker,
        traceId: traceIdOf(call.runKey),
        ...(versions === undefined ? {} : { versions }),
        decision,
      },
      redactor,
    );
    log.warn('attempt failed', record);
    metrics.attemptEnded(call.tool, failure.class);
    await outlastOutage(() =>
      store.recordAttempt({
        ...{ key: call.key, start, worker, startedAtMs, endedAtMs, failure: record },
        ...(requests && { requests }),
      }),
    );
  }

  /** One that ended well. */
  async succeeded(row: LedgerRow, durationMs: number): Promise<void> {
    const { store, workerIdentity, metrics } = this.#services;
    metrics.attemptEnded(this.#call.tool);
    const endedAtMs = Date.now();
    const requests = this.#seenRequests();
    await outlastOutage(() =>
      store.recordAttempt({
        key: this.#call.key,
        start: row.starts,
        worker: workerIdentity,
        startedAtMs: Math.round(endedAtMs - durationMs),
        endedAtMs,
        ...(requests && { requests }),
      }),
    );
  }

  /** What this start asked of its backends; retries that are not the executor's are told to the operator as well. */
  #seenRequests(): SeenRequests | undefined {
    const { redactor, hiddenRetries } = this.#services;
    const seen = this.requests.seen((text) => redactor.text(text));
    hiddenRetries.tell(`tool ${this.#call.tool}`, seen);
    return seen;
  }
}
