import type { LedgerEvent } from '../contract/ledger.js';
import type { RequestMethod } from './request-store.js';

/**
 * Whether a write is answered before it is on disk. All processes see it at once, and it survives the death of any of
 * them; a crash of the machine (of the database's, for PostgreSQL) may lose the newest of them. Each durable write takes
 * those before it to disk, so what the history knows of is never lost. Relaxed is what harms nobody when it is lost:
 *
 * - shared state (breakers, limiters, locks): the backends say it again, and leases lapse;
 * - the start of a model turn: it only bounds how often a model is asked;
 * - the start of a read: likewise, and a read that ran once too often has no effect;
 * - a claim and its renewal: they only keep living attempts apart. A holder whose claim was lost is refused at `begin`,
 *   which is durable before every body that has an effect; one whose renewal was lost holds a shorter lease.
 */
export function isRelaxed(method: RequestMethod, args: readonly unknown[]): boolean {
  switch (method) {
    case 'applyShared':
    case 'countTurnStart':
      return true;
    case 'applyLedger':
      return isRelaxedEvent(args[1] as LedgerEvent);
    default:
      return false;
  }
}

export function isRelaxedEvent(event: LedgerEvent): boolean {
  if (event.type === 'begin') return event.call.effect.kind === 'read';
  return event.type === 'claim' || event.type === 'renew';
}
