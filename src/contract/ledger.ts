/**
 * What the ledger keeps of a call, what may happen to it, and what whoever asks is told. `policy/ledger.ts` is the transition
 * between them.
 */
import type { Outcome } from './call.js';
import type { Effect } from './effect.js';

/**
 * - `started`: claimed (`token`), or its last holder ended or was lost without proving that nothing happened (`token` absent).
 * - `released`: the last holder ended and proved no effect.
 * - `done`, `failed`: an outcome is stored.
 * - `sealed`: given up; a late result changes nothing.
 */
export type LedgerState = 'started' | 'released' | 'done' | 'failed' | 'sealed';

export interface LedgerRow {
  key: string;
  runKey: string;
  callId: string;
  tool: string;
  digest: string;
  effect: Effect;
  state: LedgerState;
  /** The holder's random token while claimed. */
  token?: string;
  /** When the holder's claim lapses unless renewed; epoch milliseconds on the store's clock. */
  leaseUntilMs: number;
  /** The holder's body has begun: from here on a lost holder may have had its effect. */
  begun: boolean;
  /** Starts of the body so far. */
  starts: number;
  /** Starts before a person had the call run again: they count no more among its attempts. Absent is 0. */
  startsBefore?: number;
  /** Time used up by attempts and the waits between them, milliseconds; a person's or an absent worker's time is not in it. */
  spentMs: number;
  /** Some start may have had its effect and nothing has proved that it did not. */
  mayHaveHappened: boolean;
  firstStartAtMs?: number;
  /** When the running body began; moved by what the clock was set by since. */
  begunAtMs?: number;
  outcome?: Outcome;
  updatedAtMs: number;
}

/** What identifies the call when its row is first written. */
export type LedgerCall = Pick<LedgerRow, 'runKey' | 'callId' | 'tool' | 'digest' | 'effect'>;

export type LedgerEvent =
  /** An attempt asks to be the one that may run the body. Reads need none. */
  | { type: 'claim'; call: LedgerCall; token: string; leaseMs: number; graceMs: number }
  /**
   * Just before the body: re-reads the claim and counts the start. A read begins without a claim. Refused where the start
   * could be a second effect (`startIsSafe`), whatever the caller has concluded. An accepted start is noted by the store
   * as that worker's, in the same transaction, so that whoever finds it lost can say whose it was.
   */
  | { type: 'begin'; call: LedgerCall; token: string; leaseMs: number; by?: StartedBy }
  | { type: 'renew'; token: string; leaseMs: number }
  /** The backend was fenced (`reconcile` said so): a start whose answer was lost can no longer have an effect. */
  | { type: 'fenced'; token: string }
  /** The attempt ended and another is to follow after `waitMs`. `effect` is what this start may have left behind. */
  | { type: 'end'; token: string; effect: 'none' | 'unknown'; waitMs: number }
  /** The claim is given back before the body began. */
  | { type: 'giveBack'; token: string }
  /** The call ends with this outcome. */
  | { type: 'settle'; token: string; outcome: Outcome }
  /** Nobody may run the body any more. The outcome recorded depends on whether a start may have had its effect. */
  | { type: 'seal'; call: LedgerCall; ifNone: Outcome; ifUnknown: Outcome }
  /**
   * A person has the run go on: the call gets its attempts and its time anew, and a failure that it ended with is taken back.
   * Refused where it did not fail, where nobody knows what became of it (`outcome_unknown`), and where a start could be a
   * second effect (`startIsSafe`). `call` is the call as it runs from now on: where nothing has happened yet and nobody
   * may still run it, its declared effect takes the place of the old one. `asOfMs` is the row's `updatedAtMs` as it was
   * looked at: refused where it has changed since, because what is taken back would be told wrongly.
   */
  | { type: 'reopen'; call: LedgerCall; asOfMs?: number }
  /**
   * A person says what became of a call whose effect is unknown. Refused for a call of which it is known, or that runs, or
   * that has changed since it was looked at (`asOfMs`, as above).
   */
  | { type: 'resolve'; happened: boolean; outcome: Outcome; asOfMs?: number };

/** Who starts a body, and when on its own clock (epoch milliseconds), which tells its end as well. */
export interface StartedBy {
  worker: string;
  atMs: number;
}

/** What the former holder of a claim left behind, as the next one must know before it runs anything. */
export type FormerStart = 'never' | 'proved-none' | 'unknown';

/** The last start of a body whose holder vanished. Epoch milliseconds on the store's clock. */
export interface LostStart {
  begunAtMs: number;
  /** Until then its holder was known to live, at the latest. */
  lapsedAtMs: number;
}

export type LedgerVerdict =
  /**
   * The token holds the row. `lost` is true where the former holder vanished in mid-body (its lease lapsed); `lostStart`
   * tells of that start. With `former` unknown the caller must ask `startIsSafe`, and where it is not, reconcile or settle
   * as unknown; `begin` is refused.
   */
  | { type: 'granted'; row: LedgerRow; former: FormerStart; lost: boolean; lostStart?: LostStart }
  | { type: 'accepted'; row: LedgerRow }
  /** An outcome is stored: return it, run nothing. */
  | { type: 'settled'; row: LedgerRow; outcome: Outcome }
  /** Another holds a live lease; ask again after `retryAfterMs`. */
  | { type: 'busy'; row: LedgerRow; retryAfterMs: number }
  /**
   * The token is not (or no longer) the holder's, its lease lapsed before the body began, or beginning could have a second
   * effect: run nothing, change nothing. Where the row has an outcome, that is the call's.
   */
  | { type: 'superseded'; row?: LedgerRow }
  /** This key was seen with other arguments. */
  | { type: 'mismatch'; row: LedgerRow };
