/**
 * The failure table: one row per class. Classification, retries, the breaker, the model's message, the rendered outcome
 * and docs/failures.md all derive from it; nothing else says what a class means.
 */
import type { EffectState } from '../contract/effect.js';
import type { FailureClass, FailureFamily } from '../contract/failure.js';
import { failureWords, type FailureWords } from './failure-words.js';

export interface FailureClassRow {
  family: FailureFamily;
  code: string;
  /** Codes that say more than `code` about the same class, and when each is used. */
  moreCodes?: Record<string, string>;
  /**
   * What an attempt that failed so left behind, where it sent one request and the answer is the whole truth. Inferred as
   * `none` only before the body began, by perdure's own single-request source, or before anything was written.
   */
  effectState: EffectState;
  /** Where `effectState` depends on more than the class, in words. */
  effectNote?: string;
  /** Starts of the body in all, the first included; `budget`: as many as the call's time budget covers. */
  maxAttempts: number | 'budget';
  /** `maxAttempts` instead where the tool says `eventuallyConsistent`. */
  maxAttemptsEventually?: number;
  /** `maxAttempts` instead where equal arguments timed out before while other calls of the tool succeed. */
  maxAttemptsTimedOutBefore?: number;
  /** One more start after the tool's `refresh`. */
  onceMoreAfterRefresh?: true;
  /** Retried only where the wait is known. */
  needsKnownWait?: true;
  /** The executor never starts the call again, whatever an override, a header or a tool says. */
  neverAgain?: true;
  /** Upper bound of the first delay, doubled with each attempt up to the second; milliseconds. */
  backOff: { baseDelayMs: number; maxDelayMs: number };
  /** `aborted`: no changed arguments help. */
  status: 'failed' | 'aborted';
  /** As the model reads it: the unchanged call may succeed later. */
  retryable: boolean;
  /** `counts`: opens the breaker and blows the fuse; `fuse`: blows the fuse only. */
  breaker?: 'counts' | 'fuse';
  /** The answer may be lost rather than given: for a `once` tool the class becomes `outcome_unknown`. */
  losesAnswer?: true;
  /** What somebody has to do before an equal call makes sense; one word for programs. */
  actionRequired?: string;
  comesFrom: string;
  words: FailureWords;
}

/** Full jitter, doubling from 1 s to 60 s: "Exponential Backoff And Jitter", AWS Architecture Blog, 2015. */
const backOff = { baseDelayMs: 1_000, maxDelayMs: 60_000 };
/** Another holder of the same key ends soon or never: ask again quickly, but not in a tight loop. */
const shortWaits = { baseDelayMs: 250, maxDelayMs: 5_000 };

const refused = { effectState: 'none', maxAttempts: 1, backOff, status: 'failed', retryable: false } as const;
const hopeless = { ...refused, status: 'aborted' } as const;
const transient = { effectState: 'unknown', backOff, status: 'failed', breaker: 'counts', losesAnswer: true } as const;

