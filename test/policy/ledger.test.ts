import { beforeEach, describe, expect, test } from 'vitest';
import type { Effect } from '../../src/contract/effect.js';
import type { LedgerRow } from '../../src/contract/ledger.js';
import { lostStart, startIsSafe } from '../../src/policy/ledger.js';
import {
  callOf,
  eventsOf,
  failureOf,
  GRACE_MS,
  KEY_TTL_MS,
  KEYED,
  LEASE_MS,
  LedgerBench,
  NATURE,
  ONCE,
  outcomeOf,
  READ,
} from './ledger-rows.js';

let bench: LedgerBench;
const { claim, begin, renew, fenced, end, giveBack, settle, seal } = eventsOf(ONCE);

beforeEach(() => {
  bench = new LedgerBench();
});

/** Lets the holder's lease and grace pass. */
function lapse() {
  bench.nowMs += LEASE_MS + GRACE_MS;
}

describe('claiming', () => {
  test('grants a new call to the first who asks', () => {
    expect(bench.apply(claim('a'))).toMatchObject({ type: 'granted', former: 'never', lost: false });
    expect(bench.row).toMatchObject({ state: 'started', token: 'a', begun: false, starts: 0, leaseUntilMs: 101_000 });
  });

  test('tells everybody else how long the holder is to be waited for', () => {
    bench.apply(claim('a'));
    bench.nowMs += 300;
    expect(bench.apply(claim('b'))).toMatchObject({ type: 'busy', retryAfterMs: 900 });
    expect(bench.row?.token).toBe('a');
  });

  test('grants the same token again while its body has not begun, as an answer may have been lost', () => {
    expect(bench.types(claim('a'), claim('a'), begin('a'))).toEqual(['granted', 'granted', 'accepted']);
  });

  test('knows a call again that was refused before anybody knew the digest of its arguments', () => {
    const refused = outcomeOf('refused');
    bench.apply({ type: 'seal', call: { ...callOf(ONCE), digest: '' }, ifNone: refused, ifUnknown: refused });
    expect(bench.apply(claim('a'))).toMatchObject({ type: 'settled', outcome: refused });
  });

  test('seals a call that ran where the one who refuses it does not know its digest', () => {
    bench.types(claim('a'), begin('a'));
    const sealed = {
      type: 'seal',
      call: { ...callOf(ONCE), digest: '' },
      ifNone: outcomeOf('none'),
      ifUnknown: outcomeOf('unknown'),
    } as const;
    expect(bench.apply(sealed)).toMatchObject({ type: 'settled', outcome: outcomeOf('unknown') });
  });

  test('does not grant a token again whose body runs', () => {
    expect(bench.types(claim('a'), begin('a'), claim('a'))).toEqual(['granted', 'accepted', 'busy']);
  });

  test('passes a lapsed claim on only after the grace', () => {
    bench.types(claim('a'), begin('a'));
    bench.nowMs += LEASE_MS + GRACE_MS - 1;
    expect(bench.apply(claim('b'))).toMatchObject({ type: 'busy', retryAfterMs: 1 });
    bench.nowMs += 1;
    expect(bench.apply(claim('b'))).toMatchObject({ type: 'granted', former: 'unknown', lost: true });
  });

  test('tells of a lost start when it began and until when its holder was known to live', () => {
    bench.types(claim('a'), begin('a'));
    bench.nowMs += 400;
    bench.apply(renew('a'));
    bench.nowMs += 3_600_000;
    expect(bench.apply(claim('b'))).toMatchObject({
      lostStart: { begunAtMs: 100_000, lapsedAtMs: 100_400 + LEASE_MS },
    });
    expect(bench.types(end('b', 'none'))).toEqual(['accepted']);
    expect(bench.apply(claim('c'))).not.toHaveProperty('lostStart');
  });

  test('tells of a lost read what it tells of others', () => {
    const read = eventsOf(READ);
    bench.apply(read.begin('a'));
    const { row } = bench;
    if (!row) throw new Error('the read wrote no row');
    expect(lostStart(row, bench.nowMs + 10)).toEqual({ begunAtMs: 100_000, lapsedAtMs: 100_010 });
    expect(lostStart(row, bench.nowMs + 3_600_000)).toEqual({ begunAtMs: 100_000, lapsedAtMs: 100_000 + LEASE_MS });
  });

  test('knows that a holder lost before its body began left nothing behind', () => {
    bench.apply(claim('a'));
    lapse();
    expect(bench.apply(claim('b'))).toMatchObject({ type: 'granted', former: 'never', lost: false });
  });

  test('still knows of the lost body when the one that came after it is lost too', () => {
    bench.types(claim('a'), begin('a'));
    lapse();
    bench.apply(claim('b'));
    lapse();
    expect(bench.apply(claim('c'))).toMatchObject({ type: 'granted', former: 'unknown', lost: false });
  });

  test('runs on at once after a holder that ended with no effect', () => {
    bench.types(claim('a'), begin('a'), end('a', 'none'));
    expect(bench.row?.state).toBe('released');
    expect(bench.apply(claim('b'))).toMatchObject({ type: 'granted', former: 'proved-none', lost: false });
  });

  test('does not let a later proof of no effect speak for an earlier start', () => {
    const keyed = eventsOf(KEYED);
    bench.types(keyed.claim('a'), keyed.begin('a'), keyed.end('a', 'unknown'));
    bench.types(keyed.claim('b'), keyed.begin('b'), keyed.end('b', 'none'));
    expect(bench.row).toMatchObject({ state: 'started', mayHaveHappened: true, starts: 2 });
    expect(bench.apply(keyed.claim('c'))).toMatchObject({ type: 'granted', former: 'unknown' });
  });

  test('refuses a key that was seen with other arguments, and changes nothing', () => {
    bench.apply(claim('a'));
    const before = bench.row;
    const other = callOf(ONCE, 'd2');
    const outcomes = { ifNone: outcomeOf('none'), ifUnknown: outcomeOf('unknown') };
    expect(
      bench.types(
        { type: 'claim', call: other, token: 'b', leaseMs: LEASE_MS, graceMs: GRACE_MS },
        { type: 'begin', call: other, token: 'a', leaseMs: LEASE_MS },
        { type: 'seal', call: other, ...outcomes },
      ),
    ).toEqual(['mismatch', 'mismatch', 'mismatch']);
    expect(bench.row).toBe(before);
  });
});

