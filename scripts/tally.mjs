/**
 * @typedef {{ passed: number, failed: number, skipped: number }} Tally
 * @typedef {{ status: string, assertionResults: { status: string }[] }} FileResult
 */

/**
 * Counts one vitest run from its JSON report. What failed without being a test still counts as one failure: a file
 * that could not be loaded, and a run that ended badly although no test failed (an unhandled error, a failed global
 * set-up, no report at all).
 *
 * @param {{ testResults: FileResult[] } | undefined} report
 * @param {number} exitCode
 * @returns {Tally}
 */
export function tally(report, exitCode) {
  const counted = sum((report?.testResults ?? []).map(tallyFile));
  if (exitCode !== 0 && counted.failed === 0) counted.failed = 1;
  return counted;
}

/** @param {FileResult} file */
function tallyFile({ status, assertionResults }) {
  const count = (/** @type {(status: string) => boolean} */ matches) =>
    assertionResults.filter((test) => matches(test.status)).length;
  const passed = count((test) => test === 'passed');
  const failed = count((test) => test === 'failed');
  const unloadable = status === 'failed' && failed === 0 ? 1 : 0;
  return { passed, failed: failed + unloadable, skipped: assertionResults.length - passed - failed };
}

/**
 * @param {Tally[]} tallies
 * @returns {Tally}
 */
export function sum(tallies) {
  const total = { passed: 0, failed: 0, skipped: 0 };
  for (const { passed, failed, skipped } of tallies) {
    total.passed += passed;
    total.failed += failed;
    total.skipped += skipped;
  }
  return total;
}
