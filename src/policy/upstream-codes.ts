/**
 * The error codes that backends put in bodies and headers, by the class that they mean. Compared without case and
 * punctuation, so that `rate_limit_exceeded`, `RateLimitExceeded` and `RATE_LIMIT_EXCEEDED` are one. Sources: the public
 * error references of OpenAI, Anthropic, Google (`google.rpc.Code`), AWS, Stripe, Slack, GitHub and OAuth 2 (RFC 6749).
 */
import type { FailureClass } from '../contract/failure.js';

const codesByClass: Partial<Record<FailureClass, string>> = {
  quota_exhausted:
    'insufficient_quota billing_error billing_hard_limit_reached billing_not_active insufficient_credits ' +
    'credit_balance_too_low daily_limit_exceeded quota_exceeded service_quota_exceeded_exception usage_limit_reached ' +
    'monthly_limit_exceeded payment_required out_of_credits',
  rate_limit:
    'rate_limit rate_limited rate_limit_error rate_limit_exceeded user_rate_limit_exceeded too_many_requests ' +
    'too_many_requests_exception throttled throttling throttling_exception throttled_exception request_limit_exceeded ' +
    'resource_exhausted slow_down provisioned_throughput_exceeded_exception request_throttled concurrency_limit_exceeded ' +
    'tokens_exceeded requests_exceeded',
  external_service_unavailable:
    'overloaded overloaded_error service_unavailable service_unavailable_exception unavailable engine_overloaded ' +
    'model_overloaded bad_gateway gateway_timeout',
  server_error:
    'api_error internal internal_error internal_server_error internal_failure server_error unknown data_loss fatal_error',
  timeout: 'timeout timeout_error deadline_exceeded request_timeout request_timed_out',
  auth_failed:
    'authentication_error unauthenticated unauthorized invalid_api_key incorrect_api_key invalid_token token_expired ' +
    'token_revoked expired_token expired_token_exception invalid_grant invalid_auth not_authed account_inactive ' +
    'invalid_client_token_id unrecognized_client_exception signature_does_not_match invalid_credentials session_expired',
  permission_denied:
    'permission_error permission_denied forbidden access_denied access_denied_exception insufficient_scope missing_scope ' +
    'insufficient_permissions no_permission',
  not_found:
    'not_found not_found_error resource_not_found resource_not_found_exception no_such_key model_not_found resource_missing',
  validation_error:
    'invalid_request invalid_request_error invalid_argument validation_error validation_exception validation_failed ' +
    'bad_request bad_request_error bad_user_input invalid_parameter invalid_params out_of_range graphql_validation_failed ' +
    'graphql_parse_failed unprocessable_entity',
  input_too_large:
    'request_too_large payload_too_large request_entity_too_large context_length_exceeded string_above_max_length ' +
    'entity_too_large',
  business_rule_violation:
    'failed_precondition already_exists conflict aborted conditional_check_failed_exception card_declined',
  unsupported: 'unimplemented not_implemented method_not_allowed unsupported_operation',
  conflict_in_progress:
    'idempotency_key_in_use idempotency_key_in_progress idempotency_in_progress idempotent_request_in_progress ' +
    'request_in_progress idempotency_conflict_in_progress lock_timeout idempotency_key_locked',
  idempotency_mismatch:
    'idempotency_key_mismatch idempotency_mismatch idempotency_key_reused idempotency_key_reuse idempotency_key_conflict ' +
    'idempotent_parameter_mismatch idempotent_parameter_mismatch_exception idempotency_parameter_mismatch ' +
    'idempotency_key_already_used idempotency_key_payload_mismatch',
};

const classByCode = new Map<string, FailureClass>(
  (Object.entries(codesByClass) as [FailureClass, string][]).flatMap(([failureClass, codes]) =>
    codes.split(' ').map((code): [string, FailureClass] => [folded(code), failureClass]),
  ),
);

/** The class that a backend's error code means, or `undefined` where the code is not known. */
export function classOfCode(code: string): FailureClass | undefined {
  // AWS writes `com.amazonaws.dynamodb#ThrottlingException`; Firebase `functions/unavailable`.
  const name = code.split(/[#/:]/).findLast((part) => part !== '') ?? '';
  return classByCode.get(folded(code)) ?? classByCode.get(folded(name));
}

function folded(code: string): string {
  return code
    .slice(0, 200)
    .toLowerCase()
    .replace(/[^a-z0-9]/g, '');
}

/** Classes of `google.rpc.Code` numbers, which are gRPC's status codes. */
const grpcClasses: Record<number, FailureClass> = {
  1: 'cancelled',
  2: 'server_error',
  3: 'validation_error',
  4: 'timeout',
  5: 'not_found',
  6: 'business_rule_violation',
  7: 'permission_denied',
  8: 'rate_limit',
  9: 'business_rule_violation',
  10: 'business_rule_violation',
  11: 'validation_error',
  12: 'unsupported',
  13: 'server_error',
  14: 'external_service_unavailable',
  15: 'server_error',
  16: 'auth_failed',
};

/** A call that the client side cancelled is not the run's cancellation: its fate is a lost answer. */
export function classOfGrpcStatus(code: number): FailureClass | undefined {
  const failureClass = grpcClasses[code];
  return failureClass === 'cancelled' ? 'timeout' : failureClass;
}

/** JSON-RPC's and MCP's error numbers. `-32001` is a timeout or a lost session, which its words tell apart. */
export function classOfJsonRpcCode(code: number, message: string): FailureClass | undefined {
  if (!Number.isInteger(code) || code > -32000 || code < -32768) return undefined;
  if (code === -32602)
    return /\bunknown tool\b|\btool .*not found/i.test(message) ? 'unknown_tool' : 'validation_error';
  if (code === -32002) return 'not_found';
  if (/session (?:id )?(?:not found|expired|is invalid)|(?:no|in)valid session/i.test(message))
    return 'session_expired';
  if (/timed? ?out/i.test(message)) return 'timeout';
  if (/connection (?:was )?(?:closed|lost|reset)/i.test(message)) return 'network_error';
  return 'protocol_error';
}
