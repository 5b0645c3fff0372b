import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { FailureClass } from '../../src/contract/failure.js';
import { Corrections, type Correction } from '../../src/stats/corrections.js';
import { callOf, type SampleCall } from './sample-calls.js';

function corrections(samples: SampleCall[]): Correction[] {
  const found = new Corrections();
  return samples.flatMap((sample) => found.add(callOf(sample)));
}

const refused: SampleCall = { callId: 'c1.0', failure: 'validation_error' };

describe('a correction', () => {
  test('is a later call of the tool with other arguments that succeeds', () => {
    expect(corrections([refused, { callId: 'c2.0' }])).toEqual([{ failed: 'r1/c1.0', corrected: 'r1/c2.0' }]);
  });

  test('comes within three steps', () => {
    expect(corrections([refused, { callId: 'c4.0' }])).toHaveLength(1);
    expect(corrections([refused, { callId: 'c5.0' }])).toEqual([]);
  });

  test('is none in the same step, of another tool, in another run, or with the same arguments', () => {
    expect(corrections([refused, { callId: 'c1.1' }])).toEqual([]);
    expect(corrections([refused, { callId: 'c2.0', tool: 'look' }])).toEqual([]);
    expect(corrections([refused, { callId: 'c2.0', runKey: 'r2' }])).toEqual([]);
    expect(
      corrections([
        { ...refused, digest: 'd' },
        { callId: 'c2.0', digest: 'd' },
      ]),
    ).toEqual([]);
  });

  test('mends all failures before it, and each only once', () => {
    const calls: SampleCall[] = [
      refused,
      { callId: 'c2.0', failure: 'not_found' },
      { callId: 'c3.0' },
      { callId: 'c4.0' },
    ];
    expect(corrections(calls)).toEqual([
      { failed: 'r1/c1.0', corrected: 'r1/c3.0' },
      { failed: 'r1/c2.0', corrected: 'r1/c3.0' },
    ]);
  });

  test.each<[FailureClass, number]>([
    ['business_rule_violation', 1],
    ['tool_error', 1],
    ['timeout', 1],
    ['network_error', 0],
    ['unknown_tool', 0],
    ['permission_denied', 0],
    ['repeated_call_blocked', 0],
    ['security_violation', 0],
    ['skipped', 0],
  ])('of %s counts %i times', (failure, count) => {
    expect(corrections([{ callId: 'c1.0', failure }, { callId: 'c2.0' }])).toHaveLength(count);
  });

  test('is found however the calls of several runs are mixed', () => {
    const run = fc.array(
      fc.constantFrom<FailureClass | undefined>('validation_error', 'timeout', 'skipped', undefined),
      {
        maxLength: 8,
      },
    );
    fc.assert(
      fc.property(run, run, fc.infiniteStream(fc.boolean()), (a, b, pickFirst) => {
        const callsOf = (runKey: string, failures: (FailureClass | undefined)[]) =>
          failures.map((failure, step): SampleCall => ({
            runKey,
            callId: `c${String(step)}.0`,
            ...(failure && { failure }),
          }));
        const [first, second] = [callsOf('a', a), callsOf('b', b)];
        const apart = [...corrections(first), ...corrections(second)];
        const mixed: SampleCall[] = [];
        while (first.length + second.length > 0) {
          const from = second.length === 0 || (first.length > 0 && pickFirst.next().value) ? first : second;
          mixed.push(...from.splice(0, 1));
        }
        expect(
          corrections(mixed)
            .map((pair) => JSON.stringify(pair))
            .sort(),
        ).toEqual(apart.map((pair) => JSON.stringify(pair)).sort());
      }),
    );
  });
});
