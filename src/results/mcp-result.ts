import { ToolError } from '../tools/tool-error.js';
import { bytesOfBase64, placeholderOf } from './binary.js';
import type { NormalizedResult } from './normalized-result.js';
import type { JsonWalk } from './to-json.js';

type Fields = Record<string, unknown>;

const envelopeKeys = ['content', 'structuredContent', 'isError', '_meta'];

/**
 * Whether a value is clearly the result of an MCP `tools/call` (specification 2025-06-18): nothing but the envelope's
 * keys, and content items that all have a `type`. `{ content: [] }` alone may be anybody's.
 */
export function looksLikeMcp(value: unknown): boolean {
  try {
    if (!isFields(value) || !Array.isArray(value['content'])) return false;
    if (!Object.keys(value).every((key) => envelopeKeys.includes(key))) return false;
    const { content } = value;
    const marked = content.length > 0 || 'structuredContent' in value || typeof value['isError'] === 'boolean';
    return marked && content.every((item) => isFields(item) && typeof item['type'] === 'string');
  } catch {
    return false;
  }
}

/**
 * Reads an MCP result: `structuredContent` is the data where there is any, else the content's text with placeholders for
 * all that is no text. `isError` is a failure that the server worded for the model; its data is checked by nobody.
 */
export function readMcp(value: unknown, walk: JsonWalk, result: NormalizedResult): void {
  try {
    const envelope = isFields(value) ? value : {};
    const content = Array.isArray(envelope['content']) ? (envelope['content'] as unknown[]) : [];
    const text = content.map((item) => describeItem(item, walk)).join('\n');
    const structured = envelope['structuredContent'];
    if (structured === undefined) {
      if (content.length > 0) walk.toJson(text, (json) => (result.json = json));
    } else {
      walk.toJson(structured, (json) => (result.json = json));
      noteOtherWords(text, result, walk);
    }
    if (envelope['isError'] === true) result.failure = { thrown: errorOf(text, result) };
  } catch {
    walk.note('the result could not be read as an MCP result');
    walk.toJson(value, (json) => (result.json = json));
  }
}

function describeItem(item: unknown, walk: JsonWalk): string {
  if (!isFields(item)) return '(unreadable content)';
  switch (item['type']) {
    case 'text':
      return typeof item['text'] === 'string' ? item['text'] : '';
    case 'image':
    case 'audio':
      return attach(item['data'], item['mimeType'], walk);
    case 'resource': {
      const resource = isFields(item['resource']) ? item['resource'] : {};
      if (typeof resource['text'] === 'string') return resource['text'];
      return `${textOr(resource['uri'], 'resource')} ${attach(resource['blob'], resource['mimeType'], walk)}`;
    }
    case 'resource_link':
      return [textOr(item['name'], 'link'), `(${textOr(item['uri'], 'no address')})`, textOr(item['description'], '')]
        .join(' ')
        .trim();
    default:
      return `(content of the type ${textOr(item['type'], 'unknown').slice(0, 50)}, which cannot be shown)`;
  }
}

function attach(data: unknown, mimeType: unknown, walk: JsonWalk): string {
  const mediaType = textOr(mimeType, 'application/octet-stream');
  const bytes = typeof data === 'string' ? bytesOfBase64(data) : undefined;
  if (!bytes) return `(${mediaType}, unreadable)`;
  const attachment = { mediaType, bytes };
  walk.attachments.push(attachment);
  return placeholderOf(attachment);
}

/** Servers repeat structured data as text for old clients; only words that say something else are worth keeping. */
function noteOtherWords(text: string, result: NormalizedResult, walk: JsonWalk): void {
  const words = text.trim();
  if (words === '') return;
  try {
    JSON.parse(words);
  } catch {
    if (JSON.stringify(result.json).includes(JSON.stringify(words).slice(1, -1))) return;
    walk.note(`beside the data the tool said: ${words.length > 2000 ? `${words.slice(0, 2000)}…` : words}`);
  }
}

function errorOf(text: string, result: NormalizedResult): ToolError {
  const words = text.trim() !== '' ? text : result.json === null ? '' : JSON.stringify(result.json);
  return new ToolError({
    class: 'tool_error',
    publicMessage: words === '' ? 'The tool reported an error without saying which.' : words,
  });
}

function textOr(value: unknown, fallback: string): string {
  return typeof value === 'string' && value !== '' ? value : fallback;
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
