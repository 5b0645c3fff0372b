import type { Outcome, ResultValue } from '../contract/call.js';
import type { Json } from '../contract/json.js';
import type { LedgerRow } from '../contract/ledger.js';
import { renderOutcome } from '../policy/render-outcome.js';
import type { NormalizedResult } from '../results/normalized-result.js';
import { shapeForModel } from '../results/shape-for-model.js';
import type { RenderedMessage } from '../store/records.js';
import type { Store } from '../store/store.js';
import type { Attempt } from './attempt.js';
import { elapsedMs } from './call-recorder.js';

/** A result is inline in the history up to here, so that the Temporal UI shows what happened; the whole is in the store. */
const defaultInlineBytes = 4_096;
const previewCharacters = 500;

export interface SuccessfulEnd {
  outcome: Outcome;
  rendered: RenderedMessage;
}

/**
 * The outcome of a call that did its work, with the message that the model sees: the result cut to what fits, the whole
 * kept as an artifact, images kept apart. Stores bodies; changes no row.
 */
export async function successOutcome(
  store: Store,
  attempt: Pick<Attempt, 'call' | 'tool' | 'inlineBytes' | 'repeatOf'> & Partial<Pick<Attempt, 'recorder'>>,
  result: NormalizedResult,
  row: LedgerRow,
): Promise<SuccessfulEnd> {
  const { call, tool } = attempt;
  const bytes = new TextEncoder().encode(JSON.stringify(result.json));
  const bodyId = bytes.length > defaultInlineBytes ? await store.putBody(bytes) : '';
  const shaped = shapeForModel(result.json, { artifactId: bodyId });
  const attachments = await Promise.all(
    [...result.attachments, ...shaped.attachments].map(async ({ bytes: content, mediaType }) => ({
      bodyId: await store.putBody(content),
      mediaType,
      bytes: content.length,
    })),
  );
  const base = {
    callId: call.callId,
    tool: tool.name,
    key: call.key,
    attempts: row.starts,
    elapsedMs: elapsedMs(row, Date.now()),
    ...attempt.recorder?.progressOf(result.json),
  };
  const stored: ResultValue =
    bytes.length <= (attempt.inlineBytes ?? defaultInlineBytes)
      ? { inline: result.json }
      : { bodyId: bodyId || (await store.putBody(bytes)), bytes: bytes.length, preview: previewOf(result.json) };
  const outcome = ofKind(base, stored, result);
  const repeated = await repeatsEarlier(store, attempt, stored);
  return {
    outcome,
    rendered: {
      content: renderOutcome(ofKind(base, { inline: shaped.json }, result), {
        ...(shaped.truncated
          ? {
              truncated: {
                shown: shaped.truncated.shown,
                total: shaped.truncated.total,
                artifactId: shaped.truncated.artifact_id,
              },
            }
          : {}),
        ...(repeated ? { suggestedAction: repeated } : {}),
        notes: result.notes,
      }),
      failed: false,
      ...(attachments.length > 0 ? { attachments } : {}),
    },
  };
}

function ofKind(
  base: Omit<Outcome & { status: 'succeeded' }, 'status' | 'result'>,
  result: ResultValue,
  normalized: NormalizedResult,
): Outcome {
  const { partial, emptyReason, degraded } = normalized;
  if (partial) {
    return {
      ...base,
      status: 'partial',
      result,
      ...(partial.confidence === undefined ? {} : { confidence: partial.confidence }),
    };
  }
  return {
    ...base,
    status: 'succeeded',
    result,
    ...(emptyReason === undefined ? {} : { emptyReason }),
    ...(degraded === undefined ? {} : { degraded }),
  };
}

function previewOf(json: Json): string {
  const text = typeof json === 'string' ? json : JSON.stringify(json);
  return text.length <= previewCharacters ? text : `${text.slice(0, previewCharacters).toWellFormed()}…`;
}

/** What the model is told where it has made this same call before and got this same result. */
async function repeatsEarlier(
  store: Store,
  attempt: Pick<Attempt, 'repeatOf'>,
  result: ResultValue,
): Promise<string | undefined> {
  const { repeatOf } = attempt;
  if (!repeatOf) return undefined;
  const earlier = (await store.getCall(repeatOf.key))?.row.outcome;
  const same =
    earlier !== undefined && 'result' in earlier && JSON.stringify(earlier.result) === JSON.stringify(result);
  if (!same) return undefined;
  if (repeatOf.otherArguments) {
    return (
      `This same answer has now been given ${repeatOf.times + 1} times in a row, whatever was asked. If it should have ` +
      'changed, change the approach, or sum up what is known.'
    );
  }
  return (
    'This same call was made before in this run and gave this same result. Do not make it once more: use the result, ' +
    'change the approach, or sum up what is known.'
  );
}
