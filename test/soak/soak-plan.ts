/** What the soak does to each call: decided by seed and number alone, so that backend, model and judge agree without a word. */
import type { FailureClass } from '../../src/contract/failure.js';
import type { ScriptedCall } from '../../src/models/scripted-model.js';

export type SoakTool = 'look_up' | 'charge' | 'set_status' | 'print' | 'print_found' | 'import_rows' | 'fragile';

export interface PlannedFault {
  class: FailureClass;
  /** Requests that meet it, the first ones; the next is answered. */
  times: number;
  /** The work is done before the fault: the answer is lost, not the request. */
  afterCommit: boolean;
}

export interface PlannedCall {
  n: number;
  tool: SoakTool;
  fault?: PlannedFault;
}

/** What one run makes of the plan, and one of its turns. */
export const callsPerRun = 40;
export const callsPerTurn = 10;

/** Faults of the backend: every class that an HTTP answer, or none, can mean. */
export const backendFaults = [
  'validation_error',
  'input_too_large',
  'not_found',
  'auth_failed',
  'permission_denied',
  'business_rule_violation',
  'quota_exhausted',
  'unsupported',
  'rate_limit',
  'network_error',
  'external_service_unavailable',
  'timeout',
  'server_error',
  'protocol_error',
  'session_expired',
  'conflict_in_progress',
  'idempotency_mismatch',
  'misconfigured',
] as const satisfies FailureClass[];

/** Faults of a tool's own code. */
export const toolFaults = [
  'tool_error',
  'tool_bug',
  'output_invalid',
  'output_too_large',
] as const satisfies FailureClass[];

/** What follows from the others: a lost answer of a `once` tool, the calls after it, a breaker that opened, a guard's refusal. */
export const consequences = [
  'outcome_unknown',
  'skipped',
  'tool_temporarily_disabled',
  'security_violation',
] as const satisfies FailureClass[];

/** Classes of the table that neither backend nor tool can cause: they are the model's, a person's, or the run's own. */
export const notTheBackends = [
  'unknown_tool',
  'approval_denied',
  'approval_expired',
  'repeated_call_blocked',
  'budget_exhausted',
  'cancelled',
] as const satisfies FailureClass[];

const lost: readonly FailureClass[] = [
  'network_error',
  'external_service_unavailable',
  'timeout',
  'server_error',
  'protocol_error',
];

/** Tools by how often they are called, of a hundred. */
const shares: [SoakTool, number][] = [
  ['look_up', 24],
  ['charge', 26],
  ['set_status', 10],
  ['print', 16],
  ['print_found', 6],
  ['import_rows', 12],
  ['fragile', 6],
];
const faulty = 0.5;

export function planCall(seed: number, n: number): PlannedCall {
  const draw = numbers(seed, n);
  const tool = pickTool(draw() * 100);
  // Every call of it fails, so that its breaker opens.
  if (tool === 'fragile')
    return { n, tool, fault: { class: 'external_service_unavailable', times: 99, afterCommit: false } };
  if (draw() >= faulty) return { n, tool };
  const classes = tool === 'import_rows' ? toolFaults : backendFaults;
  const failureClass = classes[Math.floor(draw() * classes.length)] as FailureClass;
  const times = [1, 1, 2, 99][Math.floor(draw() * 4)] as number;
  return { n, tool, fault: { class: failureClass, times, afterCommit: lost.includes(failureClass) && draw() < 0.5 } };
}

/** The calls of one model turn, as the model writes them. */
export function scriptedCalls(seed: number, first: number, count: number): ScriptedCall[] {
  return Array.from({ length: count }, (_, index) => {
    const { n, tool } = planCall(seed, first + index);
    return { tool, input: { n } };
  });
}

function pickTool(at: number): SoakTool {
  let sum = 0;
  for (const [tool, share] of shares) {
    sum += share;
    if (at < sum) return tool;
  }
  return 'look_up';
}

/** Random numbers from 0 to 1 that depend on seed and call only (mulberry32). */
function numbers(seed: number, n: number): () => number {
  let state = Math.imul(seed ^ Math.imul(n + 1, 0x9e3779b1), 0x85ebca6b) >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000;
  };
}
