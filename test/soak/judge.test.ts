import { describe, expect, it } from 'vitest';
import type { CallRecord } from '../../src/store/records.js';
import type { Seen } from './backend-process.js';
import { judge, type SoakFacts } from './judge.js';

const seen: Seen = { n: 0, tool: 'charge', requests: 1, effects: 1, keys: ['k1:a'], faults: 0 };

function record(more: Partial<CallRecord['row']> = {}, attempts: CallRecord['attempts'] = []): CallRecord {
  const base = { callId: 'c1.0', tool: 'charge', key: 'k1:a', attempts: 1, elapsedMs: 1 };
  return {
    row: {
      runKey: 'soak-0',
      starts: 1,
      outcome: { ...base, status: 'succeeded', result: { inline: null } },
      ...base,
      ...more,
    } as CallRecord['row'],
    rendered: { content: '{}', failed: false },
    attempts,
  };
}

const facts = (more: Partial<SoakFacts> = {}): SoakFacts => ({
  seed: 1,
  calls: 1,
  workers: 1,
  elapsedMs: 1,
  records: [record()],
  seen: [seen],
  answers: new Map([['soak-0 c1.0', 1]]),
  ...more,
});

const failedStart = (start: number) => ({
  key: 'k1:a',
  start,
  worker: 'w',
  startedAtMs: 0,
  failure: { error_type: 'server_error' },
});

describe('the judge of a soak', () => {
  it('finds nothing where all is well', () => {
    expect(judge(facts()).problems).toEqual([]);
  });

  it.each<[string, Partial<SoakFacts>, string]>([
    ['a call that is missing', { records: [], seen: [] }, '1 calls were planned, 0 are in the ledger'],
    ['a call without an answer', { answers: new Map() }, 'soak-0 c1.0 was answered 0 times'],
    ['a call answered twice', { answers: new Map([['soak-0 c1.0', 2]]) }, 'soak-0 c1.0 was answered 2 times'],
    ['a second effect', { seen: [{ ...seen, effects: 2 }] }, 'call 0 of charge had 2 effects'],
    [
      'a request that nobody started',
      { seen: [{ ...seen, requests: 2 }] },
      'soak-0 c1.0 (charge) was started 1 times, and asked 2 times',
    ],
    [
      'a key of another call',
      { seen: [{ ...seen, keys: ['k1:b'] }] },
      'soak-0 c1.0 (charge) sent keys of other calls: k1:b',
    ],
    [
      'an effect that was told and is not there',
      { seen: [{ ...seen, effects: 0 }] },
      'soak-0 c1.0 (charge) is told as done, and had 0 effects',
    ],
    [
      'more starts than the table allows',
      { records: [record({}, [1, 2, 3].map(failedStart))] },
      'soak-0 c1.0 met server_error 3 times, 2 are allowed',
    ],
    [
      'more retries than the budget allows',
      { records: [record({ starts: 200 })], seen: [{ ...seen, requests: 200 }] },
      'charge had 199 retries, its budget allows 110.2',
    ],
  ])('finds %s', (_what, wrong, problem) => {
    expect(judge(facts(wrong)).problems).toContain(problem);
  });
});
