import { describe, expect, test } from 'vitest';
import { failureClasses, failureClassNames, isFailureClass } from '../../src/policy/failure-classes.js';

/** The design's table, written out once more by hand: a row that changes must change here too. */
const table = `
validation_error              schema    PARAM_INVALID_001    none     1       failed   -      -
unknown_tool                  schema    TOOL_MISSING_001     none     1       failed   -      -
input_too_large               schema    PARAM_INVALID_002    none     1       failed   -      -
not_found                     business  TOOL_MISSING_002     none     1       failed   -      -
auth_failed                   business  AUTH_INVALID_001     none     1       failed   -      -
permission_denied             business  AUTH_DENIED_001      none     1       aborted  -      -
business_rule_violation       business  TOOL_CONFLICT_001    none     1       failed   -      -
quota_exhausted               business  RATE_DENIED_001      none     1       aborted  -      -
unsupported                   business  TOOL_INVALID_001     none     1       aborted  -      -
rate_limit                    network   RATE_LIMIT_001       none     budget  failed   again  -
network_error                 network   NET_CONNECT_001      unknown  3       failed   again  counts
external_service_unavailable  network   NET_UNAVAILABLE_001  unknown  3       failed   again  counts
timeout                       network   TOOL_TIMEOUT_001     unknown  2       failed   again  counts
server_error                  network   NET_SERVER_001       unknown  2       failed   -      counts
protocol_error                network   NET_INVALID_001      unknown  2       failed   -      counts
session_expired               network   NET_SESSION_001      none     2       failed   -      -
conflict_in_progress          network   TOOL_CONFLICT_002    unknown  budget  failed   again  -
idempotency_mismatch          internal  TOOL_CONFLICT_003    none     1       aborted  -      -
misconfigured                 internal  TOOL_INVALID_002     none     1       aborted  -      -
tool_error                    internal  TOOL_FAILED_001      unknown  1       failed   -      fuse
tool_bug                      internal  TOOL_FAILED_002      unknown  1       failed   -      fuse
output_invalid                internal  TOOL_OUTPUT_001      done     1       failed   -      -
output_too_large              internal  TOOL_OUTPUT_002      done     1       failed   -      -
outcome_unknown               safety    TOOL_UNKNOWN_001     unknown  never   failed   -      counts
security_violation            safety    AUTH_DENIED_002      none     never   aborted  -      -
approval_denied               safety    AUTH_DENIED_003      none     never   aborted  -      -
approval_expired              safety    AUTH_DENIED_004      none     never   aborted  -      -
tool_temporarily_disabled     loop      TOOL_DISABLED_001    none     budget  failed   again  -
repeated_call_blocked         loop      TOOL_LOOP_001        none     never   failed   -      -
budget_exhausted              loop      TOOL_MAXRETRY_001    none     never   failed   -      -
cancelled                     safety    TOOL_ABORT_001       unknown  never   aborted  -      -
skipped                       internal  TOOL_ABORT_002       none     never   failed   -      -`;

describe('the failure table', () => {
  test("is the design's, row by row", () => {
    const rows = failureClassNames.map((failureClass) => {
      const row = failureClasses[failureClass];
      const attempts = row.neverAgain ? 'never' : String(row.maxAttempts);
      return [
        failureClass,
        row.family,
        row.code,
        row.effectState,
        attempts,
        row.status,
        row.retryable ? 'again' : '-',
        row.breaker ?? '-',
      ].join(' ');
    });
    expect(rows).toEqual(
      table
        .trim()
        .split('\n')
        .map((line) => line.trim().split(/\s+/).join(' ')),
    );
  });

  test('gives each class a code of its own', () => {
    const codes = Object.values(failureClasses).flatMap((row) => [row.code, ...Object.keys(row.moreCodes ?? {})]);
    expect(new Set(codes).size).toBe(codes.length);
    expect(codes.filter((code) => !/^(PARAM|TOOL|AUTH|RATE|NET)_[A-Z]+_\d{3}$/.test(code))).toEqual([]);
  });

  test('knows which answers can be lost', () => {
    const lost = failureClassNames.filter((failureClass) => failureClasses[failureClass].losesAnswer);
    expect(lost).toEqual([
      'network_error',
      'external_service_unavailable',
      'timeout',
      'server_error',
      'protocol_error',
    ]);
  });

  test('names what has to be done where arguments cannot help', () => {
    const required = Object.fromEntries(
      failureClassNames.flatMap((name) =>
        failureClasses[name].actionRequired ? [[name, failureClasses[name].actionRequired]] : [],
      ),
    );
    expect(required).toEqual({
      auth_failed: 'reauthorize',
      permission_denied: 'ask_person',
      quota_exhausted: 'stop_using_tool',
      unsupported: 'use_another_tool',
      idempotency_mismatch: 'contact_operator',
      misconfigured: 'contact_operator',
      outcome_unknown: 'check_first',
      security_violation: 'stop',
      approval_denied: 'ask_person',
      approval_expired: 'ask_person',
      repeated_call_blocked: 'switch_strategy',
      budget_exhausted: 'write_final_answer',
    });
  });

  test('recognises its own names only', () => {
    expect(isFailureClass('timeout')).toBe(true);
    for (const other of ['toString', '__proto__', '', undefined, 3]) expect(isFailureClass(other)).toBe(false);
  });
});
