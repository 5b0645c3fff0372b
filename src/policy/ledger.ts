/**
 * The ledger's state machine: one row per call, one pure transition. Stores run it inside a transaction on the row;
 * nothing else decides who may run a body. The rules answer interleavings that were reproduced on a real server (two
 * "attempt 1" after a reset, zombies, lost workers), so attempt numbers order nothing here: only tokens and leases do.
 */
import type { Outcome } from '../contract/call.js';
import type { Effect } from '../contract/effect.js';
import { assertNever } from '../contract/json.js';
import type { LedgerRow, LedgerCall, LedgerEvent, FormerStart, LostStart, LedgerVerdict } from '../contract/ledger.js';

export interface LedgerTransition {
  /** The row to write; absent where nothing changes. */
  write?: LedgerRow;
  verdict: LedgerVerdict;
}

/** The transition. Pure: `nowMs` is the store's clock, tokens come with the events. */
export function ledgerTransition(
  key: string,
  row: LedgerRow | undefined,
  event: LedgerEvent,
  nowMs: number,
): LedgerTransition {
  switch (event.type) {
    case 'claim':
      return claim(row ?? emptyRow(key, event.call, nowMs), event, nowMs);
    case 'begin':
      return begin(row ?? emptyRow(key, event.call, nowMs), event, nowMs);
    case 'seal':
      return seal(row ?? emptyRow(key, event.call, nowMs), event, nowMs);
    case 'reopen':
      return reopen(row, event, nowMs);
    case 'resolve':
      return resolve(row, event, nowMs);
    case 'renew':
      return asHolder(row, event.token, (held) => renewed(held, event, nowMs), nowMs);
    case 'fenced':
      return asHolder(row, event.token, (held) => ({ ...held, mayHaveHappened: false }), nowMs);
    case 'giveBack':
      // A body that has begun cannot be given back: its holder must say how it ended.
      return asHolder(row, event.token, (held) => (held.begun ? undefined : withoutHolder(held, 'none')), nowMs);
    case 'end':
      return asHolder(
        row,
        event.token,
        (held) => {
          // A read that another has taken over leaves the row to it; its time was counted at the takeover. And what never
          // began left nothing behind, whatever its holder says.
          const ended =
            held.token === event.token ? withoutHolder(spend(held, nowMs), held.begun ? event.effect : 'none') : held;
          return { ...ended, spentMs: ended.spentMs + Math.max(0, event.waitMs) };
        },
        nowMs,
      );
    case 'settle':
      return asHolder(
        row,
        event.token,
        (held) => settled(spend(held, nowMs), event.outcome, stateOf(event.outcome)),
        nowMs,
      );
  }
}

function emptyRow(key: string, call: LedgerCall, nowMs: number): LedgerRow {
  return {
    ...call,
    key,
    state: 'released',
    leaseUntilMs: 0,
    begun: false,
    starts: 0,
    spentMs: 0,
    mayHaveHappened: false,
    updatedAtMs: nowMs,
  };
}

/** A row written for a call that never ran may not know the arguments' digest (''): the key, which holds it, is enough. */
function isOtherCall(row: LedgerRow, call: LedgerCall): boolean {
  return row.digest !== '' && call.digest !== '' && row.digest !== call.digest;
}

function claim(row: LedgerRow, event: LedgerEvent & { type: 'claim' }, nowMs: number): LedgerTransition {
  if (isOtherCall(row, event.call)) return { verdict: { type: 'mismatch', row } };
  if (row.outcome) return { verdict: { type: 'settled', row, outcome: row.outcome } };
  const holderGoneAtMs = row.leaseUntilMs + event.graceMs;
  // Asking again with the same token is granted again (an answer may have been lost), but not once its body has begun.
  const isSameClaim = row.token === event.token && !row.begun;
  if (row.token !== undefined && !isSameClaim && nowMs < holderGoneAtMs) {
    return { verdict: { type: 'busy', row, retryAfterMs: holderGoneAtMs - nowMs } };
  }
  // A lapsed holder that had not begun cannot begin any more (`begin` asks for its token), so it left nothing behind.
  const lost = row.token !== undefined && row.begun;
  const freed = lost ? withoutHolder(spend(row, nowMs), 'unknown') : row;
  const granted: LedgerRow = {
    ...freed,
    state: 'started',
    token: event.token,
    leaseUntilMs: nowMs + event.leaseMs,
    begun: false,
    updatedAtMs: nowMs,
  };
  const former: FormerStart = granted.mayHaveHappened ? 'unknown' : granted.starts === 0 ? 'never' : 'proved-none';
  const verdict = { type: 'granted', row: granted, former, lost } as const;
  return { write: granted, verdict: lost ? { ...verdict, lostStart: lostStart(row, nowMs) } : verdict };
}

