import { setTimeout as sleep } from 'node:timers/promises';
import { StoreError } from '../store/store-error.js';

/** Within the activity's overhead (30 s), which the server allows besides the body's own time. */
const patienceMs = 20_000;
const pauseMs = 250;

/**
 * Asks the store again while it is unavailable, for up to 20 s. For what is written after a body has ended: how it ended is
 * known only here, and an attempt that fails now would leave a known end as an unknown one. Rejects as the last try did.
 */
export async function outlastOutage<T>(ask: () => Promise<T>): Promise<T> {
  const giveUpAt = performance.now() + patienceMs;
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      const mayPass = error instanceof StoreError && error.code === 'unavailable';
      if (!mayPass || performance.now() > giveUpAt) throw error;
      await sleep(pauseMs);
    }
  }
}