export const failureClasses: Record<FailureClass, FailureClassRow> = {
  validation_error: {
    ...refused,
    family: 'schema',
    code: 'PARAM_INVALID_001',
    moreCodes: { PARAM_MISSING_001: 'a required field is missing' },
    comesFrom: 'the arguments against the schema; HTTP 400, 422 and 4xx that nothing else explains; MCP -32602',
    words: failureWords.validation_error,
  },
  unknown_tool: {
    ...refused,
    family: 'schema',
    code: 'TOOL_MISSING_001',
    comesFrom: 'a name that is not in the manifest',
    words: failureWords.unknown_tool,
  },
  input_too_large: {
    ...refused,
    family: 'schema',
    code: 'PARAM_INVALID_002',
    comesFrom: 'arguments or context above a limit; HTTP 413, 414, 431',
    words: failureWords.input_too_large,
  },
  not_found: {
    ...refused,
    family: 'business',
    code: 'TOOL_MISSING_002',
    maxAttemptsEventually: 3,
    comesFrom: 'HTTP 404, 410',
    words: failureWords.not_found,
  },
  auth_failed: {
    ...refused,
    family: 'business',
    code: 'AUTH_INVALID_001',
    onceMoreAfterRefresh: true,
    actionRequired: 'reauthorize',
    comesFrom: 'HTTP 401; a grant that was revoked',
    words: failureWords.auth_failed,
  },
  permission_denied: {
    ...hopeless,
    family: 'business',
    code: 'AUTH_DENIED_001',
    actionRequired: 'ask_person',
    comesFrom: 'HTTP 403, 451',
    words: failureWords.permission_denied,
  },
  business_rule_violation: {
    ...refused,
    family: 'business',
    code: 'TOOL_CONFLICT_001',
    comesFrom: 'a 200 with a business error; HTTP 409, 412, 423, 424, 428; an explicit refusal by the tool',
    words: failureWords.business_rule_violation,
  },
  quota_exhausted: {
    ...hopeless,
    family: 'business',
    code: 'RATE_DENIED_001',
    actionRequired: 'stop_using_tool',
    comesFrom: 'HTTP 402; 429 with an insufficient-quota code; a daily quota',
    words: failureWords.quota_exhausted,
  },
  unsupported: {
    ...hopeless,
    family: 'business',
    code: 'TOOL_INVALID_001',
    actionRequired: 'use_another_tool',
    comesFrom: 'HTTP 405, 406, 415, 426, 501, 505',
    words: failureWords.unsupported,
  },
  rate_limit: {
    ...refused,
    family: 'network',
    code: 'RATE_LIMIT_001',
    maxAttempts: 'budget',
    retryable: true,
    comesFrom: 'HTTP 429; overload codes outside 5xx that come with a delay',
    words: failureWords.rate_limit,
  },
  network_error: {
    ...transient,
    family: 'network',
    code: 'NET_CONNECT_001',
    effectNote: 'none before the request was sent, else unknown',
    maxAttempts: 3,
    retryable: true,
    comesFrom: 'a connection refused or reset, a temporary DNS failure, a connect timeout',
    words: failureWords.network_error,
  },
  external_service_unavailable: {
    ...transient,
    family: 'network',
    code: 'NET_UNAVAILABLE_001',
    maxAttempts: 3,
    retryable: true,
    comesFrom: 'HTTP 502, 503, 504, 52x, 529, 530',
    words: failureWords.external_service_unavailable,
  },
  timeout: {
    ...transient,
    family: 'network',
    code: 'TOOL_TIMEOUT_001',
    maxAttempts: 2,
    maxAttemptsTimedOutBefore: 1,
    retryable: true,
    comesFrom: "the attempt's deadline; HTTP 408; a lost worker",
    words: failureWords.timeout,
  },
  server_error: {
    ...transient,
    family: 'network',
    code: 'NET_SERVER_001',
    maxAttempts: 2,
    retryable: false,
    comesFrom: 'HTTP 500 and other 5xx',
    words: failureWords.server_error,
  },
  protocol_error: {
    ...transient,
    family: 'network',
    code: 'NET_INVALID_001',
    maxAttempts: 2,
    retryable: false,
    comesFrom: 'HTML where JSON was promised; a cut body; MCP protocol errors',
    words: failureWords.protocol_error,
  },
  session_expired: {
    ...refused,
    family: 'network',
    code: 'NET_SESSION_001',
    maxAttempts: 2,
    comesFrom: 'an MCP or login session that the server no longer knows; HTTP 419, 440',
    words: failureWords.session_expired,
  },
  conflict_in_progress: {
    ...refused,
    family: 'network',
    code: 'TOOL_CONFLICT_002',
    effectState: 'unknown',
    maxAttempts: 'budget',
    backOff: shortWaits,
    retryable: true,
    comesFrom: 'the same idempotency key still runs; HTTP 409 with x-should-retry: true',
    words: failureWords.conflict_in_progress,
  },
  idempotency_mismatch: {
    ...hopeless,
    family: 'internal',
    code: 'TOOL_CONFLICT_003',
    actionRequired: 'contact_operator',
    comesFrom: 'this idempotency key was seen with other arguments',
    words: failureWords.idempotency_mismatch,
  },
  misconfigured: {
    ...hopeless,
    family: 'internal',
    code: 'TOOL_INVALID_002',
    actionRequired: 'contact_operator',
    comesFrom: 'a TLS certificate, an unknown host, a bad URL, a redirect that was not followed, a missing credential',
    words: failureWords.misconfigured,
  },
  tool_error: {
    ...refused,
    family: 'internal',
    code: 'TOOL_FAILED_001',
    effectState: 'unknown',
    breaker: 'fuse',
    comesFrom: 'an error that a tool threw or reported and nothing above explains; MCP isError',
    words: failureWords.tool_error,
  },
  tool_bug: {
    ...refused,
    family: 'internal',
    code: 'TOOL_FAILED_002',
    effectState: 'unknown',
    breaker: 'fuse',
    comesFrom: "a programming error in the tool's code",
    words: failureWords.tool_bug,
  },
  output_invalid: {
    ...refused,
    family: 'internal',
    code: 'TOOL_OUTPUT_001',
    effectState: 'done',
    comesFrom: 'the result against the output schema',
    words: failureWords.output_invalid,
  },
  output_too_large: {
    ...refused,
    family: 'internal',
    code: 'TOOL_OUTPUT_002',
    effectState: 'done',
    comesFrom: 'a result that is too large to be stored',
    words: failureWords.output_too_large,
  },
  outcome_unknown: {
    ...refused,
    family: 'safety',
    code: 'TOOL_UNKNOWN_001',
    effectState: 'unknown',
    neverAgain: true,
    breaker: 'counts',
    actionRequired: 'check_first',
    comesFrom:
      'a `once` tool (or an expired key) that lost its answer: replaces timeout, network_error, ' +
      'external_service_unavailable, server_error, protocol_error and a lost worker when the effect state stays unknown',
    words: failureWords.outcome_unknown,
  },
  security_violation: {
    ...hopeless,
    family: 'safety',
    code: 'AUTH_DENIED_002',
    neverAgain: true,
    actionRequired: 'stop',
    comesFrom: 'the guard refused: path, host, scope, forbidden argument',
    words: failureWords.security_violation,
  },
  approval_denied: {
    ...hopeless,
    family: 'safety',
    code: 'AUTH_DENIED_003',
    neverAgain: true,
    actionRequired: 'ask_person',
    comesFrom: 'a person refused',
    words: failureWords.approval_denied,
  },
  approval_expired: {
    ...hopeless,
    family: 'safety',
    code: 'AUTH_DENIED_004',
    neverAgain: true,
    actionRequired: 'ask_person',
    comesFrom: 'nobody answered in time',
    words: failureWords.approval_expired,
  },
  tool_temporarily_disabled: {
    ...refused,
    family: 'loop',
    code: 'TOOL_DISABLED_001',
    maxAttempts: 'budget',
    needsKnownWait: true,
    retryable: true,
    comesFrom: 'the breaker is open, or the fuse is blown',
    words: failureWords.tool_temporarily_disabled,
  },
  repeated_call_blocked: {
    ...refused,
    family: 'loop',
    code: 'TOOL_LOOP_001',
    neverAgain: true,
    actionRequired: 'switch_strategy',
    comesFrom: 'the loop defence',
    words: failureWords.repeated_call_blocked,
  },
  budget_exhausted: {
    ...refused,
    family: 'loop',
    code: 'TOOL_MAXRETRY_001',
    neverAgain: true,
    actionRequired: 'write_final_answer',
    comesFrom: "the run's caps on steps, calls, tokens, cost, time, failures",
    words: failureWords.budget_exhausted,
  },
  cancelled: {
    ...hopeless,
    family: 'safety',
    code: 'TOOL_ABORT_001',
    effectState: 'unknown',
    effectNote: 'none where the body had not begun, else unknown',
    neverAgain: true,
    comesFrom: 'the run was cancelled',
    words: failureWords.cancelled,
  },
  skipped: {
    ...refused,
    family: 'internal',
    code: 'TOOL_ABORT_002',
    neverAgain: true,
    comesFrom: 'the run ended first; a `once` call after an `outcome_unknown` in the same step',
    words: failureWords.skipped,
  },
};

/** All classes, in the table's order. */
export const failureClassNames = Object.keys(failureClasses) as FailureClass[];

export function isFailureClass(value: unknown): value is FailureClass {
  return typeof value === 'string' && Object.hasOwn(failureClasses, value);
}
