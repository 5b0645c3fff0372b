import type { Json } from '../contract/json.js';
import { digestOf } from './idempotency-key.js';

/**
 * The arguments as loop defence compares them: key order, spacing, letter case and punctuation of free text, number form
 * and empty fields do not matter. Coarser than the idempotency key's digest on purpose, and never part of a key: two
 * calls that fold alike are refused only where their results were equal, too.
 */
export function foldedDigest(tool: string, args: Json): string {
  // 64 bits are plenty for the calls of one run, and the state travels through continue-as-new.
  return digestOf([tool, fold(args)]).slice(0, 16);
}

function fold(value: Json): Json {
  if (typeof value === 'string') return foldText(value);
  // `1` and `1.0` are one number already; a number sent as text is the same number.
  if (typeof value === 'number') return String(value);
  if (Array.isArray(value)) return value.map(fold);
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).flatMap(([key, field]): [string, Json][] => {
    const folded = fold(field);
    return isEmpty(folded) ? [] : [[key, folded]];
  });
  return Object.fromEntries(kept);
}

function foldText(text: string): string {
  const trimmed = text.trim();
  if (trimmed !== '' && Number.isFinite(Number(trimmed))) {
    const number = Number(trimmed);
    // Leading zeros and long digits are identifiers ("00501"), not numbers.
    return String(number) === trimmed || /^-?\d{1,15}\.\d*0+$/.test(trimmed) ? String(number) : trimmed;
  }
  // One word is an identifier, whose case and punctuation may matter; several are free text.
  if (!/\s/.test(trimmed)) return trimmed;
  return trimmed
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();
}

function isEmpty(value: Json): boolean {
  if (value === null || value === '') return true;
  if (Array.isArray(value)) return value.length === 0;
  return typeof value === 'object' && Object.keys(value).length === 0;
}
