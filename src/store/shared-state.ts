import type { SharedEvent, SharedVerdict } from '../policy/shared-state.js';
import type { StoreError } from './store-error.js';
import type { Store } from './store.js';

/**
 * What all runs and workers of one store share besides the durable record: breakers, limiters, retry budgets, locks. One
 * contract test suite (`test/store/shared-state-contract.ts`) runs against each implementation.
 *
 * It needs no durable commit: what a crash of the machine loses here costs a few calls to a backend that is down, or a
 * burst above a limit. Locks rest on leases, which a crash of the machine outlasts at worst once; what must not happen
 * twice is the ledger's business. State untouched for a day may be dropped.
 */
export interface SharedState {
  /**
   * Applies one event to one name by the pure transition in `policy/shared-state.ts`, atomically, on the store's clock.
   * Events of different kinds never meet, whatever their names. Rejects with a `StoreError`.
   */
  applyShared<E extends SharedEvent>(name: string, event: E): Promise<SharedVerdict<E>>;
}

/** Everything that a store keeps for its workers. */
export type WorkerStore = Store &
  SharedState & {
    /**
     * Resolves where the store has gone for good in this process, other than by `close`: nothing asked of it will succeed
     * until it is opened anew. An outage that may pass does not settle it.
     */
    readonly lost: Promise<StoreError>;
  };
