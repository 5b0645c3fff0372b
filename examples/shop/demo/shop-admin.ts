import type { Operation } from '../backend/faults.ts';
import type { HeldRequest, HoldMoment } from '../backend/holds.ts';

/** How long one request waits for a held one, so that a broken connection is noticed in the end. */
const pollMs = 10_000;

/** The shop's admin routes. */
export function shopAdmin(url: string) {
  async function request(
    method: string,
    path: string,
    { body, signal }: { body?: object; signal?: AbortSignal } = {},
  ): Promise<unknown> {
    const response = await fetch(`${url}/admin/${path}`, {
      method,
      ...(signal && { signal }),
      ...(body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${method} /admin/${path}: ${response.status} ${await response.text()}`);
    return response.json();
  }
  return {
    /** Stops the next request of that operation at that moment. */
    async hold(operation: Operation, moment: HoldMoment): Promise<void> {
      await request('POST', 'holds', { body: { operation, moment } });
    },
    /** Waits until a request is held; `undefined` once `signal` is aborted. */
    async waitForHeld(signal: AbortSignal): Promise<HeldRequest | undefined> {
      try {
        for (;;) {
          const answer = await request('GET', `holds?wait_ms=${pollMs}`, { signal });
          const { held } = answer as { held: HeldRequest[] };
          if (held[0]) return held[0];
        }
      } catch (error) {
        if (signal.aborted) return undefined;
        throw error;
      }
    },
    async releaseAll(): Promise<void> {
      await request('DELETE', 'holds');
    },
  };
}
