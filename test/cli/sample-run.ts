import type { CallDescription, RunDescription, RunSummary } from '../../src/client/run-description.js';

/** 29 November 2026, 20:00:00 UTC. */
export const START_MS = Date.UTC(2026, 10, 29, 20, 0, 0);

export function sampleCall(change: Partial<CallDescription> = {}): CallDescription {
  return {
    callId: 'c1.1',
    tool: 'find_order',
    arguments: { orderId: '1042' },
    rawArguments: '{"orderId": "1042"}',
    state: 'succeeded',
    starts: 1,
    elapsedMs: 120,
    modelSees: '{"status":"succeeded","data":{"orderId":"1042","state":"delivered","customer":"Zoë"}}',
    attempts: [
      { key: 'k1:aa', start: 1, worker: 'box:4711', startedAtMs: START_MS + 900, endedAtMs: START_MS + 1_020 },
    ],
    key: 'k1:aa',
    digest: 'd1',
    effect: 'read',
    ledger: 'done',
    ...change,
  };
}

export const refusedRefund = sampleCall({
  callId: 'c2.1',
  tool: 'refund_payment',
  arguments: { paymentId: 'pay_77', amountCents: 129_900 },
  rawArguments: "{'paymentId': 'pay_77', 'amountCents': 129900}",
  repairs: ['single quotes'],
  state: 'failed',
  starts: 2,
  elapsedMs: 2_340,
  modelSees:
    '{"status":"failed","error_type":"business_rule_violation","error_code":"TOOL_CONFLICT_001","message":"The payment service refused: the payment was already refunded in full.","retryable":false,"suggested_action":"Look the payment up before you try another way."}',
  failure: {
    class: 'business_rule_violation',
    code: 'TOOL_CONFLICT_001',
    effectState: 'none',
    message: 'The payment service refused: the payment was already refunded in full.',
    suggestedAction: 'Look the payment up before you try another way.',
    retryable: false,
    upstreamStatus: 409,
  },
  attempts: [
    {
      key: 'k1:bb',
      start: 1,
      worker: 'box:4711',
      startedAtMs: START_MS + 3_000,
      endedAtMs: START_MS + 4_200,
      failure: {
        tool: 'refund_payment',
        error_type: 'external_service_unavailable',
        error_code: 'NET_UNAVAILABLE_001',
        upstream_status: 503,
        error_message: 'payments answered 503 Service Unavailable',
        stack: 'HttpAnswer: payments answered 503\n    at refund (file:///shop/tools/payments.ts:14:9)',
        params: { paymentId: 'pay_77', amountCents: 129_900 },
      },
    },
    {
      key: 'k1:bb',
      start: 2,
      worker: 'box:4712',
      startedAtMs: START_MS + 5_000,
      endedAtMs: START_MS + 5_340,
      failure: { error_type: 'business_rule_violation', upstream_status: 409, error_message: 'already refunded' },
    },
  ],
  key: 'k1:bb',
  digest: 'd2',
  effect: 'idempotent by key',
  ledger: 'failed',
  effectState: 'none',
});

export const invalidCall: CallDescription = {
  callId: 'c2.2',
  tool: 'print_label',
  rawArguments: '{"order":7}',
  state: 'failed',
  starts: 0,
  elapsedMs: 0,
  failure: {
    class: 'validation_error',
    code: 'PARAM_MISSING_001',
    effectState: 'none',
    message: 'The arguments do not fit: "orderId" is missing (a string, for example "1042").',
    suggestedAction: 'Correct the arguments and call the tool again.',
    retryable: false,
  },
  modelSees: '{"status":"failed"}',
  attempts: [],
  key: 'k1:cc',
  effectState: 'none',
};

const usage = { inputTokens: 900, outputTokens: 100, costUsd: 0.004 };

/** A run of three turns: a read, a refused and an invalid call, the answer. */
export function sampleRun(change: Partial<RunDescription> = {}): RunDescription {
  return {
    id: 'run-4kx9mz',
    runKey: '7c9e6679-7425-40de-944b-e07fc1f90ae7',
    task: 'Refund order 1042 and tell the customer why it took so long, in two or three friendly sentences.',
    state: 'completed',
    startedAtMs: START_MS,
    endedAtMs: START_MS + 12_400,
    result: {
      status: 'completed',
      answer: 'Order 1042 was already refunded in full.\nNothing was charged twice.',
      termination: { reason: 'answered', summary: 'The model answered.' },
      counters: { steps: 3, calls: 3, inputTokens: 2_700, outputTokens: 300, costUsd: 0.012, failures: 2 },
    },
    steps: [
      { step: 1, text: "I'll look the order up first.", atMs: START_MS + 800, usage, calls: [sampleCall()] },
      { step: 2, text: '', atMs: START_MS + 2_900, usage, calls: [refusedRefund, invalidCall] },
      {
        step: 3,
        text: 'Order 1042 was already refunded in full.\nNothing was charged twice.',
        atMs: START_MS + 12_000,
        usage,
        calls: [],
      },
    ],
    server: {
      status: 'completed',
      executionId: 'e1',
      taskQueue: 'perdure-0a1b2c3d',
      historyEvents: 41,
      url: 'http://localhost:8233/namespaces/default/workflows/run-4kx9mz',
      pending: [],
    },
    ...change,
  };
}

/** The same run in the middle of its second step. */
export function runningRun(): RunDescription {
  const { endedAtMs: _endedAtMs, result: _result, ...open } = sampleRun();
  const { failure: _failure, modelSees: _modelSees, elapsedMs: _elapsedMs, ...refund } = refusedRefund;
  const retrying: CallDescription = {
    ...refund,
    state: 'retrying',
    starts: 1,
    attempts: refund.attempts.slice(0, 1),
    ledger: 'started',
    effectState: 'unknown',
  };
  const [first, second] = open.steps;
  if (!first || !second) throw new Error('the sample has two steps at least');
  return { ...open, state: 'running', steps: [first, { ...second, calls: [retrying, invalidCall] }] };
}

export function sampleSummaries(): RunSummary[] {
  const { steps: _steps, server: _server, ...completed } = sampleRun();
  const counters = { steps: 25, calls: 60, inputTokens: 1, outputTokens: 1, costUsd: 0, failures: 0 };
  return [
    {
      id: 'run-9bq2wd',
      runKey: undefined,
      task: '注文を確認して返金してください',
      state: 'waiting',
      startedAtMs: START_MS + 59_000,
    },
    { id: 'refund-1042', runKey: 'r2', task: 'Refund it', state: 'running', startedAtMs: START_MS + 20_000 },
    completed,
    {
      id: 'nightly-inventory-check-2026-11-29',
      runKey: 'r3',
      task: 'Count\nthe stock \u001b[31mred\u001b[0m',
      state: 'capped',
      startedAtMs: START_MS - 7_200_000,
      endedAtMs: START_MS - 3_600_000,
      result: {
        status: 'capped',
        answer: '',
        termination: { reason: 'steps_cap', summary: '25 of 25 steps were used.' },
        counters,
      },
    },
    {
      id: 'run-t',
      runKey: 'r4',
      task: '',
      state: 'timed_out',
      startedAtMs: START_MS - 400_000_000,
      endedAtMs: START_MS - 399_000_000,
    },
  ];
}
