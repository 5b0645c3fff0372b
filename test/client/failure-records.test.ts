import { expect, it } from 'vitest';
import { FailureRecords } from '../../src/client/failure-records.js';
import type { CallRecord, RunRecord } from '../../src/store/records.js';
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

it('counts a failure that a retry took back beside the success that followed, each with its own starts', async () => {
  const failed = callOf({ callId: 'c1.0', failure: 'auth_failed', starts: 2 }).outcome!;
  const row = { ...callOf({ callId: 'c1.0', starts: 3, atMs: 9_000 }) };
  const attempts = [1, 2, 3].map((start) => ({
    ...{ key: row.key, start, worker: 'w', startedAtMs: start * 1_000, endedAtMs: start * 1_000 + 500 },
  }));
  const takenBack = [{ runKey: row.runKey, key: row.key, atMs: 2_900, outcome: failed }];
  const records = new FailureRecords(scriptedStore({ calls: { r1: [{ row, attempts }] }, takenBack, nowMs: 10_000 }));
  const { all, classes, hours } = await records.stats();
  expect(all).toMatchObject({ calls: 2, succeeded: 1, failed: 1, successRate: 0.5, attempts: 3, correctable: 0 });
  expect(classes).toEqual([{ class: 'auth_failed', count: 1 }]);
  expect(hours).toEqual([{ startMs: 0, calls: 2, failed: 1 }]);
  // It failed 7.5 s ago, although it was taken back 7.1 s ago.
  expect((await records.stats({ withinMs: 7_200 })).all).toMatchObject({ calls: 1, failed: 0 });
});

it('counts no start twice where a person settled a call before it ran again', async () => {
  const unknown = callOf({ callId: 'c1.0', failure: 'outcome_unknown', elapsedMs: 400 }).outcome!;
  const settled = callOf({ callId: 'c1.0', failure: 'skipped', starts: 1 }).outcome!;
  const row = { ...callOf({ callId: 'c1.0', starts: 2, elapsedMs: 20, atMs: 9_000 }) };
  const attempts = [1_000, 5_000].map((startedAtMs, index) => ({
    ...{ key: row.key, start: index + 1, worker: 'w', startedAtMs, endedAtMs: startedAtMs + 500 },
  }));
  const takenBack = [
    { runKey: row.runKey, key: row.key, atMs: 3_000, outcome: unknown },
    { runKey: row.runKey, key: row.key, atMs: 4_000, outcome: settled },
  ];
  const records = new FailureRecords(scriptedStore({ calls: { r1: [{ row, attempts }] }, takenBack }));
  expect((await records.stats()).all).toMatchObject({ calls: 2, attempts: 2, notRun: 1, p50Ms: 20, p99Ms: 400 });
});

it('counts the steps of a run as the run itself does, whether it has ended or not', async () => {
  const calls = { r1: callsOf('r1', 2), r2: callsOf('r2', 2), r3: callsOf('r3', 2) };
  const counters = { steps: 3, calls: 2, inputTokens: 0, outputTokens: 0, costUsd: 0, failures: 0 };
  const result = {
    status: 'completed',
    answer: 'Done.',
    termination: { reason: 'answered', summary: '' },
    counters,
  } as const;
  const base = { task: '', manifestHash: 'm', status: 'running', startedAtMs: 0, updatedAtMs: 0 } as const;
  const turn = (step: number, finalTurn?: true) => ({
    turn: { runKey: 'r2', step, head: '', settings: '', take: 0 },
    result: {
      ...{
        head: `n${step}`,
        calls: [],
        usage: { inputTokens: 0, outputTokens: 0, costUsd: 0 },
        text: '',
        empty: false,
      },
      ...(finalTurn && { finalTurn }),
    },
    atMs: step,
  });
  const runs: RunRecord[] = [
    { ...base, runKey: 'r1', workflowId: 'one', head: 'n', status: 'completed', result },
    { ...base, runKey: 'r2', workflowId: 'two', head: 'n5' },
    { ...base, runKey: 'r3', workflowId: 'own', head: '' },
  ];
  const turns = { r2: [turn(1), turn(2), turn(4), turn(5, true)] };
  const records = new FailureRecords(scriptedStore({ calls, runs, turns }));
  expect((await records.stats()).stepsPerRun).toEqual({ mean: 3, p50: 3, max: 4 });
});
