import type { ClassifiedFailure } from '../contract/failure.js';
import type { Json, JsonObject } from '../contract/json.js';
import { cutText, printable } from './cut-text.js';
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
  const text = (value: string, maxChars: number) => cutText(redactor.text(printable(value)), maxChars);
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
    violations: failure.violations && redactor.json(jsonOf(failure.violations.slice(0, 20)) ?? []),
    attempt: attempt.attempt,
    duration_ms: Math.round(attempt.durationMs),
    decision: attempt.decision,
    trace_id: attempt.traceId,
    worker: attempt.worker,
    versions: attempt.versions,
  };
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
    return typeof value === 'string' && value !== '' ? [[name, cutText(redactor.text(printable(value)), 500)]] : [];
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
  return json.length <= MAX_PARAMS_CHARS ? safe : cutText(json, MAX_PARAMS_CHARS);
}

function isoTime(ms: number): string | undefined {
  return Math.abs(ms) <= 8.64e15 ? new Date(ms).toISOString() : undefined;
}
