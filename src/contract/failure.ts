import type { EffectState } from './effect.js';
import type { Json } from './json.js';

/** The rows of the failure table (`src/policy/failure-classes.ts`). */
export type FailureClass =
  | 'validation_error'
  | 'unknown_tool'
  | 'input_too_large'
  | 'not_found'
  | 'auth_failed'
  | 'permission_denied'
  | 'business_rule_violation'
  | 'quota_exhausted'
  | 'unsupported'
  | 'rate_limit'
  | 'network_error'
  | 'external_service_unavailable'
  | 'timeout'
  | 'server_error'
  | 'protocol_error'
  | 'session_expired'
  | 'conflict_in_progress'
  | 'idempotency_mismatch'
  | 'misconfigured'
  | 'tool_error'
  | 'tool_bug'
  | 'output_invalid'
  | 'output_too_large'
  | 'outcome_unknown'
  | 'security_violation'
  | 'approval_denied'
  | 'approval_expired'
  | 'tool_temporarily_disabled'
  | 'repeated_call_blocked'
  | 'budget_exhausted'
  | 'cancelled'
  | 'skipped';

/** What a failure class concerns: arguments, a rule of the other side, the way to it, the tool itself, safety, or the run's own defences. */
export type FailureFamily = 'schema' | 'business' | 'network' | 'internal' | 'safety' | 'loop';

/** One thing that is wrong with a call's arguments. */
export interface Violation {
  /** Where, as a JSON Pointer into the arguments; `''` is the root. */
  path: string;
  /** What is wrong, as a person would say it. */
  problem: string;
  /** The format that the schema asks for. */
  expected: string;
  /** A value that the schema accepts here, where one can be made from the schema or the tool's examples. */
  example?: Json;
}

/**
 * What is known of one failure: the classifier's answer, before it is worded for anybody.
 * `reason` is the failure's own words (unredacted, uncut); the operator's record and the model's
 * message are both made from it.
 */
export interface ClassifiedFailure {
  class: FailureClass;
  effectState: EffectState;
  /** Overrides the table's code, e.g. `PARAM_MISSING_001` for a missing field. */
  code?: string;
  reason?: string;
  /** How long the backend asked to wait, in milliseconds; never negative, never NaN. */
  retryAfterMs?: number;
  /** The backend's or the tool's explicit word on retrying (`x-should-retry`, a non-retryable mark): wins over the table. */
  shouldRetry?: boolean;
  upstreamStatus?: number;
  violations?: Violation[];
  /** The tool's own hint and alternatives (`ToolError`, `suggest`). */
  hint?: string;
  alternatives?: string[];
  /** True where `reason` was written for the model (`ToolError.publicMessage`, an explicit refusal). */
  public?: boolean;
  /** `compile`, `dependency` or `test`, where the failure is the tool's output (`failureOutput: 'verbatim'`). */
  kind?: string;
}

/**
 * A call's failure as it crosses boundaries: what the model is told (`message`, `suggestedAction`, already
 * redacted and cut) and what code decides on. At most about 4 KB as JSON.
 */
export interface Failure {
  class: FailureClass;
  code: string;
  effectState: EffectState;
  message: string;
  suggestedAction: string;
  /** True only where the unchanged call may succeed later. */
  retryable: boolean;
  retryAfterMs?: number;
  alternatives?: string[];
  actionRequired?: string;
  upstreamStatus?: number;
  referenceId?: string;
  /** `compile`, `dependency` or `test`, where the message is the tool's own output (`failureOutput: 'verbatim'`). */
  kind?: string;
  /** Where the arguments were refused, as JSON Pointers, at most 20; for the records, the model reads them in `message`. */
  invalidPaths?: string[];
}

/** What a tool's own `suggest` adds to a failure. */
export interface Suggestion {
  alternatives?: string[];
  hint?: string;
}

/** A tool's own texts for the model, by class; filled in like the table's. */
export type FailureTexts = Partial<Record<FailureClass, { message?: string; suggestedAction?: string }>>;