describe('beginning', () => {
  test('counts the start and remembers when the first one was', () => {
    bench.types(claim('a'), begin('a'), end('a', 'none'), claim('b'));
    bench.nowMs += 50;
    bench.apply(begin('b'));
    expect(bench.row).toMatchObject({ starts: 2, firstStartAtMs: 100_000, begunAtMs: 100_050, begun: true });
  });

  test.each([
    ['without a claim', []],
    ['with a claim given back', [claim('b'), giveBack('b')]],
    ["under another's claim", [claim('a')]],
    ['twice under one claim', [claim('b'), begin('b')]],
  ])('is refused %s', (_, before) => {
    bench.types(...before);
    const { row } = bench;
    expect(bench.apply(begin('b')).type).toBe('superseded');
    expect(bench.row).toBe(row);
  });

  test('is refused after the lease, even where nobody else has claimed, and renewing first does not help', () => {
    bench.apply(claim('a'));
    bench.nowMs += LEASE_MS + 1;
    expect(bench.types(begin('a'), renew('a'), begin('a'))).toEqual(['superseded', 'superseded', 'superseded']);
    expect(bench.types(claim('a'), begin('a'))).toEqual(['granted', 'accepted']);
  });

  test('is refused for a `once` tool whose former start may have had its effect', () => {
    bench.types(claim('a'), begin('a'), end('a', 'unknown'));
    expect(bench.types(claim('b'), begin('b'))).toEqual(['granted', 'superseded']);
    expect(bench.row?.starts).toBe(1);
  });

  test('is allowed once the backend has fenced the former start', () => {
    bench.types(claim('a'), begin('a'));
    lapse();
    expect(bench.types(claim('b'), fenced('b'), begin('b'))).toEqual(['granted', 'accepted', 'accepted']);
  });

  test('repeats a keyed call while the backend remembers the key, counted from the first start', () => {
    const keyed = eventsOf(KEYED);
    bench.types(keyed.claim('a'), keyed.begin('a'), keyed.end('a', 'unknown'));
    bench.nowMs += KEY_TTL_MS - 1;
    bench.apply(keyed.claim('b'));
    expect(startIsSafe(bench.row as LedgerRow, bench.nowMs)).toBe(true);
    expect(startIsSafe(bench.row as LedgerRow, bench.nowMs + 1)).toBe(false);
    bench.nowMs += 1;
    expect(bench.types(keyed.begin('b'))).toEqual(['superseded']);
  });

  test('repeats a call that sets the same value again, however late', () => {
    const nature = eventsOf(NATURE);
    bench.types(nature.claim('a'), nature.begin('a'), nature.end('a', 'unknown'));
    bench.nowMs += 1e9;
    expect(bench.types(nature.claim('b'), nature.begin('b'))).toEqual(['granted', 'accepted']);
  });
});

