import type { ClassifiedFailure } from '../contract/failure.js';
import { classifyThrown } from '../policy/classify-thrown.js';
import { failureClasses } from '../policy/failure-classes.js';
import type { LedgerRow } from '../policy/ledger.js';
import type { Attempt } from './attempt.js';
import type { Services } from './services.js';

/** Refreshes under way, by tool: parallel calls that all met a 401 share one. */
const underWay = new Map<string, Promise<void>>();

export type Refreshed =
  | { kind: 'renewed' }
  /** Nothing to renew with, or it was done before in this call. */
  | { kind: 'not-possible' }
  /** The renewal failed in its own way, e.g. the token service was down: this is what happened to the call. */
  | { kind: 'failed'; failure: ClassifiedFailure };

/** Renews a tool's credentials after a 401, at most once a call and once at a time in this worker. Never throws. */
export async function refreshCredentials(services: Services, attempt: Attempt, row: LedgerRow): Promise<Refreshed> {
  const { live, tool } = attempt;
  if (!live.refresh) return { kind: 'not-possible' };
  const stored = await services.store.getCall(attempt.call.key);
  const earlier = stored?.attempts.filter(({ failure }) => failure?.['error_type'] === 'auth_failed') ?? [];
  // The failure at hand is recorded already.
  if (earlier.length > 1) return { kind: 'not-possible' };
  let refresh = underWay.get(tool.name);
  if (!refresh) {
    const signal = AbortSignal.timeout(tool.policy.timeoutMs);
    refresh = live
      .refresh(attempt.contextFor(row, signal, tool.policy.timeoutMs))
      .finally(() => underWay.delete(tool.name));
    underWay.set(tool.name, refresh);
  }
  try {
    await refresh;
    return { kind: 'renewed' };
  } catch (error) {
    services.log.warn('credentials could not be renewed', { tool: tool.name, error: String(error) });
    const classified = classifyThrown(error, { nowMs: Date.now(), source: live.source });
    // Only an outage of the token service is worth another try; a refused grant means that the user must sign in again.
    const outage = !('control' in classified) && failureClasses[classified.class].family === 'network';
    return outage ? { kind: 'failed', failure: classified } : { kind: 'not-possible' };
  }
}
