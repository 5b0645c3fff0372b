import { describe, expect, it } from 'vitest';
import { sum, tally } from '../../scripts/tally.mjs';

const file = (status: string, ...tests: string[]) => ({
  status,
  assertionResults: tests.map((test) => ({ status: test })),
});

describe('counting a test run', () => {
  it('counts what passed, failed and was skipped over all files', () => {
    const report = { testResults: [file('passed', 'passed', 'passed'), file('failed', 'failed', 'passed', 'skipped')] };
    expect(tally(report, 1)).toEqual({ passed: 3, failed: 1, skipped: 1 });
  });

  it('counts a file that could not be loaded as one failure', () => {
    expect(tally({ testResults: [file('failed'), file('passed', 'passed')] }, 1)).toEqual({
      passed: 1,
      failed: 1,
      skipped: 0,
    });
  });

  it('counts a run that ended badly although every test passed as one failure', () => {
    expect(tally({ testResults: [file('passed', 'passed')] }, 1)).toEqual({ passed: 1, failed: 1, skipped: 0 });
  });

  it('counts a run without a report as one failure', () => {
    expect(tally(undefined, 1)).toEqual({ passed: 0, failed: 1, skipped: 0 });
  });

  it('counts nothing where a project has no tests', () => {
    expect(tally({ testResults: [] }, 0)).toEqual({ passed: 0, failed: 0, skipped: 0 });
  });

  it('sums several runs', () => {
    expect(
      sum([
        { passed: 2, failed: 0, skipped: 1 },
        { passed: 3, failed: 1, skipped: 0 },
      ]),
    ).toEqual({ passed: 5, failed: 1, skipped: 1 });
  });
});
