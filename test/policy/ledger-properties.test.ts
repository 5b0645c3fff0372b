/**
 * What the ledger guarantees under any interleaving of attempts and any jump of the clock, and (first property) what it
 * leaves to its callers: a claim is granted whatever the former start left behind, and only `begin` is refused.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Outcome } from '../../src/contract/call.js';
import type { Effect } from '../../src/contract/effect.js';
import type { LedgerEvent, LedgerRow } from '../../src/contract/ledger.js';
import { isUnresolved, ledgerTransition, startIsSafe } from '../../src/policy/ledger.js';
import { eventsOf, failureOf, GRACE_MS, KEYED, LEASE_MS, NATURE, ONCE, outcomeOf, READ } from './ledger-rows.js';

type Step = { event: LedgerEvent } | { passMs: number };

const tokens = fc.constantFrom('a', 'b', 'c');
const effects = fc.constantFrom(ONCE, READ, KEYED, NATURE);

function stepsOf(effect: Effect): fc.Arbitrary<Step[]> {
  const on = eventsOf(effect);
  const one = (event: (token: string) => LedgerEvent) => tokens.map((token): Step => ({ event: event(token) }));
  const step = fc.oneof(
    { weight: 15, arbitrary: one(on.claim) },
    { weight: 15, arbitrary: one(on.begin) },
    { weight: 8, arbitrary: one(on.renew) },
    { weight: 4, arbitrary: one(on.fenced) },
    { weight: 4, arbitrary: one((token) => on.end(token, 'unknown', 20)) },
    { weight: 8, arbitrary: one((token) => on.end(token, 'none', 20)) },
    { weight: 1, arbitrary: one(on.giveBack) },
    { weight: 1, arbitrary: one((token) => on.settle(token, outcomeOf(`by ${token}`))) },
    { weight: 3, arbitrary: one((token) => on.settle(token, failureOf('tool_bug', 'none'))) },
    { weight: 3, arbitrary: one((token) => on.settle(token, failureOf('tool_bug', 'unknown'))) },
    { weight: 2, arbitrary: one((token) => on.settle(token, failureOf('outcome_unknown', 'unknown'))) },
    { weight: 6, arbitrary: fc.constant<Step>({ event: on.reopen() }) },
    { weight: 4, arbitrary: fc.boolean().map((happened): Step => ({ event: on.resolve(happened) })) },
    { weight: 1, arbitrary: fc.constant<Step>({ event: on.seal() }) },
    { weight: 8, arbitrary: fc.integer({ min: 0, max: 2 * LEASE_MS }).map((passMs) => ({ passMs })) },
    { weight: 1, arbitrary: fc.integer({ min: -20_000, max: 20_000 }).map((passMs) => ({ passMs })) },
  );
  return fc.array(step, { minLength: 10, maxLength: 80 });
}

/** What a witness saw who stands beside the ledger: which bodies run, and which starts have proved nothing. */
class Witness {
  /** Bodies that run under the row's claim, and the lease that each was last told of. */
  running = new Map<string, number>();
  /** Starts that may have had an effect, by number. */
  unproved = new Map<number, string>();
  starts = 0;
  firstStartAtMs = 0;
  reopened = false;
}

function isFinal(row: LedgerRow | undefined): boolean {
  return row?.outcome !== undefined;
}

/** Walks through the steps and calls `check` after each event. */
function walk(
  effect: Effect,
  steps: Step[],
  check: (at: {
    before: LedgerRow | undefined;
    row: LedgerRow | undefined;
    event: LedgerEvent;
    type: string;
    witness: Witness;
    nowMs: number;
  }) => void,
): void {
  let row: LedgerRow | undefined;
  let nowMs = 1_000_000;
  const witness = new Witness();
  for (const step of steps) {
    if ('passMs' in step) {
      nowMs += step.passMs;
      continue;
    }
    const { event } = step;
    const { write, verdict } = ledgerTransition('k1:1', row, event, nowMs);
    const next = write ?? row;
    check({ before: row, row: next, event, type: verdict.type, witness, nowMs });
    row = next;
    // Whoever claims has superseded what ran before; the body may still run, but the row is no longer its own.
    if (verdict.type === 'granted') witness.running.clear();
    // So has whoever gives the call up, or settles it in its place.
    if (write && (event.type === 'seal' || event.type === 'resolve')) witness.running.clear();
    if (verdict.type === 'accepted') see(witness, event, row as LedgerRow, nowMs);
  }
}

