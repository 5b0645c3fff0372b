import type { Outcome, ResultValue } from '../contract/call.js';
import type { Failure } from '../contract/failure.js';
import { assertNever, type Json, type JsonObject } from '../contract/json.js';

/** What a model is told besides the outcome itself. */
export interface RenderContext {
  /** The tool's name as the model knows it. Default the tool's own. */
  toolName?: string;
  /** What was changed or left out on the way to JSON, a sentence each. */
  notes?: string[];
  /** Shown instead of the failure's message: longer than what travels in a history. */
  message?: string;
  /** Starts that the failure's class allows; left out where only time bounds them. */
  maxAttempts?: number;
  /** Failures in a row of this tool, this one included; shown from 2 on. */
  consecutiveFailures?: number;
  /** What to do about an empty, cut or strange success. */
  suggestedAction?: string;
  /** Where the data, or a failure's words, are shown in part: characters shown and in all, and what `read_artifact` takes. */
  truncated?: { shown: number; total: number; artifactId: string };
}

/**
 * What the model sees of an outcome: JSON on one line, snake_case, absent fields left out. Stored by
 * key and never rendered again, so that a replayed run shows the same bytes.
 */
export function renderOutcome(outcome: Outcome, context: RenderContext = {}): string {
  return JSON.stringify(withoutAbsent(fieldsOf(outcome, context)));
}

type Fields = { [key: string]: Json | undefined };

function fieldsOf(outcome: Outcome, context: RenderContext): Fields {
  switch (outcome.status) {
    case 'failed':
    case 'aborted':
      return failureFields(outcome, outcome.failure, context);
    case 'succeeded': {
      const { data, truncated } = shown(outcome.result, context);
      return {
        status: 'succeeded',
        data,
        empty_reason: outcome.emptyReason,
        suggested_action: context.suggestedAction,
        degraded:
          outcome.degraded &&
          withoutAbsent({ reason: outcome.degraded.reason, as_of: isoTime(outcome.degraded.asOfMs) }),
        truncated,
        notes: notesOf(context),
      };
    }
    case 'partial': {
      const { data, truncated } = shown(outcome.result, context);
      // What succeeded and what failed, where the tool says it so; else its result as it is.
      const parts = isPartial(data) ? { succeeded: data['succeeded'], failed: data['failed'] } : { data };
      return {
        status: 'partial',
        ...parts,
        confidence: outcome.confidence,
        suggested_action: context.suggestedAction,
        truncated,
        notes: notesOf(context),
      };
    }
    case 'pending':
      return { status: 'pending', message: outcome.message, expected_by: isoTime(outcome.expectedByMs) };
    default:
      return assertNever(outcome);
  }
}

function failureFields(
  outcome: Outcome & { status: 'failed' | 'aborted' },
  failure: Failure,
  context: RenderContext,
): Fields {
  const again = context.consecutiveFailures;
  return {
    status: outcome.status,
    error_type: failure.class,
    error_code: failure.code,
    kind: failure.kind,
    message: context.message ?? failure.message,
    retryable: failure.retryable,
    retry_after_seconds: failure.retryAfterMs === undefined ? undefined : Math.ceil(failure.retryAfterMs / 1000),
    suggested_action: failure.suggestedAction,
    alternatives: failure.alternatives,
    // `none` is the ordinary state of a failure and needs no field.
    effect_state: failure.effectState === 'none' ? undefined : failure.effectState,
    action_required: failure.actionRequired,
    context: withoutAbsent({
      tool_name: context.toolName ?? outcome.tool,
      attempt: outcome.attempts,
      max_attempts:
        context.maxAttempts !== undefined && Number.isFinite(context.maxAttempts) ? context.maxAttempts : undefined,
      elapsed_ms: Math.round(outcome.elapsedMs),
      consecutive_failures: again !== undefined && again > 1 ? again : undefined,
    }),
    truncated: truncatedNote(context),
    reference_id: failure.referenceId,
  };
}

function truncatedNote({ truncated }: RenderContext): JsonObject | undefined {
  return truncated && { shown: truncated.shown, total: truncated.total, artifact_id: truncated.artifactId };
}

function notesOf({ notes }: RenderContext): string[] | undefined {
  return notes && notes.length > 0 ? notes : undefined;
}

/** The inline value, or the preview with the size of the whole in bytes and where to read it. */
function shown(result: ResultValue, context: RenderContext): { data: Json; truncated: JsonObject | undefined } {
  const note = truncatedNote(context);
  if ('inline' in result) return { data: result.inline, truncated: note };
  const whole = {
    shown: new TextEncoder().encode(result.preview).length,
    total: result.bytes,
    artifact_id: result.bodyId,
  };
  return { data: result.preview, truncated: note ?? whole };
}

function isPartial(data: Json): data is JsonObject & { succeeded: Json; failed: Json } {
  return typeof data === 'object' && data !== null && !Array.isArray(data) && 'succeeded' in data && 'failed' in data;
}

function isoTime(ms: number | undefined): string | undefined {
  // Beyond what a Date can hold `toISOString` throws.
  return ms === undefined || !(Math.abs(ms) <= 8.64e15) ? undefined : new Date(ms).toISOString();
}

function withoutAbsent(fields: Fields): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter((field): field is [string, Json] => field[1] !== undefined));
}
