import type { Json, JsonObject } from '../contract/json.js';

/** A JSON Schema: an object, or `true` (anything) or `false` (nothing). */
export type Schema = JsonObject | boolean;

/** Keywords whose value is one schema. */
export const SCHEMA_KEYWORDS: readonly string[] = [
  'items',
  'additionalItems',
  'unevaluatedItems',
  'contains',
  'additionalProperties',
  'unevaluatedProperties',
  'propertyNames',
  'not',
  'if',
  'then',
  'else',
  'contentSchema',
];

/** Keywords whose value is a list of schemas. `items` is one in the drafts before 2020-12. */
export const SCHEMA_LIST_KEYWORDS: readonly string[] = ['allOf', 'anyOf', 'oneOf', 'prefixItems', 'items'];

/** Keywords whose value is an object of schemas. */
export const SCHEMA_MAP_KEYWORDS: readonly string[] = [
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
  'dependencies',
];

/** Keywords whose schemas look at the same value as the schema that holds them. */
export const IN_PLACE_KEYWORDS: ReadonlySet<string> = new Set([
  'allOf',
  'anyOf',
  'oneOf',
  'not',
  'if',
  'then',
  'else',
  'dependentSchemas',
  'dependencies',
]);

/** The schemas directly inside a schema, each with the keyword (and key) under which it stands. */
export function* subschemas(schema: JsonObject): Generator<{ keys: string[]; schema: Schema }> {
  for (const [keyword, value] of Object.entries(schema)) {
    if (SCHEMA_KEYWORDS.includes(keyword) && isSchema(value)) yield { keys: [keyword], schema: value };
    if (SCHEMA_LIST_KEYWORDS.includes(keyword) && Array.isArray(value)) {
      for (const [index, item] of value.entries()) {
        if (isSchema(item)) yield { keys: [keyword, String(index)], schema: item };
      }
    }
    if (SCHEMA_MAP_KEYWORDS.includes(keyword) && isObject(value)) {
      for (const [key, item] of Object.entries(value)) if (isSchema(item)) yield { keys: [keyword, key], schema: item };
    }
  }
}

export function isSchema(value: Json | undefined): value is Schema {
  return typeof value === 'boolean' || isObject(value);
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
