import type { Json } from '../contract/json.js';
import { sizeInWords } from './binary.js';
import { HttpAnswerError } from '../tools/http-errors.js';
import { looksLikeMcp, readMcp } from './mcp-result.js';
import type { NormalizedResult } from './normalized-result.js';
import { readBody, type BodyContent } from './read-body.js';
import { JsonWalk } from './to-json.js';

export interface NormalizeOptions {
  /** Limit of what is read from streams, and of JSON and attachments together. Default 10 MiB. */
  maxBytes?: number;
  /** Stops reading a stream; the result is then a failure with the signal's reason. */
  signal?: AbortSignal;
  /** `mcp` reads every result as an MCP envelope; of other sources only what is clearly one. */
  source?: 'function' | 'http' | 'mcp' | 'builtin';
}

const defaultMaxBytes = 10 * 1024 * 1024;

/** Makes JSON of whatever a tool's body returned. Never rejects. */
export async function normalizeResult(value: unknown, options: NormalizeOptions = {}): Promise<NormalizedResult> {
  const maxBytes = options.maxBytes ?? defaultMaxBytes;
  const walk = new JsonWalk();
  const result: NormalizedResult = { json: null, attachments: walk.attachments, notes: [] };
  const plain = unwrap(value, result);
  if (await disguisedFailure(plain, result, maxBytes, options.signal)) return result;
  if (options.source === 'mcp' || looksLikeMcp(plain)) {
    readMcp(plain, walk, result);
  } else {
    walk.toJson(plain, (json) => (result.json = json));
  }
  await placeBodies(walk, result, { maxBytes, signal: options.signal });
  describePartial(result);
  describeEmpty(plain, result);
  measure(result, walk, maxBytes);
  result.notes = walk.notes;
  return result;
}

/** Takes off the marks of `degraded()`, `partial()` and `empty()`. */
function unwrap(value: unknown, result: NormalizedResult): unknown {
  let plain = value;
  // A fallback may itself be partial or empty; deeper nesting has no meaning.
  for (let layer = 0; layer < 3; layer += 1) {
    const marked = fieldsOf(plain);
    if (marked?.['perdureResult'] === 'degraded') {
      const { reason, asOfMs } = marked;
      result.degraded = {
        reason: typeof reason === 'string' ? reason : 'a fallback value',
        ...(typeof asOfMs === 'number' && Number.isFinite(asOfMs) ? { asOfMs } : {}),
      };
      plain = marked['value'];
    } else if (marked?.['perdureResult'] === 'partial') {
      const { perdureResult: _mark, ...rest } = marked;
      return { ...rest, status: 'partial' };
    } else if (marked?.['perdureResult'] === 'empty') {
      result.emptyReason = typeof marked['reason'] === 'string' ? marked['reason'] : 'no_output';
      return null;
    } else {
      return plain;
    }
  }
  return plain;
}

/** A shallow copy of a plain object's fields; `undefined` for anything else, and where reading them throws. */
function fieldsOf(value: unknown): Record<string, unknown> | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  try {
    const prototype: unknown = Object.getPrototypeOf(value);
    if (prototype !== Object.prototype && prototype !== null) return undefined;
    if (!Object.hasOwn(value, 'perdureResult') && !Object.hasOwn(value, 'status')) return undefined;
    return { ...(value as Record<string, unknown>) };
  } catch {
    return undefined;
  }
}

async function disguisedFailure(
  value: unknown,
  result: NormalizedResult,
  maxBytes: number,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  try {
    if (value instanceof Error) {
      new JsonWalk().toJson(value, (json) => (result.json = json));
      result.failure = { thrown: value };
      return true;
    }
    if (!(value instanceof Response) || value.ok) return false;
  } catch {
    // A proxy whose traps throw is no Error.
    return false;
  }
  const walk = new JsonWalk();
  const body = contentToJson(await readBody(value, { maxBytes, signal }), walk);
  const thrown = new HttpAnswerError({
    status: value.status,
    headers: Object.fromEntries(value.headers),
    body,
    contentType: value.headers.get('content-type') ?? '',
    message: `request failed with status ${String(value.status)}`,
  });
  result.failure = { thrown };
  result.json = body;
  return true;
}

async function placeBodies(
  walk: JsonWalk,
  result: NormalizedResult,
  limits: { maxBytes: number; signal: AbortSignal | undefined },
): Promise<void> {
  let left = limits.maxBytes;
  // The list grows while it is read: a stream's items may hold streams.
  for (let next = walk.pending.shift(); next; next = walk.pending.shift()) {
    const content = await readBody(next.body, { maxBytes: left, signal: limits.signal });
    if (content.kind === 'bytes') left -= content.bytes.length;
    if (content.kind === 'too_large') result.tooLarge = `more than ${sizeInWords(limits.maxBytes)}`;
    if (content.kind === 'broken') result.failure ??= { thrown: content.error };
    if (content.kind === 'items') walk.toJson(content.items, next.place);
    else next.place(contentToJson(content, walk));
  }
}

function contentToJson(content: BodyContent, walk: JsonWalk): Json {
  let json: Json = null;
  switch (content.kind) {
    case 'bytes':
      return bytesToJson(content, walk);
    case 'text':
      walk.toJson(content.text, (text) => (json = text));
      return json;
    case 'items':
      walk.toJson(content.items, (items) => (json = items));
      return json;
    case 'too_large':
      return '(too large to be kept)';
    case 'broken':
      walk.note('a stream could not be read to its end');
      return '(could not be read)';
  }
}

function bytesToJson(content: { bytes: Uint8Array; mediaType?: string }, walk: JsonWalk): Json {
  const text = walk.bytesToJson(content.bytes, content.mediaType);
  if (!content.mediaType || !/[/+]json$/.test(content.mediaType)) return text;
  try {
    let json: Json = null;
    walk.toJson(JSON.parse(text), (parsed) => (json = parsed));
    return json;
  } catch {
    return text;
  }
}

/** A result that says `status: 'partial'` with both lists is one, whoever made it. */
function describePartial(result: NormalizedResult): void {
  const { json } = result;
  if (typeof json !== 'object' || json === null || Array.isArray(json) || json['status'] !== 'partial') return;
  const { status: _status, succeeded, failed, confidence, ...rest } = json;
  if (!Array.isArray(succeeded) || !Array.isArray(failed)) return;
  const sure: { confidence?: 'low' | 'high' } = confidence === 'low' || confidence === 'high' ? { confidence } : {};
  result.partial = { succeeded, failed, ...sure };
  result.json = { succeeded, failed, ...sure, ...rest };
}

function describeEmpty(value: unknown, result: NormalizedResult): void {
  if (result.emptyReason !== undefined || result.failure || result.partial) return;
  const { json } = result;
  if (json === null) result.emptyReason = value === null ? 'no_value' : 'no_output';
  else if (typeof json === 'string' && json.trim() === '') result.emptyReason = 'empty_text';
  else if (Array.isArray(json) && json.length === 0) result.emptyReason = 'empty_list';
  else if (typeof json === 'object' && Object.keys(json).length === 0) result.emptyReason = 'empty_object';
}

function measure(result: NormalizedResult, walk: JsonWalk, maxBytes: number): void {
  if (walk.overflowed) result.tooLarge ??= 'more than a million values';
  if (result.tooLarge !== undefined) return;
  const attached = result.attachments.reduce((sum, { bytes }) => sum + bytes.length, 0);
  const size = attached + Buffer.byteLength(JSON.stringify(result.json));
  if (size > maxBytes) result.tooLarge = `${sizeInWords(size)}, where ${sizeInWords(maxBytes)} is the limit`;
}
