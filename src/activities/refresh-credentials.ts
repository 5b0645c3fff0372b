import type { ClassifiedFailure } from '../contract/failure.js';
import { classifyThrown, isControl } from '../policy/classify-thrown.js';
import { failureClasses } from '../policy/failure-classes.js';
import type { LedgerRow } from '../contract/ledger.js';
import type { Tool } from '../tools/tool.js';
import type { Attempt } from './attempt.js';
import type { Services } from './services.js';

/** Refreshes under way: parallel calls that all met a 401 share one. */
const underWay = new WeakMap<Tool, Promise<void>>();
/** When the last one ended well, on this process's monotonic clock: a call that began before it was refused with the old credentials. */
const renewedAt = new WeakMap<Tool, number>();

export type Refreshed =
  | { kind: 'renewed' }
  | { kind: 'refused' }
  /** The token service was down: this is what happened to the call. */
  | { kind: 'outage'; failure: ClassifiedFailure };

/**
 * Renews a tool's credentials after a 401, once at a time in this worker, and not at all where they were renewed since the
 * refused start began (`startedAt`, of `performance.now()`). Never throws.
 */
export async function refreshCredentials(
  services: Services,
  attempt: Attempt,
  { row, startedAt }: { row: LedgerRow; startedAt: number },
): Promise<Refreshed> {
  const { live, tool } = attempt;
  if (!live.refresh) return { kind: 'refused' };
  if (startedAt < (renewedAt.get(live) ?? -Infinity)) return { kind: 'renewed' };
  let refresh = underWay.get(live);
  if (!refresh) {
    const signal = AbortSignal.timeout(tool.policy.timeoutMs);
    refresh = live
      .refresh(attempt.contextFor(row, signal, tool.policy.timeoutMs))
      .then(() => void renewedAt.set(live, performance.now()))
      .finally(() => underWay.delete(live));
    underWay.set(live, refresh);
  }
  try {
    await refresh;
    return { kind: 'renewed' };
  } catch (error) {
    services.log.warn('credentials could not be renewed', {
      tool: tool.name,
      error: services.redactor.text(String(error)),
    });
    const classified = classifyThrown(error, { nowMs: Date.now(), source: live.source });
    // Only an outage of the token service is worth another try; a refused grant means that the user must sign in again.
    const outage = !isControl(classified) && failureClasses[classified.class].family === 'network';
    return outage ? { kind: 'outage', failure: classified } : { kind: 'refused' };
  }
}

/** Whether an earlier start of this call met a 401 already, and with it used up the call's one refresh. */
export async function hasRefreshed(services: Services, attempt: Attempt): Promise<boolean> {
  const stored = await services.store.getCall(attempt.call.key);
  return stored?.attempts.some(({ failure }) => failure?.['error_type'] === 'auth_failed') ?? false;
}
