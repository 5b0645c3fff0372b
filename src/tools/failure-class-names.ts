import type { FailureClass } from '../contract/failure.js';

/** Every failure class by name, for checking what people write. The type keeps the list whole. */
const names = {
  validation_error: true,
  unknown_tool: true,
  input_too_large: true,
  not_found: true,
  auth_failed: true,
  permission_denied: true,
  business_rule_violation: true,
  quota_exhausted: true,
  unsupported: true,
  rate_limit: true,
  network_error: true,
  external_service_unavailable: true,
  timeout: true,
  server_error: true,
  protocol_error: true,
  session_expired: true,
  conflict_in_progress: true,
  idempotency_mismatch: true,
  misconfigured: true,
  tool_error: true,
  tool_bug: true,
  output_invalid: true,
  output_too_large: true,
  outcome_unknown: true,
  security_violation: true,
  approval_denied: true,
  approval_expired: true,
  tool_temporarily_disabled: true,
  repeated_call_blocked: true,
  budget_exhausted: true,
  cancelled: true,
  skipped: true,
} satisfies Record<FailureClass, true>;

export const failureClassNames = Object.keys(names) as FailureClass[];
