import type { JsonObject } from '../contract/json.js';
import type { ManifestTool } from '../contract/manifest.js';
import { isModelName } from '../tools/tool-names.js';
import { pointerTo } from './json-pointer.js';
import { prepareSchema } from './prepare-schema.js';
import { isObject, type Schema, subschemas } from './schema-positions.js';
import { followRefs } from './schema-refs.js';

/** Something that works and makes models err. */
export interface SchemaWarning {
  tool: string;
  /** JSON Pointer into the input schema; `''` is the tool itself. */
  path: string;
  problem: string;
}

type CheckedTool = Pick<ManifestTool, 'name' | 'description' | 'inputSchema'>;

/** Schemas deeper than this are warned about as a whole. */
const MAX_DEPTH = 8;

/**
 * What `perdure tools check` says of one tool, in the order of its schema: nothing where it is fine.
 *
 * @throws ConfigError for a schema that is no finite JSON (see `prepareSchema`).
 */
export function checkToolSchema(tool: CheckedTool): SchemaWarning[] {
  const { schema } = prepareSchema(tool.inputSchema, `tools.${tool.name}.input`);
  const found: SchemaWarning[] = [];
  const warn = (path: string, problem: string): void => void found.push({ tool: tool.name, path, problem });
  checkName(tool.name, (problem) => warn('', problem));
  if (tool.description.trim() === '') warn('', 'has no description: a model cannot know when to use it');
  checkRoot(schema, (problem) => warn('', problem));
  checkParts({ root: schema, warn, seen: new Set() }, schema, '', 0);
  return found;
}

interface Walk {
  root: JsonObject;
  warn: (path: string, problem: string) => void;
  seen: Set<Schema>;
}

function checkName(name: string, warn: (problem: string) => void): void {
  if (!isModelName(name)) {
    warn('the name is not one that providers accept (1 to 64 of a-z, A-Z, 0-9, _ and -): models are shown another one');
  } else if (!/^[a-zA-Z_]/.test(name)) {
    warn('the name does not begin with a letter or _: some providers (Gemini) refuse it');
  }
}

function checkRoot(schema: JsonObject, warn: (problem: string) => void): void {
  if (followRefs(schema, schema) !== schema) return;
  for (const keyword of ['anyOf', 'oneOf', 'allOf', 'not', 'if', 'enum', 'const', 'dependentSchemas']) {
    if (keyword in schema) {
      warn(
        `has ${keyword} at the root, which providers refuse: models are shown one object instead, and calls are checked against the original`,
      );
    }
  }
  if (schema['type'] !== undefined && schema['type'] !== 'object') {
    warn(`the root is not an object (type ${JSON.stringify(schema['type'])}): arguments always are one`);
  }
}

function checkParts(walk: Walk, schema: Schema, path: string, depth: number): void {
  if (!isObject(schema) || walk.seen.has(schema)) return;
  walk.seen.add(schema);
  if (depth === MAX_DEPTH)
    walk.warn(
      path,
      `is nested more than ${MAX_DEPTH} levels deep: models fill it wrongly, and some providers refuse it`,
    );
  checkProperties(walk, schema, path);
  checkAdditional(walk, schema, path);
  for (const { keys, schema: inner } of subschemas(schema)) {
    const innerPath = keys.reduce<string>((pointer, key) => pointerTo(pointer, key), path);
    checkParts(walk, inner, innerPath, keys[0] === 'properties' || keys[0] === 'items' ? depth + 1 : depth);
  }
}

function checkProperties(walk: Walk, schema: JsonObject, path: string): void {
  const properties = isObject(schema['properties']) ? schema['properties'] : {};
  for (const [name, property] of Object.entries(properties)) {
    const at = pointerTo(pointerTo(path, 'properties'), name);
    const target = followRefs(walk.root, property as Schema);
    if (!isDescribed(property as Schema) && !isDescribed(target)) walk.warn(at, 'has no description');
    if (isObject(target)) checkForm(walk, target, at);
    if (target === true || (isObject(target) && Object.keys(target).length === 0)) {
      walk.warn(at, 'says nothing of its type: a model may send anything');
    }
  }
  const required = Array.isArray(schema['required']) ? schema['required'] : [];
  for (const name of required) {
    if (typeof name === 'string' && 'properties' in schema && !Object.hasOwn(properties, name)) {
      walk.warn(path, `requires ${JSON.stringify(name)}, which is not among its properties`);
    }
  }
}

function checkForm(walk: Walk, schema: JsonObject, at: string): void {
  const isBareObject =
    schema['type'] === 'object' &&
    !['properties', 'additionalProperties', 'patternProperties', 'anyOf', 'oneOf', 'allOf'].some(
      (key) => key in schema,
    );
  if (isBareObject)
    walk.warn(at, 'is an object of which nothing is said: name its properties, or say what goes into it');
  if (schema['type'] === 'array' && !('items' in schema) && !('prefixItems' in schema)) {
    walk.warn(at, 'is a list without items: some providers refuse it');
  }
}

function checkAdditional(walk: Walk, schema: JsonObject, path: string): void {
  const additional = schema['additionalProperties'];
  const hasProperties = isObject(schema['properties']) && Object.keys(schema['properties']).length > 0;
  if (additional === false && !hasProperties && !('patternProperties' in schema) && path !== '') {
    walk.warn(path, 'allows no property at all');
  }
  if (additional === false && ('allOf' in schema || 'anyOf' in schema || 'oneOf' in schema) && hasProperties) {
    walk.warn(
      path,
      'has additionalProperties: false beside a union: properties of its parts are refused; use unevaluatedProperties',
    );
  }
  if (isObject(schema['properties']) && 'additionalProperties' in schema['properties'] && path === '') {
    walk.warn(path, 'has a property named additionalProperties: was the keyword meant?');
  }
  if (isObject(additional) && hasProperties) {
    walk.warn(path, 'takes properties that are not listed: providers with a strict mode drop them');
  }
}

function isDescribed(schema: Schema | undefined): boolean {
  return isObject(schema) && typeof schema['description'] === 'string' && schema['description'].trim() !== '';
}
