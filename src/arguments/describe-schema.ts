import type { Json, JsonObject } from '../contract/json.js';
import { followRefs } from './schema-refs.js';
import { isObject, type Schema } from './schema-positions.js';

const MAX_CHOICES = 12;

const TYPE_WORDS: Record<string, string> = {
  string: 'text',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  null: 'null',
};

const FORMAT_WORDS: Record<string, string> = {
  date: 'a date (YYYY-MM-DD)',
  'date-time': 'a date and time with zone (YYYY-MM-DDThh:mm:ssZ)',
  time: 'a time with zone (hh:mm:ssZ)',
  duration: 'an ISO 8601 duration (such as P3D or PT15M)',
  email: 'an email address',
  uri: 'a URI with its scheme',
  url: 'a URL with its scheme',
  uuid: 'a UUID',
  ipv4: 'an IPv4 address',
  ipv6: 'an IPv6 address',
  hostname: 'a host name',
};

/** What a schema asks for, as a person would say it: `a whole number, 1 or more`. `root` resolves references. */
export function describeSchema(root: Schema, schema: Schema, depth = 0): string {
  const target = followRefs(root, schema);
  if (target === false) return 'nothing (leave it out)';
  if (!isObject(target)) return 'any value';
  if ('const' in target) return `exactly ${literal(target['const'])}`;
  if (Array.isArray(target['enum'])) return oneOf(target['enum']);
  const union = unionOf(target);
  if (union) return describeUnion(root, union, depth);
  if (Array.isArray(target['allOf']) && target['type'] === undefined && target['allOf'].length > 0) {
    return describeSchema(root, target['allOf'][0] as Schema, depth);
  }
  const types = [target['type'] ?? guessType(target)].flat().filter((type) => typeof type === 'string');
  if (types.length === 0) return 'any value';
  return joinOr(types.map((type) => describeType(root, target, type, depth)));
}

/** The alternatives of a union, where a schema is one. */
export function unionOf(schema: JsonObject): Schema[] | undefined {
  const union = schema['anyOf'] ?? schema['oneOf'];
  return Array.isArray(union) && union.length > 0 ? (union as Schema[]) : undefined;
}

/** One value out of a list: `one of "a", "b"`; long lists are cut. */
export function oneOf(values: Json[]): string {
  const shown = values.slice(0, MAX_CHOICES).map(literal);
  const more = values.length - shown.length;
  if (shown.length === 1 && more === 0) return `exactly ${shown[0]}`;
  return `one of ${shown.join(', ')}${more > 0 ? ` (and ${more} more)` : ''}`;
}

/** A JSON value in a sentence, cut. */
export function literal(value: Json): string {
  const text = JSON.stringify(value);
  return text.length <= 60 ? text : `${text.slice(0, 57).toWellFormed()}…`;
}

/** The type's word: `a whole number`. */
export function typeWords(type: string): string {
  return TYPE_WORDS[type] ?? type;
}

export function joinOr(words: string[]): string {
  const distinct = [...new Set(words)];
  return distinct.length < 2 ? (distinct[0] ?? '') : `${distinct.slice(0, -1).join(', ')} or ${distinct.at(-1)}`;
}

function describeUnion(root: Schema, union: Schema[], depth: number): string {
  if (depth > 2) return 'one of several forms';
  return joinOr(union.slice(0, MAX_CHOICES).map((branch) => describeSchema(root, branch, depth + 1)));
}

function guessType(schema: JsonObject): string | undefined {
  if ('properties' in schema || 'required' in schema) return 'object';
  if ('items' in schema || 'prefixItems' in schema) return 'array';
  if ('pattern' in schema || 'minLength' in schema || 'maxLength' in schema || 'format' in schema) return 'string';
  if ('minimum' in schema || 'maximum' in schema || 'multipleOf' in schema) return 'number';
  return undefined;
}

function describeType(root: Schema, schema: JsonObject, type: string, depth: number): string {
  switch (type) {
    case 'string':
      return describeText(schema);
    case 'integer':
    case 'number':
      return describeNumber(schema, type);
    case 'array':
      return describeList(root, schema, depth);
    case 'object':
      return describeObject(root, schema, depth);
    default:
      return typeWords(type);
  }
}

function describeText(schema: JsonObject): string {
  const { format, pattern } = schema;
  const length = range(schema['minLength'], schema['maxLength'], 'characters');
  // Generated schemas put a long expression beside a format that says the same in words.
  const known = typeof format === 'string' ? formatWords(format) : undefined;
  const matching = known === undefined && typeof pattern === 'string' ? `matching ${shortPattern(pattern)}` : '';
  return [known ?? 'text', length, matching].filter((word) => word !== '').join(', ');
}

/** A known format in words: `a date (YYYY-MM-DD)`. */
export function formatWords(format: string): string | undefined {
  return Object.hasOwn(FORMAT_WORDS, format) ? FORMAT_WORDS[format] : undefined;
}

/** A regular expression in a sentence, cut. */
export function shortPattern(pattern: string): string {
  return pattern.length <= 100 ? pattern : `${pattern.slice(0, 97).toWellFormed()}…`;
}

function describeNumber(schema: JsonObject, type: string): string {
  const { exclusiveMinimum: above, exclusiveMaximum: below, multipleOf } = schema;
  const words = [typeWords(type), range(schema['minimum'], schema['maximum'], '')];
  if (typeof above === 'number') words.push(`more than ${above}`);
  if (typeof below === 'number') words.push(`less than ${below}`);
  if (typeof multipleOf === 'number') words.push(`a multiple of ${multipleOf}`);
  return words.filter((word) => word !== '').join(', ');
}

function describeList(root: Schema, schema: JsonObject, depth: number): string {
  const { items } = schema;
  const of = isObject(items) && depth < 2 ? ` of ${describeSchema(root, items, depth + 1)}` : '';
  const size = range(schema['minItems'], schema['maxItems'], 'items');
  return `a list${of === ' of any value' ? '' : of}${size === '' ? '' : `, ${size}`}`;
}

function describeObject(root: Schema, schema: JsonObject, depth: number): string {
  const required = [schema['required']].flat().filter((name) => typeof name === 'string');
  if (required.length === 0 || depth > 2) return 'an object';
  const properties = isObject(schema['properties']) ? schema['properties'] : {};
  const fields = required.slice(0, MAX_CHOICES).map((name) => {
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
    // A fixed value tells the forms of a union apart.
    const fixed = isObject(property) && 'const' in property ? ` = ${literal(property['const'])}` : '';
    return `${name}${fixed}`;
  });
  return `an object with ${fields.join(', ')}`;
}

function range(from: Json | undefined, to: Json | undefined, unit: string): string {
  // Generated schemas bound whole numbers by what a double can hold; that says nothing to a reader.
  const [least, most] = [from, to].map((bound) =>
    Math.abs(Number(bound)) >= Number.MAX_SAFE_INTEGER ? undefined : bound,
  );
  const noun = unit === '' ? '' : ` ${unit}`;
  if (typeof least === 'number' && typeof most === 'number') {
    return least === most ? `exactly ${least}${noun}` : `${least} to ${most}${noun}`;
  }
  if (typeof least === 'number') return `${least}${noun} or more`;
  if (typeof most !== 'number') return '';
  return unit === '' ? `${most} or less` : `${most}${noun} or fewer`;
}
