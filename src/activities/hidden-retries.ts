import type { SeenRequests } from '../contract/seen-requests.js';
import { retryRemedy } from '../policy/retry-owner.js';
import type { ToolLog } from '../tools/tool.js';

/** Whoever retries by itself does so in every call: told once by each worker, and kept with each attempt's record. */
export class HiddenRetries {
  readonly #log: ToolLog;
  readonly #told = new Set<string>();

  constructor(log: ToolLog) {
    this.#log = log;
  }

  /** Never throws. `by` is the tool or model whose body it was. */
  tell(by: string, seen: SeenRequests | undefined): void {
    for (const { method, host, path, attempts, after, client } of seen?.retried ?? []) {
      const place = `${by}\n${host}`;
      if (this.#told.has(place)) continue;
      this.#told.add(place);
      this.#log.warn(
        `${by}: its client sent the same request ${String(attempts)} times in one attempt, so that retries are multiplied; ` +
          `only the executor should retry: ${retryRemedy(client)}`,
        { host, request: `${method} ${path}`, sent: attempts, after, ...(client !== undefined && { client }) },
      );
    }
  }
}
