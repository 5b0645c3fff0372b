import type { Json } from '../contract/json.js';
import { maskPatterns, isSecretName, MASK } from './secret-patterns.js';

/** Masks secrets in whatever is logged, stored for operators, put into a history or shown to a model. */
export interface Redactor {
  text(text: string): string;
  /** Only what was declared as a secret: for words that must otherwise stay as they are, such as a model's own. */
  declared(text: string): string;
  /** Strings are masked, and whole values under names such as `authorization` or `password`. Keys are kept. */
  json(value: Json): Json;
}

/** Shorter secrets cannot be told from ordinary text; the configuration should refuse them. */
export const SHORTEST_SECRET = 4;
/** From this length on a secret is masked inside longer words too; a shorter one only where it stands alone. */
const MASKED_ANYWHERE = 8;
/** Shorter encoded pieces would be found in ordinary text. */
const SHORTEST_ENCODED = 8;

/**
 * Known secrets are masked as they are, JSON-escaped, URL-encoded and in base64 (inside longer base64 too, whatever the
 * alignment); besides, whatever looks like a secret by itself (`secret-patterns.ts`). Masking masked text changes nothing.
 * Linear in the text's length. Secrets shorter than `SHORTEST_SECRET` are ignored.
 */
export function createRedactor(options: { secrets: readonly string[] }): Redactor {
  const secrets = [...new Set(options.secrets)].filter((secret) => secret.length >= SHORTEST_SECRET);
  // The longest first, so that a secret within another does not leave the rest of it readable.
  const anywhere = secrets.flatMap(formsOf).sort((a, b) => b.length - a.length);
  const alone = secrets.filter((secret) => secret.length < MASKED_ANYWHERE).map(standingAlone);
  const declared = (input: string): string => {
    let masked = input;
    for (const form of anywhere) if (masked.includes(form)) masked = masked.replaceAll(form, MASK);
    for (const pattern of alone) masked = masked.replace(pattern, MASK);
    return masked;
  };
  const text = (input: string): string => maskPatterns(declared(input));
  const json = (value: Json): Json => {
    if (typeof value === 'string') return text(value);
    if (Array.isArray(value)) return value.map(json);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, each]) => [key, isSecretName(key) ? maskWhole(key, each) : json(each)]),
    );
  };
  return { text, declared, json };
}

/** The value of a field that is secret by its name; nothing stays nothing. */
function maskWhole(name: string, value: Json): Json {
  // `pwd` is a password in a configuration and the working folder in a shell.
  if (/^pwd$/i.test(name) && typeof value === 'string' && /^(?:[A-Za-z]:[\\/]|[/~])/.test(value)) return value;
  return value === null || value === '' || typeof value === 'boolean' ? value : MASK;
}

function formsOf(secret: string): string[] {
  const url = encoded(secret);
  const json = JSON.stringify(secret).slice(1, -1);
  const texts = [
    secret,
    json,
    // As Python and PHP write JSON: other letters as \u escapes, slashes with a backslash.
    asciiJson(json),
    asciiJson(json).replaceAll('/', '\\/'),
    url,
    url.replaceAll('%20', '+'),
    url.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()),
  ];
  const plain = texts.filter((form) => form.length >= MASKED_ANYWHERE);
  const base64 = base64Forms(secret).filter((form) => form.length >= SHORTEST_ENCODED);
  const base64Url = base64.map((form) => form.replaceAll('+', '-').replaceAll('/', '_'));
  // Padding and slashes of base64 are themselves URL-encoded in a query.
  const base64InUrl = base64.filter((form) => /[+/]/.test(form)).map(encodeURIComponent);
  return [...new Set([...plain, ...base64, ...base64Url, ...base64InUrl])];
}

function asciiJson(json: string): string {
  return json.replace(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

function encoded(secret: string): string {
  return encodeURIComponent(secret.toWellFormed());
}

/**
 * What a base64 text contains of the secret, for each of the three positions that it can have in the encoded bytes: only the
 * characters that the secret alone decides, so that what stands before and after it does not matter.
 */
function base64Forms(secret: string): string[] {
  const bytes = new TextEncoder().encode(secret);
  return [0, 1, 2].map((before) => {
    const shifted = new Uint8Array(before + bytes.length);
    shifted.set(bytes, before);
    const whole = toBase64(shifted).replace(/=+$/, '');
    // Each character holds six bits: those that also hold bits of a neighbour are left out.
    const from = Math.ceil((before * 8) / 6);
    const to = Math.floor((shifted.length * 8) / 6);
    return whole.slice(from, to);
  });
}

function toBase64(bytes: Uint8Array): string {
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));
}

function standingAlone(secret: string): RegExp {
  const literal = secret.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
  return new RegExp(`(?<![\\p{L}\\p{N}_])${literal}(?![\\p{L}\\p{N}_])`, 'gu');
}
