import type { Outcome } from '../contract/call.js';
import type { ClassifiedFailure, FailureClass } from '../contract/failure.js';
import type { Json, JsonObject } from '../contract/json.js';
import { cutToChars } from './cut-text.js';
import { printable } from './printable.js';
import { failureClasses } from './failure-classes.js';
import type { Redactor } from './redaction.js';
import { allNodes, jsonOf, nameOf, read, readText, thrownTree, type ThrownNode } from './thrown-shape.js';
import { textOf } from './thrown-evidence.js';

/** What is known of the attempt. Times in milliseconds. */
export interface FailedAttempt {
  tool: string;
  callId: string;
  key: string;
  runKey?: string;
  params: Json;
  failure: ClassifiedFailure;
  /** What was thrown, where something was. */
  thrown?: unknown;
  /** 1 for the first start of the body. */
  attempt: number;
  durationMs: number;
  atMs: number;
  /** Host and process that ran it. */
  worker?: string;
  traceId?: string;
  /** Versions of perdure, the runtime and whatever else may explain a difference. */
  versions?: Record<string, string>;
  decision?: string;
}

const MAX_STACK_CHARS = 8_000;
const MAX_MESSAGE_CHARS = 4_000;
const MAX_PARAMS_CHARS = 4_000;
const MAX_CAUSES = 8;

/**
 * The operator's record of one failed attempt: everything that helps to find the cause and nothing secret. One JSON object,
 * at most about 24 KB; for logs and `perdure show --call`, never for a model. Never throws.
 */
export function operatorRecord(attempt: FailedAttempt, redactor: Redactor): JsonObject {
  const { failure, thrown } = attempt;
  const row = failureClasses[failure.class];
  const text = (value: string, maxChars: number) => cutToChars(redactor.text(printable(value)), maxChars);
  const tree = thrown === undefined ? undefined : thrownTree(thrown);
  const stack = readText(thrown, 'stack');
  const fields: { [key: string]: Json | undefined } = {
    at: isoTime(attempt.atMs),
    tool: attempt.tool,
    call_id: attempt.callId,
    idempotency_key: attempt.key,
    run_key: attempt.runKey,
    params: boundedParams(attempt.params, redactor),
    error_type: failure.class,
    error_code: failure.code ?? row.code,
    effect_state: failure.effectState,
    error_name: tree && text(nameOf(thrown), 200),
    error_message: text(messageOf(failure, thrown), MAX_MESSAGE_CHARS),
    error_details: tree && detailsOf(thrown, redactor),
    causes: tree && causesOf(tree, text),
    stack: stack === undefined ? undefined : text(stack, MAX_STACK_CHARS),
    upstream_status: failure.upstreamStatus,
    retry_after_ms: failure.retryAfterMs,
    violations: violationsOf(failure, redactor),
    attempt: attempt.attempt,
    duration_ms: Math.round(attempt.durationMs),
    decision: attempt.decision,
    trace_id: attempt.traceId,
    worker: attempt.worker,
    versions: attempt.versions,
  };
  return withoutAbsent(fields);
}

/** How a call ended, besides its outcome. */
export interface EndedCall {
  runKey: string;
  params?: Json;
  /** What ended it, where it failed: the model's message leaves out what concerns operators only. */
  failure?: ClassifiedFailure;
  worker?: string;
  traceId?: string;
}

/** Failures that no run and no model can mend: somebody has to be told at once. */
const alerting = new Set<FailureClass>(['misconfigured', 'security_violation', 'idempotency_mismatch']);

/** The operator's line of a call's end, whatever it is. Bounded and masked like a failed attempt's. Never throws. */
export function outcomeRecord(outcome: Outcome, call: EndedCall, redactor: Redactor): JsonObject {
  const failed = outcome.status === 'failed' || outcome.status === 'aborted' ? outcome.failure : undefined;
  return withoutAbsent({
    tool: cutToChars(redactor.text(printable(outcome.tool)), 200),
    call_id: outcome.callId,
    idempotency_key: outcome.key,
    run_key: call.runKey,
    params: call.params === undefined ? undefined : boundedParams(call.params, redactor),
    status: outcome.status,
    error_type: failed?.class,
    error_code: failed?.code,
    effect_state: failed?.effectState,
    error_message: failed && cutToChars(redactor.text(failed.message), MAX_MESSAGE_CHARS),
    upstream_status: failed?.upstreamStatus,
    retry_after_ms: failed?.retryAfterMs,
    violations: call.failure && violationsOf(call.failure, redactor),
    reference_id: failed?.referenceId,
    alert: failed && alerting.has(failed.class) ? true : undefined,
    degraded: outcome.status === 'succeeded' && outcome.degraded ? true : undefined,
    attempts: outcome.attempts,
    duration_ms: Math.round(outcome.elapsedMs),
    trace_id: call.traceId,
    worker: call.worker,
  });
}

function violationsOf({ violations }: ClassifiedFailure, redactor: Redactor): Json | undefined {
  return violations && redactor.json(jsonOf(violations.slice(0, 20)) ?? []);
}

function withoutAbsent(fields: { [key: string]: Json | undefined }): JsonObject {
  return Object.fromEntries(
    Object.entries(fields).filter((field): field is [string, Json] => field[1] !== undefined && field[1] !== ''),
  );
}

function messageOf(failure: ClassifiedFailure, thrown: unknown): string {
  return textOf(thrown) || failure.reason || '';
}

/** Small fields that clients put on errors and that no message repeats. */
function detailsOf(thrown: unknown, redactor: Redactor): JsonObject | undefined {
  const names = [
    'code',
    'errno',
    'syscall',
    'address',
    'port',
    'hostname',
    'type',
    'statusText',
    'requestID',
    'request_id',
    'url',
    'method',
  ];
  const found = names.flatMap((name): [string, Json][] => {
    const value = read(thrown, name);
    if (typeof value === 'number' && Number.isFinite(value)) return [[name, value]];
    return typeof value === 'string' && value !== '' ? [[name, cutToChars(redactor.text(printable(value)), 500)]] : [];
  });
  return found.length > 0 ? Object.fromEntries(found) : undefined;
}

function causesOf(tree: ThrownNode, text: (value: string, maxChars: number) => string): Json[] | undefined {
  const causes = allNodes(tree)
    .slice(1, MAX_CAUSES + 1)
    .map(({ thing }) => {
      const code = read(thing, 'code');
      const named = [nameOf(thing), typeof code === 'string' || typeof code === 'number' ? `[${String(code)}]` : '']
        .filter(Boolean)
        .join(' ');
      return text([named, textOf(thing)].filter(Boolean).join(': '), 500);
    })
    .filter((cause) => cause !== '');
  return causes.length > 0 ? causes : undefined;
}

/** Whole where it is small, else its head and tail as text. */
function boundedParams(params: Json, redactor: Redactor): Json {
  const safe = redactor.json(params);
  const json = JSON.stringify(safe);
  return json.length <= MAX_PARAMS_CHARS ? safe : cutToChars(json, MAX_PARAMS_CHARS);
}

function isoTime(ms: number): string | undefined {
  return Math.abs(ms) <= 8.64e15 ? new Date(ms).toISOString() : undefined;
}