describe('a holder that was away', () => {
  test('keeps a body that nobody took over: it may renew, end or settle late', () => {
    bench.types(claim('a'), begin('a'));
    bench.nowMs += 10 * LEASE_MS;
    expect(bench.types(renew('a'), claim('b'), settle('a'))).toEqual(['accepted', 'busy', 'accepted']);
  });

  test('changes nothing after another has claimed', () => {
    bench.types(claim('a'), begin('a'));
    lapse();
    bench.apply(claim('b'));
    const { row } = bench;
    const late = [renew('a'), fenced('a'), end('a', 'none'), giveBack('a'), settle('a'), begin('a')];
    expect(bench.types(...late)).toEqual(late.map(() => 'superseded'));
    expect(bench.row).toBe(row);
  });

  test('learns the outcome that stands when it settles too late', () => {
    bench.types(claim('a'), begin('a'));
    lapse();
    bench.types(claim('b'), settle('b', outcomeOf('unknown', 'failed')));
    expect(bench.apply(settle('a'))).toMatchObject({
      type: 'superseded',
      row: { outcome: outcomeOf('unknown', 'failed') },
    });
  });
});

describe('giving back', () => {
  test('frees the claim at once', () => {
    bench.types(claim('a'), giveBack('a'));
    expect(bench.row).toMatchObject({ state: 'released', starts: 0, leaseUntilMs: 0 });
    expect(bench.row).not.toHaveProperty('token');
    expect(bench.apply(claim('b'))).toMatchObject({ type: 'granted', former: 'never' });
  });

  test('is refused once the body has begun', () => {
    expect(bench.types(claim('a'), begin('a'), giveBack('a'))).toEqual(['granted', 'accepted', 'superseded']);
    expect(bench.row).toMatchObject({ token: 'a', begun: true });
  });

  test('does not forget that a former start may have had its effect', () => {
    bench.types(claim('a'), begin('a'), end('a', 'unknown'), claim('b'), giveBack('b'));
    expect(bench.row).toMatchObject({ state: 'started', mayHaveHappened: true });
  });
});

describe('ending', () => {
  test('before the body began leaves nothing behind, whatever the holder says', () => {
    bench.types(claim('a'), end('a', 'unknown'));
    expect(bench.row).toMatchObject({ state: 'released', mayHaveHappened: false });
  });
});

describe('settling', () => {
  test.each([
    ['done', outcomeOf('refunded')],
    ['failed', outcomeOf('refused', 'failed')],
  ] as const)('stores the outcome as %s, once', (state, outcome) => {
    bench.types(claim('a'), begin('a'), settle('a', outcome));
    expect(bench.row).toMatchObject({ state, outcome });
    expect(bench.apply(settle('a', outcomeOf('another'))).type).toBe('superseded');
    expect(bench.apply(claim('b'))).toMatchObject({ type: 'settled', outcome });
    expect(bench.apply(begin('b'))).toMatchObject({ type: 'settled', outcome });
  });
});

