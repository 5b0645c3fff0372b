import type { Json, JsonObject } from '../contract/json.js';
import { describeSchema } from './describe-schema.js';
import { pointerTo } from './json-pointer.js';
import { prepareSchema } from './prepare-schema.js';
import { isObject, type Schema, subschemas } from './schema-positions.js';
import { followRefs, refOf, resolveRef } from './schema-refs.js';

/** What providers take at the root beside `type: "object"`; the rest (unions, conditions, `$schema`) makes them refuse. */
const ROOT_KEYWORDS = [
  'title',
  'description',
  'properties',
  'required',
  'additionalProperties',
  'patternProperties',
  'minProperties',
  'maxProperties',
  '$defs',
  'definitions',
];

/**
 * The schema that providers are sent for a tool whose arguments are validated by `schema`. Its root is one object: a
 * union of objects at the root becomes an object with the properties of all, of which only those are required that every
 * alternative requires, and the alternatives in words. So the model may write what the original refuses (it is then
 * told), but is not kept from what the original accepts; except that a property which one alternative describes and an
 * open one leaves free is shown as described, because that is what its author meant. References resolve inside the
 * result; OpenAPI's `nullable` is standard JSON Schema.
 *
 * @throws ConfigError for what `prepareSchema` refuses.
 */
export function schemaForProvider(schema: JsonObject): JsonObject {
  const original = prepareSchema(schema, 'input').schema;
  const root = objectAtRoot(original);
  return withoutDanglingRefs(root, original);
}

function objectAtRoot(original: JsonObject): JsonObject {
  const flat = flatten(original, original, 0);
  const result: JsonObject = { type: 'object', properties: {} };
  for (const keyword of ROOT_KEYWORDS) {
    const value = flat[keyword] ?? (keyword === '$defs' || keyword === 'definitions' ? original[keyword] : undefined);
    const saysNothing = keyword === 'required' && Array.isArray(value) && value.length === 0;
    if (value !== undefined && !saysNothing) result[keyword] = value;
  }
  return result;
}

/** One object schema for a schema with references, `allOf` and unions at its root. */
function flatten(root: JsonObject, schema: Schema, depth: number): JsonObject {
  const target = followRefs(root, schema);
  if (!isObject(target) || depth > 10) return {};
  if (target !== schema && isObject(schema) && Object.keys(schema).length > 1) {
    const { $ref: _ref, $defs: _defs, definitions: _definitions, ...beside } = schema;
    return both(flatten(root, beside, depth + 1), flatten(root, target, depth + 1));
  }
  const { allOf, anyOf, oneOf, ...own } = target;
  let flat: JsonObject = own;
  if (flat['unevaluatedProperties'] === false && flat['additionalProperties'] === undefined) {
    flat['additionalProperties'] = false;
  }
  for (const part of Array.isArray(allOf) ? allOf : []) flat = both(flat, flatten(root, part as Schema, depth + 1));
  for (const union of [anyOf, oneOf]) {
    if (!Array.isArray(union)) continue;
    const branches = (union as Schema[]).filter((branch) => isObjectForm(root, branch));
    if (branches.length === 0) continue;
    const merged = branches.map((branch) => flatten(root, branch, depth + 1)).reduce(either);
    const forms = branches.map((branch) => describeSchema(root, branch)).filter((words) => words !== 'an object');
    flat = both(
      flat,
      forms.length > 1 ? { ...merged, description: `One of these forms: ${forms.join('; ')}.` } : merged,
    );
  }
  return flat;
}

function isObjectForm(root: JsonObject, branch: Schema): boolean {
  const target = followRefs(root, branch);
  if (!isObject(target)) return false;
  const { type } = target;
  return type === undefined || type === 'object' || (Array.isArray(type) && type.includes('object'));
}

/** Both schemas hold. */
function both(a: JsonObject, b: JsonObject): JsonObject {
  const description = [a['description'], b['description']]
    .filter((text) => typeof text === 'string')
    .filter((text) => text !== '')
    .map((text) => (/[.!?]$/.test(text) ? text : `${text}.`))
    .join(' ');
  return {
    ...b,
    ...a,
    ...(description === '' ? {} : { description }),
    properties: mergeProperties(a, b, (x, y) => ({ allOf: [x, y] })),
    required: [...new Set([...requiredOf(a), ...requiredOf(b)])],
    // A closed part is closed against its siblings too, but what it meant is almost always the whole.
    ...closing(a['additionalProperties'] ?? b['additionalProperties']),
  };
}

