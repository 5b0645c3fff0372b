import { isSafeNumber } from 'lossless-json';

/** A tool call's arguments as they can be sent back to any provider. */
export interface ReplayedArguments {
  /** JSON text of an object. What the model wrote, byte for byte, wherever that is one. */
  text: string;
  /** The same as a value; numbers that a double cannot hold are `JSON.rawJSON` objects, so stringifying keeps their digits. */
  value: Record<string, unknown>;
}

/**
 * Arguments for showing a model its own earlier call. Never throws.
 *
 * Providers and the chat templates of local servers parse what they are sent back, and refuse every later turn of a
 * conversation that holds arguments which are not a JSON object. So such a text (cut off, fenced, double-encoded) goes back
 * whole as `{"raw_arguments": "…"}`, and an empty one as `{}`.
 */
export function replayedArguments(raw: string): ReplayedArguments {
  if (raw.trim() === '') return { text: '{}', value: {} };
  const value = tryParse(raw);
  if (isPlainObject(value)) return { text: raw, value };
  const wrapped = { raw_arguments: raw };
  return { text: JSON.stringify(wrapped), value: wrapped };
}

/**
 * `JSON.parse`, except that a number that a double would round or overflow becomes a `JSON.rawJSON` object with the digits
 * as written: it stringifies exactly, and `typeof` says that it is no number. Throws SyntaxError like `JSON.parse`.
 */
export function parseKeepingDigits(text: string): unknown {
  return sourceTextJson.parse(text, (_key, value, { source }) =>
    typeof value === 'number' && source !== undefined && !isSafeNumber(source) ? sourceTextJson.rawJSON(source) : value,
  );
}

/** JSON.parse source text access: in Node since 21, in TypeScript's libraries not yet. */
const sourceTextJson = JSON as unknown as {
  parse(text: string, revive: (key: string, value: unknown, context: { source?: string }) => unknown): unknown;
  rawJSON(text: string): object;
};

function tryParse(raw: string): unknown {
  try {
    return parseKeepingDigits(raw);
  } catch {
    return undefined;
  }
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isRawJson(value);
}

/** A bare number at the root that a double cannot hold is an object too, but not one of arguments. */
function isRawJson(value: object): boolean {
  return (JSON as unknown as { isRawJSON(value: unknown): boolean }).isRawJSON(value);
}