describe('sealing', () => {
  test.each<[string, Effect, (events: ReturnType<typeof eventsOf>) => Parameters<LedgerBench['types']>, string]>([
    ['nobody started', ONCE, () => [], 'none'],
    ['a claim has not begun', ONCE, (on) => [on.claim('a')], 'none'],
    ['a body runs', ONCE, (on) => [on.claim('a'), on.begin('a')], 'unknown'],
    ['the only start proved no effect', ONCE, (on) => [on.claim('a'), on.begin('a'), on.end('a', 'none')], 'none'],
    ['a start ended without proof', ONCE, (on) => [on.claim('a'), on.begin('a'), on.end('a', 'unknown')], 'unknown'],
    ['a keyed body runs', KEYED, (on) => [on.claim('a'), on.begin('a')], 'unknown'],
    ['a read runs', READ, (on) => [on.begin('a')], 'none'],
  ])('where %s', (_, effect, before, which) => {
    const events = eventsOf(effect);
    bench.types(...before(events));
    expect(bench.apply(events.seal())).toMatchObject({ type: 'settled', outcome: outcomeOf(which, 'failed') });
    expect(bench.row?.state).toBe('sealed');
  });

  test('between claim and body keeps the body from running', () => {
    expect(bench.types(claim('a'), seal(), begin('a'))).toEqual(['granted', 'settled', 'settled']);
    expect(bench.row?.starts).toBe(0);
  });

  test('makes a late result change nothing', () => {
    bench.types(claim('a'), begin('a'), seal());
    const { row } = bench;
    expect(bench.types(settle('a'), end('a', 'none'), renew('a'))).toEqual(['superseded', 'superseded', 'superseded']);
    expect(bench.row).toBe(row);
  });

  test('returns an outcome that was there before', () => {
    bench.types(claim('a'), begin('a'), settle('a'));
    expect(bench.apply(seal())).toMatchObject({ type: 'settled', outcome: outcomeOf('by a') });
    expect(bench.row?.state).toBe('done');
  });
});

describe('reads', () => {
  const read = eventsOf(READ);

  test('begin without a claim, side by side, and each start counts', () => {
    expect(bench.types(read.begin('a'), read.begin('b'))).toEqual(['accepted', 'accepted']);
    expect(bench.row?.starts).toBe(2);
  });

  test('take the first outcome, whichever start it comes from', () => {
    expect(bench.types(read.begin('a'), read.begin('b'), read.settle('a'), read.settle('b'))).toEqual([
      'accepted',
      'accepted',
      'accepted',
      'superseded',
    ]);
    expect(bench.row?.outcome).toEqual(outcomeOf('by a'));
  });

  test('take an outcome also after another start of theirs has failed', () => {
    bench.types(read.begin('a'), read.begin('b'), read.end('b', 'unknown'));
    expect(bench.row).toMatchObject({ state: 'released', mayHaveHappened: false });
    expect(bench.apply(read.settle('a')).type).toBe('accepted');
  });

  test('do not end or prolong the start that has taken over', () => {
    bench.types(read.begin('a'), read.begin('b'));
    bench.nowMs += 100;
    bench.types(read.renew('a'), read.end('a', 'none', 30));
    expect(bench.row).toMatchObject({ token: 'b', begun: true, leaseUntilMs: 101_000, spentMs: 30 });
  });

  test('give up nothing that never began', () => {
    expect(bench.types(read.settle('a'), read.end('a', 'none'))).toEqual(['superseded', 'superseded']);
    expect(bench.row).toBeUndefined();
  });
});

describe('time spent', () => {
  test('is that of bodies and waits', () => {
    bench.types(claim('a'), begin('a'));
    bench.nowMs += 400;
    bench.types(end('a', 'none', 250));
    bench.nowMs += 60_000;
    bench.types(claim('b'), begin('b'));
    bench.nowMs += 50;
    bench.apply(settle('b'));
    expect(bench.row?.spentMs).toBe(700);
  });

  test('ends with the lease for a body that was lost', () => {
    bench.types(claim('a'), begin('a'));
    bench.nowMs += 3_600_000;
    bench.apply(claim('b'));
    expect(bench.row?.spentMs).toBe(LEASE_MS);
  });

  test('counts a lost read once', () => {
    const read = eventsOf(READ);
    bench.apply(read.begin('a'));
    bench.nowMs += 3_600_000;
    bench.apply(read.begin('b'));
    bench.nowMs += 10;
    bench.apply(read.settle('b'));
    expect(bench.row?.spentMs).toBe(LEASE_MS + 10);
  });

  test('counts a body that is sealed while it runs', () => {
    bench.types(claim('a'), begin('a'));
    bench.nowMs += 300;
    bench.apply(seal());
    expect(bench.row?.spentMs).toBe(300);
  });

  test('does not fall by a wait below zero', () => {
    bench.types(claim('a'), begin('a'));
    bench.nowMs += 300;
    bench.apply(end('a', 'none', -200));
    expect(bench.row?.spentMs).toBe(300);
  });

  test.each([3_600_000, -3_600_000])('is not what the clock was set by while a body ran: %d ms', (byMs) => {
    bench.types(claim('a'), begin('a'));
    for (const set of [0, byMs, 0]) {
      bench.nowMs += 300 + set;
      bench.apply(renew('a'));
    }
    bench.nowMs += 100;
    bench.apply(end('a', 'none'));
    // The step in which the clock was set counts for nothing, or for as long as the lease would have lasted.
    expect(bench.row?.spentMs).toBe(byMs > 0 ? 700 + LEASE_MS : 700);
  });

  test('does not fall when the clock goes back', () => {
    bench.types(claim('a'), begin('a'));
    bench.nowMs -= 5_000;
    bench.apply(end('a', 'none', 10));
    expect(bench.row?.spentMs).toBe(10);
  });
});

