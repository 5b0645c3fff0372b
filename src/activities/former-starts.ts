import { Context } from '@temporalio/activity';
import type { Outcome } from '../contract/call.js';
import { lostStart } from '../policy/ledger.js';
import type { LedgerRow, LedgerVerdict } from '../contract/ledger.js';
import { mayRunAgain } from '../policy/retry-rule.js';
import { policyOf } from '../policy/stricter-effect.js';
import type { Attempt } from './attempt.js';
import { lostWorker } from './judge-end.js';
import type { Services } from './services.js';
import type { Settlement } from './settlement.js';

/** The operator's record of a start whose end nobody saw. */
const workerLost = 'worker_lost';

/**
 * What earlier starts of a call may have left behind, settled before the body starts again. Each question is answered with
 * the call's outcome, or with `undefined` where the body may run.
 */
export class FormerStarts {
  readonly #services: Services;
  readonly #attempt: Attempt;
  readonly #settlement: Settlement;

  constructor(services: Services, attempt: Attempt, settlement: Settlement) {
    this.#services = services;
    this.#attempt = attempt;
    this.#settlement = settlement;
  }

  /** Reads claim nothing; but a read whose worker was lost counts as a start, so that no tool kills workers for ever. */
  async ofRead(): Promise<Outcome | undefined> {
    if (Context.current().info.attempt === 1) return undefined;
    const { call, tool, recorder, starts } = this.#attempt;
    const row = (await this.#services.store.getCall(call.key))?.row;
    if (!row?.begun || row.outcome) return row?.outcome;
    // Started while the tool was declared as more than a read: its claim tells what that start left behind.
    if (row.effect.kind !== 'read') return undefined;
    await starts.lost(row, lostWorker(), lostStart(row, await this.#services.store.now()));
    const again = mayRunAgain({ ...row, former: 'unknown', lost: true, policy: tool.policy, nowMs: Date.now() });
    if (again.run) return undefined;
    return await recorder.refuse(lostWorker());
  }

  /** A former start may have had its effect: run again where that is safe, else find out, else say that nobody knows. */
  async ofClaim(granted: LedgerVerdict & { type: 'granted' }): Promise<Outcome | undefined> {
    const { tool, starts } = this.#attempt;
    const { row, former } = granted;
    const failure = lostWorker();
    const lost = granted.lost || (former === 'unknown' && (await this.#lastWasLost(row)));
    if (granted.lostStart) await starts.lost(row, failure, granted.lostStart);
    const policy = policyOf(row, tool.policy);
    const again = mayRunAgain({ ...row, former, lost, policy, nowMs: Date.now() });
    if (again.run) return undefined;
    if (again.because === 'reconcile') return await this.#settlement.unknown(failure, row);
    return await this.#settlement.failed(failure, row);
  }

  /**
   * Whether nobody told how the last start ended: the claim says it only to the first who takes the call over, and that one
   * may have died before it decided.
   */
  async #lastWasLost(row: LedgerRow): Promise<boolean> {
    const stored = await this.#services.store.getCall(row.key);
    const told = stored?.attempts.find(({ start }) => start === row.starts)?.failure;
    return told === undefined || told['decision'] === workerLost;
  }
}
