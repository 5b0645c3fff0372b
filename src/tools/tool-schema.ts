import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec';
import type { Violation } from '../contract/failure.js';
import type { Json, JsonObject } from '../contract/json.js';
import { ConfigError } from '../config/config-error.js';
import { at, shown } from '../config/check-options.js';
import type { Tool } from './tool.js';

type StandardSchema = StandardSchemaV1 & Partial<StandardJSONSchemaV1>;

/** A schema as the rest of perdure uses it: JSON to validate by, and the library's own check, where there is one. */
export interface ResolvedSchema {
  json: JsonObject;
  /** Refinements and transforms of the schema library; absent for a plain JSON Schema. */
  standard?: StandardSchemaV1;
}

/**
 * The draft that schema libraries are asked for: the newest that both they and ajv know. A plain JSON Schema keeps its
 * own `$schema`.
 */
const target = 'draft-2020-12';

/**
 * Reads what a tool gave as `input` or `output`. For `input` the JSON Schema is of what the schema takes (so transforms
 * are fine), for `output` of what it makes. Throws `ConfigError` that says what to do where there is no JSON Schema.
 */
export function resolveSchema(path: string, schema: unknown, side: 'input' | 'output'): ResolvedSchema {
  const standard = asStandard(schema);
  const json = standard ? jsonOfStandard(path, standard, side) : jsonCopy(path, schema);
  if (typeof json !== 'object' || json === null || Array.isArray(json)) {
    throw new ConfigError(path, `expected a zod schema or a JSON Schema object, got ${shown(schema)}`);
  }
  // A root without `type` may be a union or a reference: what it admits is the validator's matter.
  if (side === 'input' && json['type'] !== undefined && json['type'] !== 'object') {
    throw new ConfigError(
      path,
      `expected an object schema, because models send arguments by name, got one of type ${JSON.stringify(json['type'])}`,
    );
  }
  return standard ? { json, standard } : { json };
}

function asStandard(schema: unknown): StandardSchema | undefined {
  // ArkType's schemas are functions.
  const isObject = (typeof schema === 'object' && schema !== null) || typeof schema === 'function';
  return isObject && '~standard' in schema ? (schema as StandardSchema) : undefined;
}

function jsonOfStandard(path: string, schema: StandardSchema, side: 'input' | 'output'): Json {
  const { vendor, jsonSchema } = schema['~standard'];
  if (!jsonSchema) {
    const remedy =
      vendor === 'zod'
        ? 'use zod 4.2 or later'
        : `use a version of ${vendor} that implements Standard JSON Schema, or give a plain JSON Schema`;
    throw new ConfigError(path, `this ${vendor} schema gives no JSON Schema to show to models; ${remedy}`);
  }
  let written: unknown;
  try {
    written = jsonSchema[side]({ target });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const remedy =
      side === 'input'
        ? 'take what JSON can hold and convert it, for example z.iso.datetime().transform((text) => new Date(text))'
        : 'describe the result as JSON, for example z.iso.datetime() for a date, or leave `output` out';
    throw new ConfigError(path, `this schema cannot be written as JSON Schema (${why}); ${remedy}`, { cause: error });
  }
  return jsonCopy(path, written);
}

/** Deepest nesting of a schema or example: far above any that a person writes, far below a stack's end. */
const deepest = 200;

/** A copy that is certainly JSON. Throws `ConfigError` for cycles, functions and other things that JSON cannot hold. */
export function jsonCopy(path: string, value: unknown, ancestors: readonly unknown[] = []): Json {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  if (typeof value !== 'object') throw new ConfigError(path, `expected JSON, got ${shown(value)}`);
  if (ancestors.includes(value)) throw new ConfigError(path, 'expected JSON, got an object that contains itself');
  if (ancestors.length >= deepest) throw new ConfigError(path, `nested more than ${String(deepest)} levels deep`);
  const inside = [...ancestors, value];
  if (Array.isArray(value)) return value.map((item, index) => jsonCopy(at(path, index), item, inside));
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) {
    throw new ConfigError(path, 'expected JSON, got an instance of a class');
  }
  const copy: JsonObject = {};
  for (const [key, item] of Object.entries(value)) {
    if (item === undefined) continue;
    const copied = jsonCopy(at(path, key), item, inside);
    // A plain assignment to `__proto__` would set the prototype.
    Object.defineProperty(copy, key, { value: copied, enumerable: true, writable: true, configurable: true });
  }
  return copy;
}

/**
 * Makes `Tool.parse` of a schema: the library's refinements and transforms over arguments that fit the JSON Schema. Never
 * throws: a check that itself fails is a violation of the root.
 */
export function parserOf(schema: ResolvedSchema): Tool['parse'] {
  const { standard, json } = schema;
  if (!standard) return (args) => Promise.resolve({ ok: true, value: args });
  return async (args) => {
    try {
      const result = await standard['~standard'].validate(args);
      if (!result.issues) return { ok: true, value: result.value };
      return { ok: false, violations: result.issues.map((issue) => violationOf(issue, json)) };
    } catch (error) {
      const why = error instanceof Error && error.message !== '' ? error.message : 'the check itself failed';
      const problem = `these arguments could not be checked: ${why}`;
      return { ok: false, violations: [{ path: '', problem, expected: 'arguments that the tool can read' }] };
    }
  };
}

export function violationOf(issue: StandardSchemaV1.Issue, schema: JsonObject): Violation {
  const keys = (issue.path ?? []).map((segment) => String(typeof segment === 'object' ? segment.key : segment));
  const part = partAt(schema, keys);
  const example = part && Array.isArray(part['examples']) ? part['examples'][0] : undefined;
  return {
    path: keys.map((key) => `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`).join(''),
    problem: issue.message,
    expected: (part && describePart(part)) ?? issue.message,
    ...(example === undefined ? {} : { example }),
  };
}

/** The subschema that properties and items lead to; none where the way goes through a union or a reference. */
function partAt(schema: JsonObject, keys: string[]): JsonObject | undefined {
  let part: Json | undefined = schema;
  for (const key of keys) {
    if (typeof part !== 'object' || part === null || Array.isArray(part)) return undefined;
    const properties: Json | undefined = part['properties'];
    const isKnown: boolean = typeof properties === 'object' && properties !== null && Object.hasOwn(properties, key);
    part = isKnown ? (properties as JsonObject)[key] : part['items'];
  }
  return typeof part === 'object' && part !== null && !Array.isArray(part) ? part : undefined;
}

function describePart(part: JsonObject): string | undefined {
  if (typeof part['description'] === 'string') return part['description'];
  if (Array.isArray(part['enum'])) return `one of ${part['enum'].map((item) => JSON.stringify(item)).join(', ')}`;
  const type = typeof part['type'] === 'string' ? part['type'] : undefined;
  return typeof part['format'] === 'string' ? `${type ?? 'a value'} in the format ${part['format']}` : type;
}
