import type { JsonObject } from '../contract/json.js';
import { valueAt } from './json-pointer.js';
import { IN_PLACE_KEYWORDS, isObject, isSchema, type Schema, subschemas } from './schema-positions.js';

/**
 * The schema that a `$ref` points to inside `root`: `#`, `#/pointer` or `#anchor`. `undefined` where it points outside
 * (nothing is ever fetched) or at nothing.
 */
export function resolveRef(root: Schema, ref: string): Schema | undefined {
  if (!isObject(root)) return undefined;
  const hash = ref.indexOf('#');
  const base = hash < 0 ? ref : ref.slice(0, hash);
  if (base !== '' && base !== root['$id']) return undefined;
  const fragment = hash < 0 ? '' : decode(ref.slice(hash + 1));
  if (fragment === '') return root;
  if (!fragment.startsWith('/')) return findAnchor(root, fragment);
  const found = valueAt(root, fragment);
  return isSchema(found) ? found : undefined;
}

/** The `$ref`, `$dynamicRef` or `$recursiveRef` of a schema. */
export function refOf(schema: JsonObject): string | undefined {
  for (const keyword of ['$ref', '$dynamicRef', '$recursiveRef']) {
    const ref = schema[keyword];
    if (typeof ref === 'string') return ref;
  }
  return undefined;
}

/** Follows references until a schema that is none; `undefined` for a dangling one or one that leads back to itself. */
export function followRefs(root: Schema, schema: Schema): Schema | undefined {
  const seen = new Set<Schema>();
  let current: Schema | undefined = schema;
  while (isObject(current)) {
    const ref = refOf(current);
    if (ref === undefined) return current;
    if (seen.has(current)) return undefined;
    seen.add(current);
    current = resolveRef(root, ref);
  }
  return current;
}

/**
 * A reference that leads back to its own schema without descending into the value (`{"$ref": "#/definitions/x"}` at
 * `#/definitions/x`): it would never end. `undefined` where there is none.
 */
export function findEndlessRef(root: JsonObject): string | undefined {
  const open = new Set<JsonObject>();
  const done = new Set<JsonObject>();
  const visit = (schema: Schema | undefined): string | undefined => {
    if (!isObject(schema) || done.has(schema)) return undefined;
    open.add(schema);
    const ref = refOf(schema);
    const target = ref === undefined ? undefined : resolveRef(root, ref);
    if (isObject(target) && open.has(target)) return ref;
    let endless = visit(target);
    for (const { keys, schema: inner } of subschemas(schema)) {
      if (endless === undefined && IN_PLACE_KEYWORDS.has(keys[0] as string)) endless = visit(inner);
    }
    open.delete(schema);
    done.add(schema);
    return endless;
  };
  const visitAll = (schema: Schema): string | undefined => {
    let endless = visit(schema);
    if (isObject(schema)) for (const inner of subschemas(schema)) endless ??= visitAll(inner.schema);
    return endless;
  };
  return visitAll(root);
}

function findAnchor(schema: Schema, anchor: string): Schema | undefined {
  if (!isObject(schema)) return undefined;
  if (schema['$anchor'] === anchor || schema['$dynamicAnchor'] === anchor) return schema;
  if (schema['$id'] === `#${anchor}`) return schema;
  for (const inner of subschemas(schema)) {
    const found = findAnchor(inner.schema, anchor);
    if (found !== undefined) return found;
  }
  return undefined;
}

function decode(fragment: string): string {
  try {
    return decodeURIComponent(fragment);
  } catch {
    return fragment;
  }
}
