import type { Json, JsonObject } from '../contract/json.js';
import { ConfigError } from '../config/config-error.js';
import { didYouMean, shown } from '../config/check-options.js';
import { ToolError } from './tool-error.js';

/** A URL with places for arguments: `{name}` for one path segment or query value, `{+name}` for a path of several. */
export interface UrlTemplate {
  /** `https://api.example.com`, for messages: a path or query may hold secrets. */
  origin: string;
  /** Names of the arguments that the URL takes. */
  names: string[];
  fill(input: Record<string, unknown>): URL;
}

const place = /\{(\+?)([^{}]*)\}/g;

/**
 * Reads a template and checks its places against the input schema. Places may stand in path and query only: a model must
 * never choose the host. Throws `ConfigError`.
 */
export function parseUrlTemplate(path: string, template: string, schema: JsonObject): UrlTemplate {
  const [, start = '', rest = ''] = /^([^/?#]*\/\/[^/?#]*)?(.*)$/s.exec(template) ?? [];
  if (start.includes('{')) {
    throw new ConfigError(path, `the host must be fixed, got ${shown(start)}; places may stand in path and query only`);
  }
  const known = propertyNames(schema);
  const names = [...rest.matchAll(place)].map(([whole, , name = '']) => {
    if (!/^[A-Za-z_$][\w$.-]*$/.test(name)) throw new ConfigError(path, `${whole} is no place for an argument`);
    if (known && !known.has(name)) {
      throw new ConfigError(path, `{${name}} is no property of the input schema${didYouMean(name, known)}`);
    }
    return name;
  });
  const literal = rest.replace(place, '');
  if (/[{}]/.test(literal)) throw new ConfigError(path, `unbalanced braces in ${shown(template)}`);
  const { origin } = checkUrl(path, start + rest.replace(place, 'x'), template);
  const queryAt = rest.includes('?') ? rest.indexOf('?') : rest.length;
  return {
    origin,
    names,
    fill: (input) =>
      new URL(
        start +
          rest.replace(place, (_whole, plus: string, name: string, offset: number) =>
            encodeArgument(name, input[name], { spans: plus === '+', inQuery: offset > queryAt }),
          ),
      ),
  };
}

function checkUrl(path: string, filled: string, template: string): URL {
  let url: URL;
  try {
    url = new URL(filled);
  } catch {
    throw new ConfigError(
      path,
      `expected a URL such as 'https://api.example.com/orders/{orderId}', got ${shown(template)}`,
    );
  }
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    throw new ConfigError(path, `expected an http or https URL, got ${shown(template)}`);
  }
  if (url.username !== '' || url.password !== '') {
    throw new ConfigError(path, 'a URL must not hold a password; send it with `headers`');
  }
  return url;
}

/** Percent-encodes everything that could change the URL's shape; refuses what encoding cannot make harmless. */
function encodeArgument(name: string, value: unknown, where: { spans: boolean; inQuery: boolean }): string {
  const text = textOfArgument(name, value);
  if (where.inQuery) return encodeURIComponent(text);
  if (text === '') throw refused(name, 'is empty, but it is part of the address');
  if (!where.spans) return encodeSegment(name, text);
  return text
    .split('/')
    .map((segment) => (segment === '' ? '' : encodeSegment(name, segment)))
    .join('/');
}

function encodeSegment(name: string, segment: string): string {
  // URLs resolve these even when they are percent-encoded: `orders/..` would be the parent of `orders`.
  if (segment === '.' || segment === '..') throw refused(name, "must not be '.' or '..'");
  return encodeURIComponent(segment);
}

function textOfArgument(name: string, value: unknown): string {
  if (typeof value === 'string') {
    if (!value.isWellFormed()) throw refused(name, 'holds half a character');
    return value;
  }
  if (typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint') return String(value);
  if (value instanceof Date && !Number.isNaN(value.getTime())) return value.toISOString();
  if (value === undefined || value === null) throw refused(name, 'is missing, but it is part of the address');
  throw refused(name, 'must be a text or a number, because it is part of the address');
}

function refused(name: string, why: string): ToolError {
  return new ToolError({
    class: 'validation_error',
    effect: 'none',
    publicMessage: `The argument "${name}" ${why}.`,
    hint: `Call again with "${name}" set to the identifier itself.`,
  });
}

/** Property names anywhere at the schema's root (unions, local references); `undefined` where any name may be sent. */
export function propertyNames(schema: JsonObject): Set<string> | undefined {
  const names = new Set<string>();
  let open = false;
  const seen = new Set<unknown>();
  const visit = (part: Json | undefined) => {
    if (typeof part !== 'object' || part === null || Array.isArray(part) || seen.has(part)) return;
    seen.add(part);
    const { properties, additionalProperties, $ref } = part;
    if (isObject(properties)) Object.keys(properties).forEach((key) => names.add(key));
    if (additionalProperties === true || isObject(additionalProperties)) open = true;
    for (const key of ['anyOf', 'oneOf', 'allOf']) if (Array.isArray(part[key])) part[key].forEach(visit);
    if (typeof $ref === 'string') visit(resolveRef(schema, $ref));
  };
  visit(schema);
  return open ? undefined : names;
}

function resolveRef(schema: JsonObject, ref: string): Json | undefined {
  if (!ref.startsWith('#')) return undefined;
  let part: Json | undefined = schema;
  for (const key of ref.slice(1).split('/').slice(1)) {
    part = isObject(part) ? part[key.replaceAll('~1', '/').replaceAll('~0', '~')] : undefined;
  }
  return part;
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
