import type { Json, JsonObject } from '../contract/json.js';
import type { Attachment } from './binary.js';
import { withoutBase64, withoutControls } from './clean-text.js';
import { cutToBytes, inWords } from '../policy/cut-text.js';
import { bytesPerToken } from './tokens.js';

/** What of a result is left out of a message, and where the whole is. Snake case, because models read it. */
export interface Truncated {
  /** Characters shown and in all; of a result that is no text, of its JSON. */
  shown: number;
  total: number;
  artifact_id: string;
}

export interface ShapedResult {
  json: Json;
  truncated?: Truncated;
  /** Files that stood in the text as base64, in the order of their placeholders. */
  attachments: Attachment[];
}

/** Tokens that a result may take in a conversation: 16,000 characters, as most coding agents allow a tool. */
export const defaultResultTokens = 4000;

/**
 * The result as a model is shown it: no control characters, no base64, and not above `maxTokens` (bytes / 4; the notices
 * of what is missing come on top). A long text keeps head and tail; in other JSON, long lists and texts do; what is still
 * too long is cut as JSON text. `artifactId` names the whole for `read_artifact`.
 */
export function shapeForModel(json: Json, options: { maxTokens?: number; artifactId: string }): ShapedResult {
  const maxBytes = (options.maxTokens ?? defaultResultTokens) * bytesPerToken;
  const attachments: Attachment[] = [];
  const clean = cleanJson(json, attachments);
  const whole = typeof clean === 'string' ? clean : JSON.stringify(clean);
  if (Buffer.byteLength(whole) <= maxBytes) return { json: clean, attachments };
  const whereWhole = `; read_artifact shows the whole: artifact_id ${options.artifactId}`;
  const fitting = typeof clean === 'string' ? undefined : shrinkToFit(clean, maxBytes);
  if (fitting !== undefined) {
    const shown = Math.min(JSON.stringify(fitting).length, whole.length);
    return { json: fitting, attachments, truncated: { shown, total: whole.length, artifact_id: options.artifactId } };
  }
  const cut = cutToBytes(whole, maxBytes, whereWhole);
  const { shown, total } = cut;
  return { json: cut.text, attachments, truncated: { shown, total, artifact_id: options.artifactId } };
}

function cleanJson(json: Json, attachments: Attachment[]): Json {
  if (typeof json === 'string') return withoutBase64(withoutControls(json), attachments);
  if (typeof json !== 'object' || json === null) return json;
  if (Array.isArray(json)) return json.map((item) => cleanJson(item, attachments));
  const clean: JsonObject = {};
  for (const [key, value] of Object.entries(json)) {
    let name = withoutControls(key);
    while (name !== key && Object.hasOwn(clean, name)) name += '_';
    put(clean, name, cleanJson(value, attachments));
  }
  return clean;
}

/** Ever fewer items and shorter texts until the JSON fits; `undefined` where even the smallest does not. */
function shrinkToFit(json: Json, maxBytes: number): Json | undefined {
  // From a text of the whole size down to some 50 characters, in steps of a quarter.
  for (let scale = 1; scale > 0.003; scale *= 0.75) {
    const limits = { items: Math.ceil((maxBytes / 16) * scale), bytes: Math.ceil(maxBytes * scale) };
    const shrunk = shrink(json, limits);
    if (Buffer.byteLength(JSON.stringify(shrunk)) <= maxBytes) return shrunk;
  }
  return undefined;
}

function shrink(json: Json, limits: { items: number; bytes: number }): Json {
  if (typeof json === 'string') return cutToBytes(json, limits.bytes).text;
  if (typeof json !== 'object' || json === null) return json;
  if (Array.isArray(json)) {
    const { head, tail, omitted } = endsOf(json, limits.items);
    const notice = omitted === 0 ? [] : [`… (${inWords(omitted)} items omitted) …`];
    return [...head.map((item) => shrink(item, limits)), ...notice, ...tail.map((item) => shrink(item, limits))];
  }
  const shrunk: JsonObject = {};
  const { head, tail, omitted } = endsOf(Object.entries(json), limits.items);
  for (const [key, value] of head) put(shrunk, key, shrink(value, limits));
  if (omitted > 0) put(shrunk, '…', `(${inWords(omitted)} fields omitted)`);
  for (const [key, value] of tail) put(shrunk, key, shrink(value, limits));
  return shrunk;
}

function endsOf<T>(items: T[], most: number): { head: T[]; tail: T[]; omitted: number } {
  if (items.length <= most) return { head: items, tail: [], omitted: 0 };
  const headLength = Math.ceil(most / 2);
  const tailLength = most - headLength;
  const tail = tailLength === 0 ? [] : items.slice(-tailLength);
  return { head: items.slice(0, headLength), tail, omitted: items.length - most };
}

function put(target: JsonObject, key: string, value: Json): void {
  // A plain assignment to `__proto__` would set the prototype.
  Object.defineProperty(target, key, { value, enumerable: true, writable: true, configurable: true });
}
