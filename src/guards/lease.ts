import type { LockVerdict } from '../policy/exclusive-lock.js';
import type { SharedState } from '../store/shared-state.js';

/** A place in a lock (or among a bounded number of calls) that is held until it is given back. */
export interface Lease {
  name: string;
  token: string;
  leaseMs: number;
  permits: number;
  fence: number;
}

export type LeaseTaken = { type: 'held'; lease: Lease } | { type: 'busy'; leaseRestMs: number };

export async function takeLease(shared: SharedState, place: Omit<Lease, 'fence'>): Promise<LeaseTaken> {
  const verdict = await ask(shared, place);
  if (verdict.type === 'held') return { type: 'held', lease: { ...place, fence: verdict.fence } };
  return { type: 'busy', leaseRestMs: verdict.type === 'busy' ? verdict.leaseRestMs : 0 };
}

/** Whether the place is still this holder's without a break; false where it lapsed, even if it was free to take again. */
export async function renewLease(shared: SharedState, lease: Lease): Promise<boolean> {
  const verdict = await ask(shared, lease);
  return verdict.type === 'held' && verdict.renewed;
}

export async function releaseLease(shared: SharedState, { name, token }: Lease): Promise<void> {
  await shared.applyShared(name, { kind: 'lock', type: 'release', token });
}

function ask(shared: SharedState, { name, token, leaseMs, permits }: Omit<Lease, 'fence'>): Promise<LockVerdict> {
  return shared.applyShared(name, { kind: 'lock', type: 'take', token, leaseMs, permits });
}
