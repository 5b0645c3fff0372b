/** One typical failure per class: for the documentation, and for the tests that read each message as a person would. */
import type { ClassifiedFailure, FailureClass } from '../contract/failure.js';
import type { ManifestTool } from '../contract/manifest.js';
import { failureClasses } from './failure-classes.js';

export interface FailureExample {
  failure: ClassifiedFailure;
  /** Absent where the tool is not known. */
  tool: ManifestTool | undefined;
  attempts: number;
  elapsedMs: number;
  offeredTools: string[];
}

const refundTool: ManifestTool = {
  name: 'refund_payment',
  modelName: 'refund_payment',
  description: 'Refund a captured payment, whole or in part.',
  inputSchema: { type: 'object' },
  examples: [],
  alternatives: [],
  policy: {
    effect: { kind: 'idempotent', by: 'key', keyTtlMs: 86_400_000 },
    timeoutMs: 30_000,
    budgetMs: 120_000,
    retry: {},
    reconciles: false,
    refreshes: false,
    eventuallyConsistent: false,
    polling: false,
    maxOutputBytes: 1_000_000,
    failureOutput: 'summary',
    errors: 'redacted',
    breaker: null,
    limiter: null,
    retryBudget: null,
    exclusive: false,
  },
};

const onceTool: ManifestTool = {
  ...refundTool,
  name: 'print_label',
  modelName: 'print_label',
  policy: { ...refundTool.policy, effect: { kind: 'once' } },
};

type Details = Partial<ClassifiedFailure> & { attempts?: number; elapsedMs?: number; tool?: ManifestTool | null };

const details: Record<FailureClass, Details> = {
  validation_error: {
    attempts: 0,
    violations: [
      {
        path: '/paymentId',
        problem: 'is missing',
        expected: 'text such as "pay_" and 12 characters',
        example: 'pay_7f3k2m9x1c4v',
      },
      {
        path: '/amountCents',
        problem: 'is text, not a number',
        expected: 'a whole number of 1 or more',
        example: 1250,
      },
    ],
    code: 'PARAM_MISSING_001',
  },
  unknown_tool: { attempts: 0, tool: null, alternatives: ['refund_payment'] },
  input_too_large: { attempts: 0, reason: 'the arguments have 2.3 MB, and 1 MB is the limit' },
  not_found: { reason: 'No such payment: pay_7f3k', upstreamStatus: 404 },
  auth_failed: { reason: 'The access token was revoked', upstreamStatus: 401 },
  permission_denied: { reason: 'This key may read payments only', upstreamStatus: 403 },
  business_rule_violation: {
    reason: 'The order was already shipped on 12 May; ask for a return instead.',
    upstreamStatus: 409,
    public: true,
  },
  quota_exhausted: { reason: 'You have used all 500 refunds of this month', upstreamStatus: 429 },
  unsupported: { reason: 'Partial refunds are not offered for this payment method', upstreamStatus: 501 },
  rate_limit: { retryAfterMs: 90_000, upstreamStatus: 429, attempts: 4, elapsedMs: 61_200 },
  network_error: { reason: 'the connection was cut', attempts: 3, elapsedMs: 3_400 },
  external_service_unavailable: { upstreamStatus: 503, attempts: 3, elapsedMs: 4_100 },
  timeout: { reason: 'no answer came in time', attempts: 2, elapsedMs: 60_900 },
  server_error: { upstreamStatus: 500, attempts: 2, elapsedMs: 1_900 },
  protocol_error: { reason: 'a web page came instead of data', upstreamStatus: 200, attempts: 2, elapsedMs: 1_300 },
  session_expired: { upstreamStatus: 404, attempts: 2, elapsedMs: 800 },
  conflict_in_progress: { upstreamStatus: 409, retryAfterMs: 5_000, attempts: 9, elapsedMs: 118_000 },
  idempotency_mismatch: { upstreamStatus: 400 },
  misconfigured: { reason: "the service's certificate could not be verified" },
  tool_error: { reason: 'the ledger is closed for the night, until 06:00' },
  tool_bug: { reason: "Cannot read properties of undefined (reading 'id')" },
  output_invalid: { reason: 'refundId: is missing' },
  output_too_large: { reason: '14 MB, and 1 MB is the limit' },
  outcome_unknown: { tool: onceTool, reason: 'no answer came in time', elapsedMs: 30_000 },
  security_violation: { attempts: 0, reason: 'the path leaves the folder that this agent may use' },
  approval_denied: { attempts: 0, reason: 'Dana Wu says that the customer has to confirm the amount first' },
  approval_expired: { attempts: 0, reason: 'it was asked for 24 hours ago' },
  tool_temporarily_disabled: { attempts: 0, retryAfterMs: 30_000 },
  repeated_call_blocked: { attempts: 0, reason: 'it was made 2 times with the same result' },
  budget_exhausted: { attempts: 0, reason: '25 of 25 steps' },
  cancelled: {},
  skipped: { attempts: 0, tool: onceTool, reason: 'the outcome of print_label before it is not known' },
};

/** The example of a class, with the table's effect state. */
export function exampleFailure(failureClass: FailureClass): FailureExample {
  const { attempts = 1, elapsedMs = 180, tool, ...rest } = details[failureClass];
  return {
    failure: { class: failureClass, effectState: failureClasses[failureClass].effectState, ...rest },
    tool: tool === null ? undefined : (tool ?? refundTool),
    attempts,
    elapsedMs: attempts === 0 ? 0 : elapsedMs,
    offeredTools: ['get_payment', 'print_label', 'refund_payment'],
  };
}