function begin(row: LedgerRow, event: LedgerEvent & { type: 'begin' }, nowMs: number): LedgerTransition {
  if (isOtherCall(row, event.call)) return { verdict: { type: 'mismatch', row } };
  if (row.outcome) return { verdict: { type: 'settled', row, outcome: row.outcome } };
  const isRead = row.effect.kind === 'read';
  const holds = row.token === event.token && nowMs <= row.leaseUntilMs && !row.begun;
  if (!isRead && !(holds && startIsSafe(row, nowMs))) return { verdict: { type: 'superseded', row } };
  const begun: LedgerRow = {
    ...spend(row, nowMs),
    state: 'started',
    // The newest read takes the row over; two reads side by side harm nobody, and the first outcome is kept.
    token: event.token,
    leaseUntilMs: nowMs + event.leaseMs,
    begun: true,
    starts: row.starts + 1,
    firstStartAtMs: row.firstStartAtMs ?? nowMs,
    begunAtMs: nowMs,
    updatedAtMs: nowMs,
  };
  return { write: begun, verdict: { type: 'accepted', row: begun } };
}

/**
 * Whether starting the body now cannot have a second effect: no start may have had its effect, or the tool's effect may be
 * repeated. A key counts from the first start, because the backend forgets it `keyTtlMs` after it first saw it; from then on
 * the call is as good as `once`.
 */
export function startIsSafe(row: LedgerRow, nowMs: number): boolean {
  if (!row.mayHaveHappened) return true;
  const { effect } = row;
  switch (effect.kind) {
    case 'read':
      return true;
    case 'idempotent':
      return effect.by === 'nature' || nowMs - (row.firstStartAtMs ?? nowMs) < effect.keyTtlMs;
    case 'once':
      return false;
    default:
      return assertNever(effect);
  }
}

function seal(row: LedgerRow, event: LedgerEvent & { type: 'seal' }, nowMs: number): LedgerTransition {
  if (isOtherCall(row, event.call)) return { verdict: { type: 'mismatch', row } };
  if (row.outcome) return { verdict: { type: 'settled', row, outcome: row.outcome } };
  const running = row.token !== undefined && row.begun;
  const unknown = row.effect.kind !== 'read' && (row.mayHaveHappened || running);
  const outcome = unknown ? event.ifUnknown : event.ifNone;
  const sealed = { ...settled(spend(row, nowMs), outcome, 'sealed'), updatedAtMs: nowMs };
  return { write: sealed, verdict: { type: 'settled', row: sealed, outcome } };
}

function reopen(row: LedgerRow | undefined, event: LedgerEvent & { type: 'reopen' }, nowMs: number): LedgerTransition {
  if (row && hasChanged(row, event)) return { verdict: { type: 'superseded', row } };
  const reopened = row && reopenedRow(row, event.call, nowMs);
  if (reopened) return { write: reopened, verdict: { type: 'accepted', row: reopened } };
  if (row && isOtherCall(row, event.call)) return { verdict: { type: 'mismatch', row } };
  return { verdict: { type: 'superseded', ...(row ? { row } : {}) } };
}

/** The row as `reopen` would leave it; `undefined` where it would be refused. */
export function reopenedRow(row: LedgerRow, call: LedgerCall, nowMs: number): LedgerRow | undefined {
  if (isOtherCall(row, call)) return undefined;
  const anew = { ...row, startsBefore: row.starts, spentMs: 0, updatedAtMs: nowMs };
  if (!row.outcome) return declaredAnew(anew, call.effect);
  if (!('failure' in row.outcome) || row.outcome.failure.class === 'outcome_unknown') return undefined;
  const lastLeft = row.starts > 0 && row.outcome.failure.effectState !== 'none';
  const mayHaveHappened = row.effect.kind !== 'read' && (row.mayHaveHappened || lastLeft);
  const { outcome: _outcome, firstStartAtMs, ...rest } = anew;
  const reopened: LedgerRow = {
    ...rest,
    state: mayHaveHappened ? 'started' : 'released',
    mayHaveHappened,
    ...(mayHaveHappened && firstStartAtMs !== undefined ? { firstStartAtMs } : {}),
    ...(mayHaveHappened ? {} : { effect: call.effect }),
    digest: row.digest === '' ? call.digest : row.digest,
  };
  return startIsSafe(reopened, nowMs) ? reopened : undefined;
}

/** A row without an outcome, as its tool is declared from now on, unless a start may have had its effect or may yet have it. */
function declaredAnew(row: LedgerRow, effect: Effect): LedgerRow {
  if (row.effect.kind === effect.kind && effect.kind === 'read') return row;
  // A read that may still go on has no effect to wait for, and under a stricter declaration it is nobody's claim.
  const free = row.effect.kind === 'read' ? withoutHolder(row, 'none') : row;
  // Whoever may still run it keeps it: its lease says so, and the next claim asks what it left behind.
  if (free.token !== undefined || free.mayHaveHappened) return row;
  const { firstStartAtMs: _firstStartAtMs, ...rest } = free;
  return { ...rest, effect };
}