function see(witness: Witness, event: LedgerEvent, row: LedgerRow, nowMs: number): void {
  if (event.type === 'begin') {
    if (witness.starts === 0 || witness.firstStartAtMs === Infinity) witness.firstStartAtMs = nowMs;
    witness.starts += 1;
    witness.running.set(event.token, row.leaseUntilMs);
    witness.unproved.set(witness.starts, event.token);
  }
  if (event.type === 'renew' && witness.running.has(event.token)) witness.running.set(event.token, row.leaseUntilMs);
  if (event.type === 'end' || event.type === 'settle') {
    // The holder's current start is its last one; only that is what it can speak for.
    const own = [...witness.unproved].filter(([, token]) => token === event.token).pop();
    const ranAtAll = witness.running.delete(event.token);
    const left = event.type === 'end' ? event.effect : effectLeftBy(event.outcome);
    if (own && ranAtAll && left === 'none') witness.unproved.delete(own[0]);
  }
  // A person knows of every start so far.
  if (event.type === 'resolve' && !event.happened) witness.unproved.clear();
  if (event.type === 'reopen') witness.reopened = true;
  // A call of which nothing has happened begins anew, and with it the time for which the backend knows its key.
  if (event.type === 'reopen' && row.firstStartAtMs === undefined) witness.firstStartAtMs = Infinity;
  if (event.type === 'fenced') {
    // Fences what came before; the body that runs now, if one does, is its own holder's to account for.
    const runsNow = witness.running.has(event.token) ? witness.starts : undefined;
    for (const start of [...witness.unproved.keys()]) if (start !== runsNow) witness.unproved.delete(start);
  }
}

function effectLeftBy(outcome: Outcome): string {
  return 'failure' in outcome ? outcome.failure.effectState : 'done';
}

function forAll(check: (at: Parameters<Parameters<typeof walk>[2]>[0] & { effect: Effect }) => void): void {
  const cases = effects.chain((effect) => fc.tuple(fc.constant(effect), stepsOf(effect)));
  fc.assert(
    fc.property(cases, ([effect, steps]) => {
      walk(effect, steps, (at) => {
        check({ ...at, effect });
      });
    }),
    { numRuns: 2_000 },
  );
}

test('a claim is granted unless somebody holds the row or it has an outcome, and says what the former start left', () => {
  forAll(({ event, type, before, row, witness }) => {
    if (event.type !== 'claim' || type !== 'granted') return;
    expect(isFinal(before)).toBe(false);
    expect(row?.token).toBe(event.token);
    if (row?.effect.kind === 'read') return;
    if (witness.unproved.size > 0) expect(row?.mayHaveHappened).toBe(true);
    // A failure that was taken back may have said more than its start did.
    else if (!witness.reopened) expect(row?.mayHaveHappened).toBe(false);
  });
});

test('a claim changes hands under a running body only after its lease and the grace', () => {
  forAll(({ event, type, effect, witness, nowMs }) => {
    if (event.type !== 'claim' || type !== 'granted' || effect.kind === 'read') return;
    for (const leaseUntilMs of witness.running.values()) expect(nowMs).toBeGreaterThanOrEqual(leaseUntilMs + GRACE_MS);
  });
});

test('no body begins beside one that still has its claim, except reads', () => {
  forAll(({ event, type, effect, witness }) => {
    if (event.type !== 'begin' || type !== 'accepted' || effect.kind === 'read') return;
    expect(witness.running.size).toBe(0);
  });
});

