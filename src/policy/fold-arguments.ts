import type { Json, JsonObject } from '../contract/json.js';
import { digestOf } from './idempotency-key.js';

/**
 * The arguments as loop defence compares them: key order, spacing, letter case and punctuation of free text, the form of
 * numbers and booleans, ways to write a character, empty fields and ids that only name the request do not matter. Coarser
 * than the idempotency key's digest on purpose, and never part of a key: two calls that fold alike are refused only where
 * their results were equal, too.
 */
export function foldedDigest(tool: string, args: Json): string {
  // 64 bits are plenty for the calls of one run, and the state travels through continue-as-new.
  return digestOf([tool, fold(args, requestNames)]).slice(0, 16);
}

/**
 * The arguments as the tool can take notice of them, for `foldedDigest`: without fields that its schema does not name, and
 * with nothing where a word stands for it. A nonce of any name is then none.
 */
export function plainArguments(args: JsonObject, schema: JsonObject): JsonObject {
  const kept = Object.entries(args).filter(([name]) => mayMatter(name, schema));
  // Where nothing else would be left, they are what it is about.
  return withoutNothings(kept.length === 0 ? args : Object.fromEntries(kept)) as JsonObject;
}

/** Words of the folded values, names included, each once, as short digests: what near-equal arguments have in common. */
export function foldedWordDigests(values: readonly Json[]): string[] {
  const text = JSON.stringify(values.map((value) => fold(value, requestNames)));
  const words = text.match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
  return [...new Set(words)].map(shortDigest);
}

/** FNV-1a, 32 bits: a few words of one run are told apart at a fraction of a SHA-256's time, which every step would pay. */
function shortDigest(word: string): string {
  let hash = 0x811c9dc5;
  for (let at = 0; at < word.length; at += 1) hash = Math.imul(hash ^ word.charCodeAt(at), 0x01000193);
  return (hash >>> 0).toString(36);
}

/** The same for arguments that could not be read: their text without spacing. */
export function foldedTextDigest(tool: string, rawArguments: string): string {
  return digestOf([tool, 'unreadable', rawArguments.toWellFormed().replaceAll(/\s+/g, '').toLowerCase()]).slice(0, 16);
}

/** A result as loop defence compares it: when it was made, and how long that took, is nothing new. */
export function foldedResultDigest(result: Json): string {
  return digestOf(withoutNamed(result, resultNames)).slice(0, 16);
}

/** A failure's words as loop defence compares them: waits and counts in them change from one to the next. */
export function foldedWords(text: string): string {
  return foldText(text.replaceAll(/\d+(?:[.,]\d+)*/g, '0'));
}

/** Names of fields that only tell requests apart, without case and separators. */
const requestNames = new Set(['nonce', 'requestid', 'traceid', 'correlationid', 'idempotencykey', 'clientrequestid']);

/** Names of fields that change with every answer, without case and separators. */
const resultNames = new Set([
  ...requestNames,
  'timestamp',
  'servertime',
  'fetchedat',
  'generatedat',
  'retrievedat',
  'elapsedms',
  'durationms',
  'latencyms',
  'tookms',
  'took',
]);

/** Keywords that let a field through which `properties` does not name. */
const openKeywords = ['patternProperties', '$ref', 'allOf', 'anyOf', 'oneOf', 'if', 'unevaluatedProperties'];

function mayMatter(name: string, schema: JsonObject): boolean {
  const { properties, additionalProperties } = schema;
  if (typeof properties !== 'object' || properties === null || Array.isArray(properties)) return true;
  // Said to be welcome, where an absent word is only silence.
  if (additionalProperties !== undefined && additionalProperties !== false) return true;
  return openKeywords.some((keyword) => schema[keyword] !== undefined) || Object.hasOwn(properties, name);
}

const nothings = new Set(['none', 'null', 'nil', 'undefined', 'n/a']);

function withoutNothings(value: Json): Json {
  if (typeof value === 'string') return nothings.has(value.trim().toLowerCase()) ? null : value;
  if (Array.isArray(value)) return value.map(withoutNothings);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, withoutNothings(field)]));
}

function fold(value: Json, ignored: ReadonlySet<string>): Json {
  if (typeof value === 'string') return foldText(value);
  // `1` and `1.0` are one number already; a number or a boolean sent as text is the same.
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (Array.isArray(value)) return value.map((item) => fold(item, ignored)).filter((item) => !isEmpty(item));
  if (value === null) return null;
  const kept = Object.entries(withoutFields(value, ignored)).flatMap(([key, field]): [string, Json][] => {
    const folded = fold(field, ignored);
    return isEmpty(folded) ? [] : [[key, folded]];
  });
  return Object.fromEntries(kept);
}

function withoutNamed(value: Json, names: ReadonlySet<string>): Json {
  if (Array.isArray(value)) return value.map((item) => withoutNamed(item, names));
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(withoutFields(value, names));
  return Object.fromEntries(kept.map(([key, field]) => [key, withoutNamed(field, names)]));
}

/** Where nothing else would be left, the ignored fields are what it is about. */
function withoutFields(value: JsonObject, names: ReadonlySet<string>): JsonObject {
  const kept = Object.entries(value).filter(([key]) => !names.has(key.toLowerCase().replaceAll(/[^a-z]/g, '')));
  return kept.length === 0 ? value : Object.fromEntries(kept);
}

/** `word`, `Word` or `WORD`, and how a sentence ends. `aBc`, `a-b` and `a1` are none. */
const plainWord = /^(?:\p{Ll}+|\p{Lu}\p{Ll}*|\p{Lu}+|\p{Lo}+)[.,;:!?…]*$/u;

function foldText(text: string): string {
  // NFKC joins full-width and composed forms; format characters (zero-width spaces, direction marks) are not seen.
  const trimmed = text
    .normalize('NFKC')
    .replaceAll(/\p{Cf}/gu, '')
    .trim();
  if (trimmed !== '' && Number.isFinite(Number(trimmed))) {
    const number = Number(trimmed);
    // Leading zeros and long digits are identifiers ("00501"), not numbers.
    const sameNumber = String(number) === trimmed || /^-?(?:0|[1-9]\d{0,14})(?:\.\d*0+|\.|e\+?\d{1,2})$/i.test(trimmed);
    return sameNumber ? String(number) : trimmed;
  }
  // Several words are text, and so is one as people write it; any other is an identifier, where case and signs may matter.
  if (!/\s/.test(trimmed) && !plainWord.test(trimmed)) return trimmed;
  return trimmed
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{M}\p{N}]+/gu, ' ')
    .trim();
}

function isEmpty(value: Json): boolean {
  if (value === null || value === '') return true;
  if (Array.isArray(value)) return value.length === 0;
  return typeof value === 'object' && Object.keys(value).length === 0;
}
