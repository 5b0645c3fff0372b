/**
 * Reads thrown things of any shape: they may be no errors, have getters that throw, be proxies, hold each other in cycles.
 * Nothing here throws, and every walk is bounded.
 */
import type { Json } from '../contract/json.js';

/** How deep causes are followed, and how many things are looked at in all. */
const MAX_DEPTH = 8;
const MAX_NODES = 64;

/** A property's value, or `undefined` where there is none or reading it throws. */
export function read(thing: unknown, key: string): unknown {
  if (thing === null || (typeof thing !== 'object' && typeof thing !== 'function')) return undefined;
  try {
    return (thing as Record<string, unknown>)[key];
  } catch {
    return undefined;
  }
}

export function readText(thing: unknown, key: string): string | undefined {
  const value = read(thing, key);
  return typeof value === 'string' && value.trim() !== '' ? value : undefined;
}

export function readNumber(thing: unknown, key: string): number | undefined {
  const value = read(thing, key);
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

/** The error's name; its class's where the name is only inherited from `Error`. */
export function nameOf(thing: unknown): string {
  const name = readText(thing, 'name');
  if (name !== undefined && name !== 'Error') return name;
  const constructorName = readText(read(thing, 'constructor'), 'name');
  return constructorName !== undefined && constructorName !== 'Object' ? constructorName : (name ?? '');
}

/** A thrown thing and what it says caused it. */
export interface ThrownNode {
  thing: unknown;
  /** The direct reason, where one is given. */
  causes: ThrownNode[];
  /** Failures side by side (AggregateError, retry errors), where any may be the one that matters. */
  parts: ThrownNode[];
}

/** The tree of causes and parts, each thing once. */
export function thrownTree(thrown: unknown): ThrownNode {
  const seen = new Set<unknown>();
  const visit = (thing: unknown, depth: number): ThrownNode => {
    const node: ThrownNode = { thing, causes: [], parts: [] };
    if (typeof thing !== 'object' || thing === null) return node;
    seen.add(thing);
    if (depth >= MAX_DEPTH) return node;
    const follow = (next: unknown): ThrownNode[] => {
      const worth = (typeof next === 'object' && next !== null) || (typeof next === 'string' && next !== '');
      return worth && !seen.has(next) && seen.size < MAX_NODES ? [visit(next, depth + 1)] : [];
    };
    const errors = read(thing, 'errors');
    if (isArray(errors))
      node.parts = elements(errors)
        .filter((each) => typeof each === 'object')
        .flatMap(follow);
    // `cause` is the standard's; the others are what clients and retry libraries used before it.
    node.causes = ['cause', 'originalError', 'lastError', 'innerError', 'error']
      .map((key) => read(thing, key))
      .filter((next, index) => index < 4 || looksThrown(next))
      .flatMap(follow);
    return node;
  };
  return visit(thrown, 0);
}

/** All nodes, the outermost first. */
export function allNodes(tree: ThrownNode): ThrownNode[] {
  const found = [tree];
  for (let index = 0; index < found.length; index += 1) {
    const node = found[index];
    if (node) found.push(...node.causes, ...node.parts);
  }
  return found;
}

function looksThrown(thing: unknown): boolean {
  return (
    readText(thing, 'stack') !== undefined ||
    (readText(thing, 'name') !== undefined && readText(thing, 'message') !== undefined)
  );
}

export function isArray(value: unknown): value is unknown[] {
  try {
    return Array.isArray(value); // throws for a revoked proxy
  } catch {
    return false;
  }
}

export function elements(array: unknown[]): unknown[] {
  const length = Math.min(readNumber(array, 'length') ?? 0, MAX_NODES);
  return Array.from({ length }, (_, index) => read(array, String(index)));
}

/** Headers in any shape (`Headers`, Map, pairs, plain object, axios') as lower-case names with text values. */
export function headersOf(value: unknown): Record<string, string> {
  const headers: Record<string, string> = {};
  const set = (name: unknown, text: unknown): void => {
    const one = isArray(text) ? elements(text)[0] : text;
    if (typeof name === 'string' && (typeof one === 'string' || typeof one === 'number'))
      headers[name.toLowerCase()] = String(one);
  };
  try {
    const forEach = read(value, 'forEach');
    if (isArray(value)) for (const pair of elements(value)) set(read(pair, '0'), read(pair, '1'));
    else if (typeof forEach === 'function') forEach.call(value, (text: unknown, name: unknown) => set(name, text));
    else if (typeof value === 'object' && value !== null)
      for (const name of Object.keys(value)) set(name, read(value, name));
  } catch {
    // Headers that cannot be read say nothing; what was read before counts.
  }
  return headers;
}

/** How much of a body is read: an answer's error, not a library's whole request object. */
const MAX_JSON_DEPTH = 6;
const MAX_JSON_VALUES = 2_000;

/** Data as JSON: plain objects, arrays and primitives, bounded; what JSON cannot hold (streams, functions) is left out. */
export function jsonOf(value: unknown): Json | undefined {
  let left = MAX_JSON_VALUES;
  const convert = (each: unknown, depth: number): Json | undefined => {
    left -= 1;
    if (left < 0) return undefined;
    if (typeof each === 'string' || typeof each === 'boolean' || each === null) return each;
    if (typeof each === 'number') return Number.isFinite(each) ? each : undefined;
    if (typeof each === 'bigint') return each.toString();
    if (typeof each !== 'object' || depth === 0) return undefined;
    if (isArray(each)) return elements(each).flatMap((element) => convert(element, depth - 1) ?? []);
    if (!isPlain(each)) return undefined;
    const entries = keysOf(each).flatMap((key): [string, Json][] => {
      const json = convert(read(each, key), depth - 1);
      return json === undefined ? [] : [[key, json]];
    });
    return Object.fromEntries(entries);
  };
  return convert(value, MAX_JSON_DEPTH);
}

function isPlain(value: object): boolean {
  try {
    const prototype: unknown = Object.getPrototypeOf(value);
    // A plain object of another realm (a VM context, a worker) has a prototype without one of its own.
    return prototype === null || Object.getPrototypeOf(prototype) === null;
  } catch {
    return false;
  }
}

function keysOf(value: object): string[] {
  try {
    return Object.keys(value).slice(0, 200);
  } catch {
    return [];
  }
}