function resolve(
  row: LedgerRow | undefined,
  event: LedgerEvent & { type: 'resolve' },
  nowMs: number,
): LedgerTransition {
  if (!row) return { verdict: { type: 'superseded' } };
  if (!row.outcome && row.token !== undefined && nowMs < row.leaseUntilMs) {
    return { verdict: { type: 'busy', row, retryAfterMs: row.leaseUntilMs - nowMs } };
  }
  if (!isUnresolved(row)) {
    return row.outcome
      ? { verdict: { type: 'settled', row, outcome: row.outcome } }
      : { verdict: { type: 'superseded', row } };
  }
  if (hasChanged(row, event)) return { verdict: { type: 'superseded', row } };
  const { happened, outcome } = event;
  const resolved: LedgerRow = {
    ...settled(spend(row, nowMs), outcome, happened ? 'done' : 'failed'),
    mayHaveHappened: happened && row.effect.kind !== 'read',
    updatedAtMs: nowMs,
  };
  return { write: resolved, verdict: { type: 'accepted', row: resolved } };
}

function hasChanged(row: LedgerRow, { asOfMs }: { asOfMs?: number }): boolean {
  return asOfMs !== undefined && row.updatedAtMs !== asOfMs;
}

/** Whether nobody knows if the call has had its effect: as it was recorded, or because a start of it was never ended. */
export function isUnresolved(row: LedgerRow): boolean {
  if (row.outcome) return 'failure' in row.outcome && row.outcome.failure.effectState === 'unknown';
  return row.effect.kind !== 'read' && (row.mayHaveHappened || row.begun);
}

/** Applies a change that only the holder may make; of a read, any of its starts may, however many run side by side. */
function asHolder(
  row: LedgerRow | undefined,
  token: string,
  change: (row: LedgerRow) => LedgerRow | undefined,
  nowMs: number,
): LedgerTransition {
  if (!row) return { verdict: { type: 'superseded' } };
  const anyReader = row.effect.kind === 'read' && row.starts > 0;
  if (row.outcome || (row.token !== token && !anyReader)) return { verdict: { type: 'superseded', row } };
  const changed = change(row);
  if (!changed) return { verdict: { type: 'superseded', row } };
  const write = { ...changed, updatedAtMs: nowMs };
  return { write, verdict: { type: 'accepted', row: write } };
}

function renewed(held: LedgerRow, event: LedgerEvent & { type: 'renew' }, nowMs: number): LedgerRow | undefined {
  if (held.token !== event.token) return held;
  // As for `begin`: a holder that slept past its lease before the body must claim anew.
  if (!held.begun && nowMs > held.leaseUntilMs) return undefined;
  const renewed = { ...held, leaseUntilMs: nowMs + event.leaseMs };
  if (held.begunAtMs === undefined) return renewed;
  // What the clock was set by moves the start as well, so that the body has run for as long as it has.
  return { ...renewed, begunAtMs: held.begunAtMs + nowMs - knownUntilMs(held, nowMs) };
}

function withoutHolder(row: LedgerRow, effect: 'none' | 'unknown'): LedgerRow {
  const { token: _token, begunAtMs: _begunAtMs, ...rest } = row;
  const mayHaveHappened = row.effect.kind !== 'read' && (row.mayHaveHappened || effect === 'unknown');
  // `released` says "proved no effect" of every start so far, not only of the last one.
  return { ...rest, state: mayHaveHappened ? 'started' : 'released', begun: false, leaseUntilMs: 0, mayHaveHappened };
}

/** What is known of a start that nobody ended, from the row before anybody else claims it. */
export function lostStart(row: LedgerRow, nowMs: number): LostStart {
  const { begunAtMs = row.leaseUntilMs } = row;
  return { begunAtMs, lapsedAtMs: Math.max(begunAtMs, Math.min(nowMs, row.leaseUntilMs)) };
}

function spend(row: LedgerRow, nowMs: number): LedgerRow {
  if (row.begunAtMs === undefined) return row;
  return { ...row, spentMs: row.spentMs + Math.max(0, knownUntilMs(row, nowMs) - row.begunAtMs) };
}

/**
 * Until when the body is known to have run: its time counts while its holder was known to live, and the clock alone is not
 * believed. One that was set by an hour would use up the call's time, or give it back.
 */
function knownUntilMs(row: LedgerRow, nowMs: number): number {
  return Math.min(Math.max(nowMs, row.updatedAtMs), row.leaseUntilMs);
}

function settled(row: LedgerRow, outcome: Outcome, state: 'done' | 'failed' | 'sealed'): LedgerRow {
  const { token: _token, begunAtMs: _begunAtMs, ...rest } = row;
  return { ...rest, state, begun: false, leaseUntilMs: 0, outcome };
}

function stateOf(outcome: Outcome): 'done' | 'failed' {
  return outcome.status === 'failed' || outcome.status === 'aborted' ? 'failed' : 'done';
}