describe('a decision about a call that has changed since it was looked at', () => {
  const reopenAsOf = (asOfMs: number) => bench.apply({ type: 'reopen', call: callOf(ONCE), asOfMs });
  const resolveAsOf = (asOfMs: number) =>
    bench.apply({ type: 'resolve', happened: true, outcome: outcomeOf('found'), asOfMs });

  test('takes back no failure that nobody has seen', () => {
    bench.types(claim('a'), begin('a'));
    const seen = bench.row?.updatedAtMs ?? 0;
    bench.nowMs += 5;
    bench.apply({ type: 'settle', token: 'a', outcome: failureOf('auth_failed', 'none') });
    expect(reopenAsOf(seen)).toMatchObject({ type: 'superseded', row: { outcome: { status: 'failed' } } });
    expect(reopenAsOf(seen + 5)).toMatchObject({ type: 'accepted' });
  });

  test('settles no outcome that nobody has seen', () => {
    bench.types(claim('a'), begin('a'));
    const seen = bench.row?.updatedAtMs ?? 0;
    bench.nowMs += 5;
    bench.apply({ type: 'settle', token: 'a', outcome: failureOf('outcome_unknown', 'unknown') });
    expect(resolveAsOf(seen)).toMatchObject({ type: 'superseded' });
    expect(resolveAsOf(seen + 5)).toMatchObject({ type: 'accepted', row: { state: 'done' } });
  });
});

describe('reopening a call that has no outcome, as its tool is declared now', () => {
  const reopenAs = (effect: Effect) => bench.apply({ type: 'reopen', call: callOf(effect) });

  test('makes a read that was lost what it is now: whoever reads on holds nothing, and a start counts as one', () => {
    const reading = eventsOf(READ);
    bench.types(reading.begin('reader'));
    expect(reopenAs(ONCE)).toMatchObject({ type: 'accepted' });
    expect(bench.row).toMatchObject({ effect: ONCE, state: 'released', begun: false, mayHaveHappened: false });
    expect(bench.row).not.toHaveProperty('token');
    expect(bench.types(settle('reader'), claim('a'), begin('a'))).toEqual(['superseded', 'granted', 'accepted']);
    lapse();
    expect(bench.apply(claim('b'))).toMatchObject({ former: 'unknown', lost: true });
    expect(bench.apply(begin('b'))).toMatchObject({ type: 'superseded' });
  });

  test('holds a start that may have had its effect to the effect that it had then', () => {
    bench.types(claim('a'), begin('a'), end('a', 'unknown'));
    expect(reopenAs(KEYED)).toMatchObject({ type: 'accepted', row: { effect: ONCE, mayHaveHappened: true } });
  });

  test('leaves it to the one who may still run it', () => {
    bench.types(claim('a'), begin('a'));
    expect(reopenAs(KEYED)).toMatchObject({ type: 'accepted', row: { effect: ONCE, token: 'a', begun: true } });
  });

  test('takes the new effect where every start has proved that nothing happened', () => {
    bench.types(claim('a'), begin('a'), end('a', 'none'));
    expect(reopenAs(KEYED)).toMatchObject({ type: 'accepted', row: { effect: KEYED } });
    expect(bench.row).not.toHaveProperty('firstStartAtMs');
  });
});
