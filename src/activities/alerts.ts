import type { Outcome } from '../contract/call.js';
import type { JsonObject } from '../contract/json.js';
import { AlertRules } from '../policy/alert-rules.js';
import type { ToolLog } from '../tools/tool.js';

/** A webhook that has not answered by then is asked once more, and then given up. */
const timeoutMs = 5_000;
const mostPending = 20;

/** Tells people at once of what `AlertRules` finds: a line in the operator's log, and a webhook where there is one. */
export class Alerts {
  readonly #rules = new AlertRules();
  readonly #log: ToolLog;
  readonly #webhook: string | undefined;
  #pending = 0;

  constructor(options: { log: ToolLog; webhook: string | undefined }) {
    this.#log = options.log;
    this.#webhook = options.webhook;
  }

  /** `record` is the masked line of the call's end. Returns at once and never throws. */
  add(outcome: Outcome, runKey: string, record: JsonObject): void {
    for (const { rule, text } of this.#rules.add(outcome, runKey)) {
      const alert = { rule, ...record, alert: true };
      this.#log.error(`alert: ${text}`, alert);
      if (this.#webhook === undefined) continue;
      if (this.#pending >= mostPending) this.#log.warn('an alert was not sent: the webhook is behind', { rule });
      else
        void this.#send(
          this.#webhook,
          JSON.stringify({ text: `perdure alert: ${rule} (${toolIn(record)})`, ...alert }),
        );
    }
  }

  async #send(url: string, body: string): Promise<void> {
    this.#pending += 1;
    try {
      await post(url, body).catch(() => post(url, body));
    } catch (error) {
      // The address may hold a token, and so may the error of a client.
      this.#log.warn('an alert could not be sent to the webhook', {
        reason: error instanceof Error ? error.name : 'unknown',
      });
    } finally {
      this.#pending -= 1;
    }
  }
}

async function post(url: string, body: string): Promise<void> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
    redirect: 'error',
    signal: AbortSignal.timeout(timeoutMs),
  });
  await response.body?.cancel();
  if (!response.ok) throw new Error(`status ${String(response.status)}`);
}

/** Masked, unlike the outcome's: the name of an unknown tool is whatever a model wrote. */
function toolIn({ tool }: JsonObject): string {
  return typeof tool === 'string' ? tool : '';
}