/** One of the schemas holds. */
function either(a: JsonObject, b: JsonObject): JsonObject {
  const inBoth = new Set(requiredOf(b));
  const isClosed = a['additionalProperties'] === false && b['additionalProperties'] === false;
  return {
    properties: mergeProperties(a, b, (x, y) => ({ anyOf: [...alternatives(x), ...alternatives(y)] })),
    required: requiredOf(a).filter((name) => inBoth.has(name)),
    ...closing(isClosed ? false : undefined),
  };
}

function closing(additional: Json | undefined): JsonObject {
  return additional === undefined ? {} : { additionalProperties: additional };
}

function mergeProperties(a: JsonObject, b: JsonObject, merge: (x: Json, y: Json) => Json): JsonObject {
  const result: JsonObject = { ...propertiesOf(a) };
  for (const [name, schema] of Object.entries(propertiesOf(b))) {
    const before = Object.hasOwn(result, name) ? result[name] : undefined;
    const isNew = before === undefined || JSON.stringify(before) === JSON.stringify(schema);
    result[name] = isNew ? schema : merge(before, schema);
  }
  return result;
}

/** A merged union again as its parts, so that three alternatives do not nest. */
function alternatives(schema: Json): Json[] {
  const union = isObject(schema) ? schema['anyOf'] : undefined;
  return Array.isArray(union) && Object.keys(schema as JsonObject).length === 1 ? union : [schema];
}

function propertiesOf(schema: JsonObject): JsonObject {
  return isObject(schema['properties']) ? schema['properties'] : {};
}

function requiredOf(schema: JsonObject): string[] {
  return Array.isArray(schema['required']) ? schema['required'].filter((name) => typeof name === 'string') : [];
}

/** Moves what a reference means into `$defs` where the pointer no longer leads to it, and drops `$id` and anchors. */
function withoutDanglingRefs(root: JsonObject, original: JsonObject): JsonObject {
  const moved = new Map<Schema, string>();
  const defs: JsonObject = {};
  const rewrite = (schema: Schema): Schema => {
    if (!isObject(schema)) return schema;
    const {
      $id: _id,
      $anchor: _anchor,
      $dynamicAnchor: _dynamicAnchor,
      $recursiveAnchor: _recursive,
      ...rest
    } = schema;
    const copy = structuredClone(rest);
    const ref = refOf(schema);
    const target = ref === undefined ? undefined : resolveRef(original, ref);
    if (ref !== undefined) {
      delete copy['$dynamicRef'];
      delete copy['$recursiveRef'];
      copy['$ref'] = ref;
      if (target !== undefined) copy['$ref'] = keepsPlace(ref) ? ref : moveToDefs(target);
    }
    for (const { keys, schema: inner } of subschemas(schema)) setAt(copy, keys, rewrite(inner));
    return copy;
  };
  /** `#/$defs/…` and `#/definitions/…` are where they were; `#` is still the whole. */
  const keepsPlace = (ref: string): boolean => ref === '#' || /^#\/(?:\$defs|definitions)\//.test(ref);
  const moveToDefs = (target: Schema): string => {
    const before = moved.get(target);
    if (before !== undefined) return before;
    const taken = isObject(original['$defs']) ? original['$defs'] : {};
    let name = `ref${moved.size + 1}`;
    while (Object.hasOwn(taken, name)) name = `_${name}`;
    const pointer = `#${pointerTo('/$defs', name)}`;
    moved.set(target, pointer);
    defs[name] = rewrite(target);
    return pointer;
  };
  const result = rewrite(root) as JsonObject;
  if (moved.size > 0) result['$defs'] = { ...(result['$defs'] as JsonObject | undefined), ...defs };
  return result;
}

function setAt(schema: JsonObject, keys: string[], value: Schema): void {
  const [keyword, key] = keys as [string, string?];
  if (key === undefined) schema[keyword] = value;
  else (schema[keyword] as Record<string, Json>)[key] = value;
}
