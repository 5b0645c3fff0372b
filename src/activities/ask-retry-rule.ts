import type { ClassifiedFailure } from '../contract/failure.js';
import type { LedgerRow } from '../contract/ledger.js';
import { decideRetry } from '../policy/retry-rule.js';
import type { RetryDecision, RetryQuestion } from '../policy/retry-rule.js';
import { policyOf } from '../policy/stricter-effect.js';
import type { Attempt } from './attempt.js';
import type { Services } from './services.js';

/** Whether the body may start again after this failure, by the retry rule, with the time and chance of this process. */
export function askRetryRule(
  services: Services,
  { tool }: Attempt,
  {
    failure,
    row,
    ...known
  }: { failure: ClassifiedFailure; row: LedgerRow } & Pick<RetryQuestion, 'refreshed' | 'breakerRestMs' | 'retryToken'>,
): RetryDecision {
  return decideRetry({
    failure,
    policy: policyOf(row, tool.policy),
    starts: row.starts,
    ...(row.startsBefore === undefined ? {} : { startsBefore: row.startsBefore }),
    spentMs: row.spentMs,
    mayHaveHappened: row.mayHaveHappened,
    ...(row.firstStartAtMs === undefined ? {} : { firstStartAtMs: row.firstStartAtMs }),
    nowMs: Date.now(),
    cancelled: failure.class === 'cancelled',
    random: services.random(),
    ...known,
  });
}
