import { expect, it } from 'vitest';
import { FailureRecords } from '../../src/client/failure-records.js';
import type { CallRecord } from '../../src/store/store.js';
import { callOf } from '../stats/sample-calls.js';
import { scriptedStore } from './scripted-store.js';

function callsOf(runKey: string, count: number, atMs = 1_000): CallRecord[] {
  return Array.from({ length: count }, (_, index) => ({
    row: callOf({ runKey, callId: `c${String(index + 1)}.0`, atMs: atMs + index }),
    attempts: [],
  }));
}

it.each([0, 1, 499, 500, 501, 1_000, 1_234])(
  'counts each of %i calls once, however many pages they take',
  async (count) => {
    const records = new FailureRecords(scriptedStore({ calls: { r1: callsOf('r1', count) } }));
    expect((await records.stats()).all.calls).toBe(count);
  },
);

it('counts only what ended within the time asked for, by the clock of the store', async () => {
  const calls = { r1: callsOf('r1', 1_200) };
  const records = new FailureRecords(scriptedStore({ calls, nowMs: 2_199 }));
  // 1,000 to 2,199: the last 700 ms hold 701 calls.
  expect((await records.stats({ withinMs: 700 })).all.calls).toBe(701);
});
