import type { Json, JsonObject } from '../contract/json.js';
import { exampleOfPattern } from './pattern-example.js';
import { followRefs } from './schema-refs.js';
import { isObject, type Schema } from './schema-positions.js';

/** Deeper than any example that a person would read. */
const MAX_DEPTH = 6;

const FORMAT_EXAMPLES: Record<string, string> = {
  date: '2026-01-31',
  'date-time': '2026-01-31T09:30:00Z',
  time: '09:30:00Z',
  duration: 'PT15M',
  email: 'ada@example.com',
  uri: 'https://example.com/',
  url: 'https://example.com/',
  'uri-reference': '/path',
  uuid: '123e4567-e89b-12d3-a456-426614174000',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  hostname: 'example.com',
  regex: '^a+$',
  'json-pointer': '/a/0',
};

/**
 * A value that the schema accepts, made from its own examples, default, const, enum, format, pattern, bounds and required
 * properties. `undefined` where none can be made (a pattern with look-around, endless recursion, contradictions).
 */
export function exampleOf(root: Schema, schema: Schema, depth = 0): Json | undefined {
  const target = followRefs(root, schema);
  if (target === true) return 'value';
  if (!isObject(target) || depth > MAX_DEPTH) return undefined;
  const given = givenExample(target);
  if (given !== undefined) return given;
  const { allOf } = target;
  if (Array.isArray(allOf)) return exampleOf(root, merged(root, target, allOf as Schema[]), depth + 1);
  const union = target['anyOf'] ?? target['oneOf'];
  if (Array.isArray(union)) return exampleOfUnion(root, target, union as Schema[], depth);
  const type = [target['type']].flat().find((name) => name !== 'null');
  switch (type ?? impliedType(target)) {
    case 'string':
      return exampleText(target);
    case 'integer':
    case 'number':
      return exampleNumber(target, type === 'integer');
    case 'boolean':
      return true;
    case 'array':
      return exampleList(root, target, depth);
    case 'object':
      return exampleObject(root, target, depth);
    default:
      return target['type'] === 'null' ? null : undefined;
  }
}

function givenExample(schema: JsonObject): Json | undefined {
  if (Array.isArray(schema['examples']) && schema['examples'].length > 0) return schema['examples'][0];
  if (schema['example'] !== undefined) return schema['example'];
  if (schema['const'] !== undefined) return schema['const'];
  if (schema['default'] !== undefined && schema['default'] !== null) return schema['default'];
  return Array.isArray(schema['enum']) ? schema['enum'][0] : undefined;
}

function merged(root: Schema, schema: JsonObject, parts: Schema[]): JsonObject {
  const { allOf: _allOf, ...own } = schema;
  let all: JsonObject = own;
  for (const part of parts) {
    const target = followRefs(root, part);
    if (!isObject(target)) continue;
    all = {
      ...target,
      ...all,
      properties: { ...(target['properties'] as JsonObject), ...(all['properties'] as JsonObject) },
      required: [...((target['required'] as Json[]) ?? []), ...((all['required'] as Json[]) ?? [])],
    };
  }
  if (Object.keys(all['properties'] as JsonObject).length === 0) delete all['properties'];
  if ((all['required'] as Json[]).length === 0) delete all['required'];
  return all;
}

function exampleOfUnion(root: Schema, schema: JsonObject, union: Schema[], depth: number): Json | undefined {
  const { anyOf: _anyOf, oneOf: _oneOf, ...shared } = schema;
  for (const branch of union) {
    if (isObject(branch) && branch['type'] === 'null') continue;
    const example = exampleOf(root, merged(root, shared, [branch]), depth + 1);
    if (example !== undefined) return example;
  }
  return undefined;
}

function impliedType(schema: JsonObject): string | undefined {
  if ('properties' in schema || 'required' in schema) return 'object';
  if ('items' in schema) return 'array';
  return 'pattern' in schema || 'format' in schema || 'minLength' in schema ? 'string' : undefined;
}

