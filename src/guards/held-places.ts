import type { SharedState } from '../store/shared-state.js';
import { releaseLease, renewLease, takeLease, type Lease } from './lease.js';

/** The places that one attempt holds, in locks and among a tool's concurrent calls. */
export class HeldPlaces {
  readonly #shared: SharedState;
  readonly #holder: { token: string; leaseMs: number };
  #leases: Lease[] = [];
  /** When all of them were certainly held, on the monotonic clock. */
  #heldAt = 0;

  constructor(shared: SharedState, holder: { token: string; leaseMs: number }) {
    this.#shared = shared;
    this.#holder = holder;
  }

  get isEmpty(): boolean {
    return this.#leases.length === 0;
  }

  /** Whether a lease has run out since they were certainly held, as far as this process can know. */
  get mayHaveLapsed(): boolean {
    return !this.isEmpty && performance.now() - this.#heldAt > this.#holder.leaseMs;
  }

  fenceOf(name: string): number | undefined {
    return this.#leases.find((lease) => lease.name === name)?.fence;
  }

  /** Whether one of the `permits` places of this name was free. */
  async take(name: string, permits: number): Promise<boolean> {
    const askedAt = performance.now();
    const taken = await takeLease(this.#shared, { ...this.#holder, name, permits });
    if (taken.type === 'busy') return false;
    this.#leases.push(taken.lease);
    this.#heldAt = askedAt;
    return true;
  }

  /** Whether all of them are still this attempt's without a break. */
  async renew(): Promise<boolean> {
    const askedAt = performance.now();
    const held = await Promise.all(this.#leases.map((lease) => renewLease(this.#shared, lease)));
    if (!held.every(Boolean)) return false;
    this.#heldAt = askedAt;
    return true;
  }

  /** One promise for each place. */
  release(): Promise<void>[] {
    return this.#leases.splice(0).map((lease) => releaseLease(this.#shared, lease));
  }
}
