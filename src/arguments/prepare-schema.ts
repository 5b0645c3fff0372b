import { ConfigError } from '../config/config-error.js';
import type { Json, JsonObject } from '../contract/json.js';
import { findEndlessRef } from './schema-refs.js';
import {
  isObject,
  SCHEMA_KEYWORDS,
  SCHEMA_LIST_KEYWORDS,
  SCHEMA_MAP_KEYWORDS,
  type Schema,
} from './schema-positions.js';

export type Dialect = '2020-12' | '2019-09' | 'draft-07';

/** A schema as the validator compiles it. */
export interface PreparedSchema {
  schema: JsonObject;
  /** Drafts to read it by: the first whose rules for schemas it keeps. */
  dialects: Dialect[];
  /** Regular expressions in it, which may never end on some texts. */
  patterns: string[];
}

/** Nesting of a schema as JSON. Real tool schemas stay under 30; Ajv's generated code overflows the stack far above. */
const MAX_SCHEMA_DEPTH = 200;
/** Values in a schema. The largest real tool schemas (generated from OpenAPI) have a few thousand. */
const MAX_SCHEMA_VALUES = 50_000;

/**
 * Checks that a schema is finite JSON and reads other dialects' habits into standard JSON Schema: OpenAPI 3.0 `nullable`,
 * draft 4 `id` and boolean `exclusiveMinimum`. The result is a copy without `$schema`.
 *
 * @throws ConfigError naming the place: no JSON, a cycle of JavaScript objects, too deep, too large, or a `$ref` that
 * leads back to itself. What only a compiler sees (unknown types, dangling references) is left to it.
 */
export function prepareSchema(schema: unknown, path: string): PreparedSchema {
  const reader = new SchemaReader(path);
  const root = reader.json(schema, [], 0);
  if (!isObject(root)) throw new ConfigError(path, 'the schema must be an object');
  const patterns = new Set<string>();
  const prepared = standard(root, patterns) as JsonObject;
  const dialects = dialectsOf(root['$schema']);
  delete prepared['$schema'];
  const endless = findEndlessRef(prepared);
  if (endless !== undefined) {
    throw new ConfigError(path, `the reference ${JSON.stringify(endless)} leads back to itself and never ends`);
  }
  return { schema: prepared, dialects, patterns: [...patterns] };
}

function dialectsOf(declared: Json | undefined): Dialect[] {
  const uri = typeof declared === 'string' ? declared : '';
  if (uri.includes('2020-12')) return ['2020-12'];
  if (uri.includes('2019-09')) return ['2019-09'];
  if (/draft-0[3-7]/.test(uri)) return ['draft-07'];
  // Many tools declare nothing and still write draft 7 (`items` as a list).
  return ['2020-12', 'draft-07'];
}

/** Copies a value as JSON, counting and measuring it. */
class SchemaReader {
  private readonly path: string;
  private readonly open = new Set<object>();
  private values = 0;

  constructor(path: string) {
    this.path = path;
  }

  json(value: unknown, keys: string[], depth: number): Json {
    if (depth > MAX_SCHEMA_DEPTH) this.refuse(keys, `the schema is nested more than ${MAX_SCHEMA_DEPTH} levels deep`);
    if (++this.values > MAX_SCHEMA_VALUES) this.refuse([], `the schema has more than ${MAX_SCHEMA_VALUES} values`);
    if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
    if (typeof value === 'number' && Number.isFinite(value)) return value;
    if (typeof value !== 'object') this.refuse(keys, `a schema is plain JSON, but this is a ${typeof value}`);
    if (this.open.has(value)) this.refuse(keys, 'the schema contains itself (a cycle of objects); use $ref instead');
    this.open.add(value);
    const copy = Array.isArray(value)
      ? value.map((item, index) => this.json(item, [...keys, String(index)], depth + 1))
      : this.object(value, keys, depth);
    this.open.delete(value);
    return copy;
  }

