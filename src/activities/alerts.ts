import { randomUUID } from 'node:crypto';
import type { Outcome } from '../contract/call.js';
import type { JsonObject } from '../contract/json.js';
import { alertDefaults, AlertRules, RunFailures, type Alert } from '../policy/alert-rules.js';
import type { WorkerStore } from '../store/shared-state.js';
import type { ToolLog } from '../tools/tool.js';

/** A webhook that has not answered by then is asked once more, and then given up. */
const defaultTimeoutMs = 5_000;
const mostPending = 20;
/** How long workers remember together that a run was alerted on; longer than that nothing shared is kept. */
const toldForMs = 24 * 3_600_000;

/** Tells people at once of what the rules find: a line in the operator's log, and a webhook where there is one. */
export class Alerts {
  readonly #rules = new AlertRules();
  readonly #runs = new RunFailures();
  readonly #log: ToolLog;
  readonly #webhook: string | undefined;
  readonly #store: Pick<WorkerStore, 'listFailedCalls' | 'applyShared'>;
  readonly #timeoutMs: number;
  #pending = 0;

  constructor(options: {
    log: ToolLog;
    webhook: string | undefined;
    store: Pick<WorkerStore, 'listFailedCalls' | 'applyShared'>;
    timeoutMs?: number;
  }) {
    this.#log = options.log;
    this.#webhook = options.webhook;
    this.#store = options.store;
    this.#timeoutMs = options.timeoutMs ?? defaultTimeoutMs;
  }

  /** `record` is the masked line of the call's end. Returns at once and never throws. */
  add(outcome: Outcome, runKey: string, record: JsonObject): void {
    for (const alert of this.#rules.add(outcome)) this.#tell(alert, record);
    if (this.#runs.add(outcome, runKey)) void this.#askAboutRun(runKey, record);
  }

  /** A run's calls are spread over workers, so the store counts them; and one worker alone tells of the run. */
  async #askAboutRun(runKey: string, record: JsonObject): Promise<void> {
    const stored = await this.#store
      .listFailedCalls(runKey, alertDefaults.failuresInRun + 1)
      .catch((error: unknown) => {
        this.#log.warn("a run's failures could not be counted; only this worker's are", { error: String(error) });
        return [];
      });
    const verdict = this.#runs.judge(runKey, stored);
    if (verdict.type === 'many' && (await this.#isFirst(runKey))) this.#tell(verdict.alert, record);
  }

  async #isFirst(runKey: string): Promise<boolean> {
    try {
      const name = `alert/run_failures/${runKey}`;
      const take = { kind: 'lock', type: 'take', token: randomUUID(), leaseMs: toldForMs, permits: 1 } as const;
      return (await this.#store.applyShared(name, take)).type === 'held';
    } catch {
      // Better twice than never.
      return true;
    }
  }

  #tell({ rule, text }: Alert, record: JsonObject): void {
    const alert = { rule, ...record, alert: true };
    this.#log.error(`alert: ${text}`, alert);
    if (this.#webhook === undefined) return;
    if (this.#pending >= mostPending) this.#log.warn('an alert was not sent: the webhook is behind', { rule });
    else {
      const body = JSON.stringify({ text: `perdure alert: ${rule} (${toolIn(record)})`, ...alert });
      void this.#send(this.#webhook, body);
    }
  }

  async #send(url: string, body: string): Promise<void> {
    this.#pending += 1;
    try {
      await this.#post(url, body).catch(() => this.#post(url, body));
    } catch (error) {
      // The address may hold a token, and so may the error of a client.
      this.#log.warn('an alert could not be sent to the webhook', {
        reason: error instanceof Error ? error.name : 'unknown',
      });
    } finally {
      this.#pending -= 1;
    }
  }

  async #post(url: string, body: string): Promise<void> {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
      redirect: 'error',
      signal: AbortSignal.timeout(this.#timeoutMs),
    });
    await response.body?.cancel();
    if (!response.ok) throw new Error(`status ${String(response.status)}`);
  }
}

/** Masked, unlike the outcome's: the name of an unknown tool is whatever a model wrote. */
function toolIn({ tool }: JsonObject): string {
  return typeof tool === 'string' ? tool : '';
}