function exampleText(schema: JsonObject): string | undefined {
  const { format, pattern, minLength, maxLength } = schema;
  const least = typeof minLength === 'number' ? minLength : 0;
  const most = typeof maxLength === 'number' ? maxLength : Infinity;
  const fits = (text: string | undefined): string | undefined =>
    text !== undefined && text.length >= least && text.length <= most ? text : undefined;
  const formatted =
    typeof format === 'string' && Object.hasOwn(FORMAT_EXAMPLES, format) ? FORMAT_EXAMPLES[format] : undefined;
  if (formatted !== undefined) {
    return typeof pattern === 'string' && !agrees(pattern, formatted) ? undefined : fits(formatted);
  }
  if (typeof pattern === 'string') return fits(exampleOfPattern(pattern));
  if (least > 200) return undefined;
  return 'text'.slice(0, most).padEnd(least, 'x');
}

/** Beside a format, a long expression was generated from it; a short one narrows it. */
const GENERATED_PATTERN_LENGTH = 60;

function agrees(pattern: string, text: string): boolean {
  if (pattern.length > GENERATED_PATTERN_LENGTH) return true;
  // Repeated groups may backtrack without end, and this is the main thread.
  if (/\)[*+{]/.test(pattern)) return false;
  try {
    return new RegExp(pattern).test(text);
  } catch {
    return false;
  }
}

function exampleNumber(schema: JsonObject, whole: boolean): number | undefined {
  const { minimum, maximum, exclusiveMinimum: above, exclusiveMaximum: below, multipleOf } = schema;
  const step = typeof multipleOf === 'number' && multipleOf > 0 ? multipleOf : 1;
  const fits = (value: number): boolean =>
    !(typeof minimum === 'number' && value < minimum) &&
    !(typeof maximum === 'number' && value > maximum) &&
    !(typeof above === 'number' && value <= above) &&
    !(typeof below === 'number' && value >= below) &&
    (!whole || Number.isSafeInteger(value));
  const bounds = [minimum, above, maximum, below].filter((bound) => typeof bound === 'number');
  const nearBounds = bounds.flatMap((bound) => {
    const multiple = Math.ceil(bound / step) * step;
    return [multiple, multiple + step, multiple - step, multiple - 2 * step];
  });
  const middle = bounds.length > 1 && !whole ? [bounds.reduce((a, b) => a + b) / bounds.length] : [];
  const plain = step === 1 ? [1, 10, ...middle] : [step];
  return [...plain, ...nearBounds, 0].find(fits);
}

function exampleList(root: Schema, schema: JsonObject, depth: number): Json[] | undefined {
  const prefix = schema['prefixItems'] ?? (Array.isArray(schema['items']) ? schema['items'] : undefined);
  if (Array.isArray(prefix)) {
    const items = prefix.map((item) => exampleOf(root, item as Schema, depth + 1));
    return items.every((item) => item !== undefined) ? items : undefined;
  }
  const least = typeof schema['minItems'] === 'number' ? schema['minItems'] : 1;
  if (least === 0) return [];
  const item = exampleOf(root, (schema['items'] as Schema | undefined) ?? true, depth + 1);
  if (item === undefined) return schema['minItems'] === undefined ? [] : undefined;
  if (least > 1 && schema['uniqueItems'] === true) return undefined;
  return least > 10 ? undefined : Array.from({ length: least }, () => item);
}

function exampleObject(root: Schema, schema: JsonObject, depth: number): JsonObject | undefined {
  const properties = isObject(schema['properties']) ? schema['properties'] : {};
  const required = Array.isArray(schema['required'])
    ? schema['required'].filter((name) => typeof name === 'string')
    : [];
  const example: JsonObject = {};
  for (const name of required) {
    const property = Object.hasOwn(properties, name) ? (properties[name] as Schema) : true;
    const value = exampleOf(root, property, depth + 1);
    if (value === undefined) return undefined;
    example[name] = value;
  }
  return example;
}