  private object(value: object, keys: string[], depth: number): JsonObject {
    const prototype: unknown = Object.getPrototypeOf(value);
    if (prototype !== null && Object.getPrototypeOf(prototype) !== null) {
      this.refuse(keys, `a schema is plain JSON, but this is a ${value.constructor?.name ?? 'class instance'}`);
    }
    const copy: JsonObject = {};
    for (const [key, item] of Object.entries(value)) {
      if (item === undefined) continue;
      const json = this.json(item, [...keys, key], depth + 1);
      // Not an assignment, which would set the prototype for a property named __proto__.
      Object.defineProperty(copy, key, { value: json, enumerable: true, writable: true, configurable: true });
    }
    return copy;
  }

  private refuse(keys: string[], problem: string): never {
    const shownKeys = keys.length > 12 ? [...keys.slice(0, 12), '…'] : keys;
    throw new ConfigError([this.path, ...shownKeys].join('.'), problem);
  }
}

/** Rewrites one schema and those in it to standard keywords, and collects patterns. */
function standard(schema: Schema, patterns: Set<string>): Schema {
  if (!isObject(schema)) return schema;
  const result: JsonObject = {};
  for (const [keyword, value] of Object.entries(schema)) {
    Object.defineProperty(result, keyword, {
      value: standardValue(keyword, value, patterns),
      enumerable: true,
      writable: true,
      configurable: true,
    });
  }
  if (typeof result['pattern'] === 'string') patterns.add(result['pattern']);
  if (isObject(result['patternProperties']))
    for (const key of Object.keys(result['patternProperties'])) patterns.add(key);
  // Draft 4's name of `$id`; Ajv refuses it. `$async` would make Ajv answer with a promise.
  if (typeof result['id'] === 'string') delete result['id'];
  delete result['$async'];
  exclusiveBound(result, 'exclusiveMinimum', 'minimum');
  exclusiveBound(result, 'exclusiveMaximum', 'maximum');
  return nullable(result);
}

function standardValue(keyword: string, value: Json, patterns: Set<string>): Json {
  const inner = (item: Json): Json => (isObject(item) ? standard(item, patterns) : item);
  if (SCHEMA_LIST_KEYWORDS.includes(keyword) && Array.isArray(value)) return value.map(inner);
  if (SCHEMA_KEYWORDS.includes(keyword)) return inner(value);
  if (SCHEMA_MAP_KEYWORDS.includes(keyword) && isObject(value)) {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, inner(item)]));
  }
  return value;
}

/** Draft 4: `{"minimum": 0, "exclusiveMinimum": true}`. */
function exclusiveBound(schema: JsonObject, exclusive: string, inclusive: string): void {
  if (typeof schema[exclusive] !== 'boolean') return;
  const bound = schema[inclusive];
  if (schema[exclusive] && typeof bound === 'number') {
    schema[exclusive] = bound;
    delete schema[inclusive];
  } else {
    delete schema[exclusive];
  }
}

/** OpenAPI 3.0: `nullable: true` beside a type, an enum, or a reference. */
function nullable(schema: JsonObject): JsonObject {
  if (typeof schema['nullable'] !== 'boolean') return schema;
  const { nullable: isNullable, ...rest } = schema;
  if (!isNullable) return rest;
  const { type } = rest;
  if (type === undefined && !('$ref' in rest || 'allOf' in rest || 'anyOf' in rest || 'oneOf' in rest)) {
    return withNullInEnum(rest);
  }
  if (type !== undefined && !('allOf' in rest || 'anyOf' in rest || 'oneOf' in rest || 'const' in rest)) {
    const types = Array.isArray(type) ? type : [type];
    return withNullInEnum({ ...rest, type: types.includes('null') ? types : [...types, 'null'] });
  }
  const { $defs, definitions, ...form } = rest;
  return {
    anyOf: [form, { type: 'null' }],
    ...($defs === undefined ? {} : { $defs }),
    ...(definitions === undefined ? {} : { definitions }),
  };
}

function withNullInEnum(schema: JsonObject): JsonObject {
  const values = schema['enum'];
  if (!Array.isArray(values) || values.includes(null)) return schema;
  return { ...schema, enum: [...values, null] };
}
