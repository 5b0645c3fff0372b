import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { failureClasses } from '../../src/policy/failure-classes.js';
import type { FailureClass } from '../../src/contract/failure.js';
import { FailureStats, type FailureFigures } from '../../src/stats/failure-stats.js';
import { percentile } from '../../src/stats/distribution.js';
import { callOf, type SampleCall } from './sample-calls.js';

function figuresOf(samples: SampleCall[], tool?: string): FailureFigures {
  const stats = new FailureStats(tool === undefined ? {} : { tool });
  for (const sample of samples) stats.add(callOf(sample));
  return stats.figures();
}

describe('the figures', () => {
  const HOUR = 3_600_000;
  const samples: SampleCall[] = [
    { callId: 'c1.0', failure: 'validation_error', invalidPaths: ['/items/0/sku', '/items/1/sku', '/id'] },
    { callId: 'c1.1', tool: 'look', starts: 3, elapsedMs: 100 },
    { callId: 'c2.0', elapsedMs: 20 },
    { callId: 'c3.0', failure: 'permission_denied', elapsedMs: 40, atMs: HOUR + 5 },
    { callId: 'c3.1', failure: 'skipped', starts: 0 },
    { callId: 'c4.0', status: 'pending' },
    { callId: 'c5.0', status: 'running' },
    { callId: 'c1.0', runKey: 'r2', tool: 'look', status: 'partial', elapsedMs: 300 },
  ];

  test('count each end once, and judge no tool by calls that nobody let run', () => {
    const { all, tools } = figuresOf(samples);
    expect(all).toEqual({
      calls: 5,
      succeeded: 2,
      partial: 1,
      failed: 1,
      aborted: 1,
      notRun: 1,
      successRate: 0.6,
      p50Ms: 40,
      p99Ms: 300,
      attempts: 6,
      attemptsSeen: 0,
      startsSeen: 0,
      attemptsPerCall: 1.5,
      correctable: 1,
      corrected: 1,
      selfCorrectionRate: 1,
    });
    expect(tools.map(({ tool, calls, successRate }) => ({ tool, calls, successRate }))).toEqual([
      { tool: 'refund', calls: 3, successRate: 1 / 3 },
      { tool: 'look', calls: 2, successRate: 1 },
    ]);
  });

  test('name classes, families, codes and failing arguments, whatever their place in a list', () => {
    const { families, classes, codes, tools } = figuresOf([
      ...samples,
      { callId: 'c6.0', failure: 'validation_error', invalidPaths: ['/items/7/sku'] },
    ]);
    expect(families).toEqual([
      { family: 'schema', count: 2 },
      { family: 'business', count: 1 },
      { family: 'internal', count: 1 },
    ]);
    expect(classes[0]).toEqual({ class: 'validation_error', count: 2 });
    expect(codes[0]).toEqual({ code: 'PARAM_INVALID_001', count: 2 });
    expect(tools[0]?.failingPaths).toEqual([
      { path: '/items/*/sku', count: 2 },
      { path: '/id', count: 1 },
    ]);
  });

  test('tell the steps of runs and the hours of calls', () => {
    const { runs, stepsPerRun, hours } = figuresOf(samples);
    expect({ runs, stepsPerRun }).toEqual({ runs: 2, stepsPerRun: { mean: 3, p50: 1, max: 5 } });
    expect(hours).toEqual([
      { startMs: 0, calls: 4, failed: 1 },
      { startMs: HOUR, calls: 1, failed: 1 },
    ]);
  });

  test('are those of one tool where it is asked for, with the steps of the runs that called it', () => {
    const { all, tools, runs, stepsPerRun } = figuresOf([...samples, { callId: 'c9.0', runKey: 'r3' }], 'look');
    expect(tools.map(({ tool }) => tool)).toEqual(['look']);
    expect(all).toMatchObject({ calls: 2, succeeded: 1, partial: 1, correctable: 0 });
    expect({ runs, most: stepsPerRun?.max }).toEqual({ runs: 2, most: 5 });
  });

  test('leave out what cannot be said of nothing', () => {
    expect(figuresOf([])).toEqual({
      runs: 0,
      all: {
        calls: 0,
        succeeded: 0,
        partial: 0,
        failed: 0,
        aborted: 0,
        notRun: 0,
        attempts: 0,
        attemptsSeen: 0,
        startsSeen: 0,
        correctable: 0,
        corrected: 0,
      },
      tools: [],
      families: [],
      classes: [],
      codes: [],
      hiddenRetries: [],
      hours: [],
    });
  });

  test('add up for any calls: tools to all, classes to failures, hours to calls', () => {
    const classes = Object.keys(failureClasses) as FailureClass[];
    const sample = fc.record({
      step: fc.nat(9),
      run: fc.nat(2),
      tool: fc.constantFrom('a', 'b'),
      failure: fc.option(fc.constantFrom(...classes)),
      atMs: fc.nat(10 * HOUR),
    });
    fc.assert(
      fc.property(fc.array(sample), (drawn) => {
        const {
          all,
          tools,
          classes: counts,
          hours,
        } = figuresOf(
          drawn.map(({ step, run, tool, failure, atMs }, index) => ({
            callId: `c${String(step)}.${String(index)}`,
            runKey: `r${String(run)}`,
            tool,
            atMs,
            ...(failure && { failure }),
          })),
        );
        const sum = (values: number[]) => values.reduce((total, value) => total + value, 0);
        expect(all.calls + all.notRun).toBe(drawn.length);
        expect(sum(tools.map(({ calls }) => calls))).toBe(all.calls);
        expect(sum(counts.map(({ count }) => count))).toBe(all.failed + all.aborted + all.notRun);
        expect(sum(hours.map(({ calls }) => calls))).toBe(all.calls);
        expect(sum(hours.map(({ failed }) => failed))).toBe(all.failed + all.aborted);
        expect(all.corrected).toBeLessThanOrEqual(all.correctable);
      }),
    );
  });
});

test('a percentile is a value that occurred, by nearest rank', () => {
  const values = Array.from({ length: 200 }, (_, index) => 200 - index);
  expect([0.5, 0.99, 1, 0].map((share) => percentile(values, share))).toEqual([100, 198, 200, 1]);
  expect(percentile([], 0.5)).toBeNaN();
});
