/** Checks of what people write in configuration. Each throws `ConfigError` with the path and the value. */
import { distance } from 'fastest-levenshtein';
import { ConfigError } from './config-error.js';

/** A value as an error message quotes it: short, one line, never throwing. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return value.length > 60 ? `'${value.slice(0, 57)}…'` : `'${value}'`;
  if (typeof value === 'bigint') return `${String(value)}n`;
  if (typeof value === 'function') return 'a function';
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list';
  if (value !== null && typeof value === 'object') return 'an object';
  return String(value);
}

/** The known name that a misspelt one most likely means; none where nothing is close. */
export function nearestName(name: string, known: Iterable<string>): string | undefined {
  let best: { name: string; edits: number } | undefined;
  for (const candidate of known) {
    const edits = distance(name.toLowerCase(), candidate.toLowerCase());
    if (!best || edits < best.edits) best = { name: candidate, edits };
  }
  // A third of the letters may be wrong, and two swapped letters (two edits): further off, a suggestion misleads.
  const allowed = Math.max(name.length > 3 ? 2 : 1, Math.floor(name.length / 3));
  return best && best.edits <= allowed ? best.name : undefined;
}

/** `; did you mean 'x'?`, or nothing. */
export function didYouMean(name: string, known: Iterable<string>): string {
  const nearest = nearestName(name, known);
  return nearest === undefined ? '' : `; did you mean '${nearest}'?`;
}

/** Joins a parent path and a key: `tools.refund` + `retry`. */
export function at(path: string, key: string | number): string {
  if (typeof key === 'number') return `${path}[${String(key)}]`;
  return path === '' ? key : `${path}.${key}`;
}

/** The value as an object with string keys. */
export function checkObject(path: string, value: unknown): Record<string, unknown> {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) {
    throw new ConfigError(path, `expected an object, got ${shown(value)}`);
  }
  return value as Record<string, unknown>;
}

/** Refuses keys that no option has. A key whose value is `undefined` is refused too: it is misspelt all the same. */
export function refuseUnknownKeys(path: string, value: object, known: readonly string[]): void {
  for (const key of Object.keys(value)) {
    if (!known.includes(key)) throw new ConfigError(at(path, key), `unknown option${didYouMean(key, known)}`);
  }
}

export function checkText(path: string, value: unknown): string {
  if (typeof value !== 'string') throw new ConfigError(path, `expected text, got ${shown(value)}`);
  if (value.trim() === '') throw new ConfigError(path, 'expected text, got an empty one');
  return value;
}

export function checkTexts(path: string, value: unknown): string[] {
  if (!Array.isArray(value)) throw new ConfigError(path, `expected a list of texts, got ${shown(value)}`);
  return value.map((item, index) => checkText(at(path, index), item));
}

export function checkBoolean(path: string, value: unknown): boolean {
  if (typeof value !== 'boolean') throw new ConfigError(path, `expected true or false, got ${shown(value)}`);
  return value;
}

export function checkOneOf<T extends string>(path: string, value: unknown, allowed: readonly T[]): T {
  if (typeof value === 'string' && (allowed as readonly string[]).includes(value)) return value as T;
  const hint = typeof value === 'string' ? didYouMean(value, allowed) : '';
  throw new ConfigError(
    path,
    `expected ${allowed.map((name) => `'${name}'`).join(' or ')}, got ${shown(value)}${hint}`,
  );
}

/** A finite number of at least `min`. */
export function checkNumber(path: string, value: unknown, min: number): number {
  if (typeof value !== 'number' || !Number.isFinite(value)) {
    throw new ConfigError(path, `expected a number, got ${shown(value)}`);
  }
  if (value < min) throw new ConfigError(path, `expected ${String(min)} or more, got ${String(value)}`);
  return value;
}

/** A whole number of at least `min`. */
export function checkInteger(path: string, value: unknown, min: number): number {
  const number = checkNumber(path, value, min);
  if (!Number.isSafeInteger(number)) throw new ConfigError(path, `expected a whole number, got ${String(number)}`);
  return number;
}

export function checkFunction(path: string, value: unknown): void {
  if (typeof value !== 'function') throw new ConfigError(path, `expected a function, got ${shown(value)}`);
}