test('a `once` body begins only after every former start has proved no effect or was fenced', () => {
  forAll(({ event, type, effect, witness }) => {
    if (event.type !== 'begin' || type !== 'accepted' || effect.kind !== 'once') return;
    expect(witness.unproved.size).toBe(0);
  });
});

test('a keyed body is not repeated after an unproved start once the backend may have forgotten its key', () => {
  forAll(({ event, type, effect, witness, nowMs }) => {
    if (event.type !== 'begin' || type !== 'accepted' || effect.kind !== 'idempotent' || effect.by !== 'key') return;
    if (witness.unproved.size > 0) expect(nowMs - witness.firstStartAtMs).toBeLessThan(effect.keyTtlMs);
  });
});

test('a holder in time may always begin where a start is safe', () => {
  forAll(({ event, type, before, nowMs }) => {
    if (event.type !== 'begin' || !before || isFinal(before)) return;
    const holds = before.token === event.token && !before.begun && nowMs <= before.leaseUntilMs;
    if (holds && startIsSafe(before, nowMs)) expect(type).toBe('accepted');
  });
});

test('an outcome, once written, and its row never change but by a person', () => {
  forAll(({ before, row, event }) => {
    if (isFinal(before) && event.type !== 'reopen' && event.type !== 'resolve') expect(row).toBe(before);
  });
});

test('a call is reopened only where it failed and a start now is safe; one whose outcome is unknown never is', () => {
  forAll(({ before, row, event, type, witness, nowMs }) => {
    if (event.type !== 'reopen' || type !== 'accepted' || !before?.outcome || !row) return;
    expect(before.outcome).toHaveProperty('failure');
    expect(before.outcome).not.toMatchObject({ failure: { class: 'outcome_unknown' } });
    expect(startIsSafe(row, nowMs)).toBe(true);
    if (row.effect.kind === 'once') expect(witness.unproved.size).toBe(0);
  });
});

test('a reopened call has its attempts and its time anew, and keeps the number of its starts', () => {
  forAll(({ before, row, event, type }) => {
    if (event.type !== 'reopen' || type !== 'accepted') return;
    expect(row).toMatchObject({ starts: before?.starts, startsBefore: before?.starts, spentMs: 0 });
    expect(row?.outcome).toBeUndefined();
  });
});

test('a person settles only what nobody knows', () => {
  forAll(({ before, row, event, type }) => {
    if (event.type !== 'resolve') return;
    if (type === 'accepted') {
      expect(before && isUnresolved(before)).toBe(true);
      expect(row && isUnresolved(row)).toBe(false);
    } else {
      expect(row).toBe(before);
    }
  });
});

test('starts count the accepted begins, and neither they nor the time spent ever fall', () => {
  forAll(({ before, row, witness, event, type }) => {
    const accepted = event.type === 'begin' && type === 'accepted' ? 1 : 0;
    if (row) expect(row.starts).toBe(witness.starts + accepted);
    // A person who has the call run again gives it its time anew.
    if (before && row && event.type !== 'reopen') expect(row.spentMs).toBeGreaterThanOrEqual(before.spentMs);
  });
});

test('whoever is told busy, superseded or mismatch has changed nothing', () => {
  forAll(({ before, row, type }) => {
    if (type === 'busy' || type === 'superseded' || type === 'mismatch') expect(row).toBe(before);
  });
});

test('a row is held by a token exactly while it is `started` and claimed, and nobody holds a final one', () => {
  forAll(({ row }) => {
    if (!row) return;
    if (row.token !== undefined) expect(row.state).toBe('started');
    if (row.begun) expect(row.token).toBeDefined();
    if (row.state === 'released') expect(row.mayHaveHappened).toBe(false);
    expect(isFinal(row)).toBe(['done', 'failed', 'sealed'].includes(row.state));
  });
});
