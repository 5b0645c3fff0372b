import type { Json, JsonObject } from '../contract/json.js';
import { isSameNumber, numberFate } from './json-number.js';
import { placeName, setValueAt, splitPointer, valueAt } from './json-pointer.js';
import { scanJson, skipSpace } from './json-scanner.js';
import type { SchemaError } from './validation-protocol.js';

/** One lossless change of a value that has the wrong type. */
export interface Coercion {
  path: string;
  /** `undefined` leaves the property out. */
  to: Json | undefined;
  /** The repair, in words. */
  words: string;
}

/**
 * Proposes lossless changes of type where the validator complained of a type: `"10"` where only a number fits, `"true"`,
 * JSON text where only an object or a list fits, `null` for a property that may be left out. Nothing valid is ever
 * touched, so a union that admits text keeps its text; where two changes are thinkable, none is proposed. `""` is never
 * 0, and digits with leading zeros stay text. `exact` are paths whose text stands for a number: they are left alone.
 *
 * Proposals are to be tried: see `isRefuted`.
 */
export function proposeCoercions(value: JsonObject, errors: SchemaError[], exact: ReadonlySet<string>): Coercion[] {
  const wanted = new Map<string, Set<string>>();
  for (const error of errors) {
    if (error.keyword !== 'type' || exact.has(error.instancePath)) continue;
    const types = wanted.get(error.instancePath) ?? new Set();
    for (const type of [error.params['type']].flat()) if (typeof type === 'string') types.add(type);
    wanted.set(error.instancePath, types);
  }
  return [...wanted].flatMap(([path, types]) => propose(value, path, types));
}

/** Whether a tried coercion did not help: its place is still of the wrong type or not among the values allowed. */
export function isRefuted(coercion: Coercion, errorsAfter: SchemaError[]): boolean {
  const place = splitPointer(coercion.path);
  return errorsAfter.some((error) => {
    if (coercion.to === undefined) {
      return error.instancePath === place?.parent && error.params['missingProperty'] === place.key;
    }
    return error.instancePath === coercion.path && ['type', 'enum', 'const'].includes(error.keyword);
  });
}

/** A copy of the arguments with the changes made. */
export function applyCoercions(value: JsonObject, coercions: Coercion[]): JsonObject {
  const changed = structuredClone(value);
  for (const { path, to } of coercions) setValueAt(changed, path, to);
  return changed;
}

function propose(root: JsonObject, path: string, types: Set<string>): Coercion[] {
  const value = valueAt(root, path);
  const place = splitPointer(path);
  if (value === undefined || place === undefined) return [];
  if (value === null) {
    const parent = valueAt(root, place.parent);
    if (Array.isArray(parent) || types.has('null')) return [];
    return [{ path, to: undefined, words: `${placeName(path)}: left out, because null is not a value of it` }];
  }
  if (typeof value !== 'string') return [];
  const readings = new Map<string, Json>();
  for (const type of types) {
    const read = readText(value, type);
    if (read !== undefined) readings.set(JSON.stringify(read), read);
  }
  const [only] = readings.values();
  if (readings.size !== 1 || only === undefined) return [];
  return [{ path, to: only, words: `${placeName(path)}: read the text ${shown(value)} as ${nameOf(only)}` }];
}

function readText(text: string, type: string): Json | undefined {
  switch (type) {
    case 'integer':
      return /^-?(?:0|[1-9]\d*)$/.test(text) && Number.isSafeInteger(Number(text)) ? Number(text) || 0 : undefined;
    case 'number':
      return readNumber(text);
    case 'boolean':
      if (/^(?:true|True)$/.test(text)) return true;
      return /^(?:false|False)$/.test(text) ? false : undefined;
    case 'null':
      return text === 'null' ? null : undefined;
    case 'object':
    case 'array':
      return readContainer(text, type);
    default:
      return undefined;
  }
}

function readNumber(text: string): number | undefined {
  if (!/^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(text) || numberFate(text) !== 'kept') return undefined;
  const number = Number(text) || 0;
  return isSameNumber(text, String(number)) ? number : undefined;
}

function readContainer(text: string, type: 'object' | 'array'): Json | undefined {
  const scanned = scanJson(text);
  // Digits that a number would round stay inside their text: the model is asked for the object itself.
  if (!scanned.ok || scanned.exactNumbers.length > 0 || skipSpace(text, scanned.end) < text.length) return undefined;
  const { value } = scanned;
  if (typeof value !== 'object' || value === null) return undefined;
  return Array.isArray(value) === (type === 'array') ? value : undefined;
}

function shown(text: string): string {
  return JSON.stringify(text.length <= 40 ? text : `${text.slice(0, 37).toWellFormed()}…`);
}

function nameOf(value: Json): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'the list that it holds';
  if (typeof value === 'object') return 'the object that it holds';
  return `the ${typeof value} ${String(value)}`;
}
