import type { Outcome } from '../contract/call.js';
import type { ClassifiedFailure } from '../contract/failure.js';
import type { LedgerRow } from '../contract/ledger.js';
import { normalizeResult } from '../results/normalize-result.js';
import { notReady } from '../temporal/failure-mapper.js';
import { askRetryRule } from './ask-retry-rule.js';
import type { Attempt } from './attempt.js';
import type { Claim } from './claim.js';
import { maskedResult } from './judge-end.js';
import { reconcile } from './reconcile.js';
import type { Services } from './services.js';
import { successOutcome } from './success-outcome.js';
import type { SuccessfulEnd } from './success-outcome.js';

/** How soon an attempt that may not run here and now is offered again. */
export const notReadyDelayMs = 1_000;

/** Ends a call through its claim, so that exactly one outcome is recorded; a late one gives way to what is stored. */
export class Settlement {
  readonly #services: Services;
  readonly #attempt: Attempt;
  readonly #claim: Claim;

  constructor(services: Services, attempt: Attempt, claim: Claim) {
    this.#services = services;
    this.#attempt = attempt;
    this.#claim = claim;
  }

  async record(end: SuccessfulEnd): Promise<Outcome> {
    const { call, tool, recorder } = this.#attempt;
    const settled = await this.#claim.settle(end.outcome, end.rendered);
    if (!settled.late) {
      recorder.logOutcome(settled.outcome);
      return settled.outcome;
    }
    this.#services.log.warn('a late result was not recorded: the call had been settled or taken over', {
      tool: tool.name,
      key: call.key,
      late: end.outcome.status,
      recorded: settled.stored?.status,
    });
    if (settled.stored) return settled.stored;
    throw takenOver();
  }

  async failed(failure: ClassifiedFailure, row: LedgerRow | undefined): Promise<Outcome> {
    return await this.record(await this.#attempt.recorder.ended(failure, row));
  }

  /**
   * Ends a call whose answer was lost and which may not simply be repeated: the tool's `reconcile` is asked first.
   * `undefined` where the backend was fenced and the body may run after all.
   */
  async unknown(failure: ClassifiedFailure, row: LedgerRow): Promise<Outcome | undefined> {
    const { tool, live } = this.#attempt;
    const { superseded } = this.#claim;
    const found = await this.#claim.renewedWhile(() => reconcile(this.#services, this.#attempt, { row, superseded }));
    if (found.kind === 'interrupted') {
      await this.#claim.end('unknown', 0);
      throw notReady('this worker stopped before it knew what became of the call; another one asks', notReadyDelayMs);
    }
    if (found.kind === 'done') {
      const result = await normalizeResult(found.result, {
        maxBytes: tool.policy.maxOutputBytes,
        source: live.source,
      });
      const masked = maskedResult(this.#services, result);
      return await this.record(await successOutcome(this.#services.store, this.#attempt, masked, row));
    }
    if (found.kind === 'unknown') return await this.failed(failure, { ...row, mayHaveHappened: true });
    await this.#claim.fenced();
    const fenced: ClassifiedFailure = { ...failure, effectState: 'none' };
    const fencedRow = { ...row, mayHaveHappened: false };
    if (askRetryRule(this.#services, this.#attempt, { failure: fenced, row: fencedRow }).retry) return undefined;
    return await this.failed(fenced, fencedRow);
  }
}

export function takenOver(): Error {
  return notReady('another attempt has taken this call over', notReadyDelayMs);
}
