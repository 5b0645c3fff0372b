import type { ClassifiedFailure } from '../contract/failure.js';
import type { Json, JsonObject } from '../contract/json.js';
import type { ModelReply } from '../models/model.js';
import { type ExactNumber, scanJson, skipSpace, type SyntaxProblem } from './json-scanner.js';
import { placeName } from './json-pointer.js';
import { isObject } from './schema-positions.js';
import { excerpt, type SyntaxWords, wordSyntaxProblem } from './syntax-problem.js';

export interface ParseOptions {
  /** Why the model stopped. After `length`, `content-filter` and `error` nothing is repaired: the text may be a prefix. */
  finishReason: ModelReply['finishReason'];
  /** The tool's JSON Schema; decides whether no text at all may stand for no arguments. Absent: it may. */
  schema?: JsonObject;
  /** A correct arguments object to quote in the failure. */
  example?: JsonObject;
}

export type ParsedArguments =
  | {
      ok: true;
      value: JsonObject;
      /** What was changed to read the text, in words and in order; empty where it was plain JSON. All lossless. */
      repairs: string[];
      /** Whole numbers that are kept as text (already so in `value`), because a number would round them. */
      exactNumbers: ExactNumber[];
    }
  | { ok: false; failure: ClassifiedFailure; raw: string };

/** Levels of "JSON inside a JSON text" that are taken off. Models and proxies have been seen to add one or two. */
const MAX_UNWRAPS = 3;

/**
 * Reads a tool call's arguments as the model wrote them. Only what cannot change their meaning is repaired: white space
 * and byte order marks around, a Markdown fence around, JSON inside a JSON text, raw line breaks in text, and no text at
 * all for a tool that needs no arguments. Everything else is a failure that names what is wrong with the *text*; a piece
 * of the text is never taken for the whole. Never throws.
 */
export function parseArguments(raw: string, options: ParseOptions): ParsedArguments {
  const mayBePrefix = ['length', 'content-filter', 'error'].includes(options.finishReason);
  const read = readText(raw, options);
  if (mayBePrefix && (!read.ok || read.repairs.length > 0))
    return refuse(raw, cutOff(raw, 'the reply ended too early'), options);
  if (!read.ok) return refuse(raw, read.words, options, read.code);
  const kept = read.exactNumbers.map(
    ({ path, digits }) => `${placeName(path)}: kept the number ${digits} as text, because a number would round it`,
  );
  return { ...read, repairs: [...read.repairs, ...kept] };
}

type ReadText =
  | { ok: true; value: JsonObject; repairs: string[]; exactNumbers: ExactNumber[] }
  | { ok: false; words: SyntaxWords; code?: string };

function readText(raw: string, options: ParseOptions): ReadText {
  const repairs: string[] = [];
  if (raw.trim() === '') return readNothing(options.schema);
  let text = raw;
  for (let unwraps = 0; ; unwraps++) {
    text = withoutFence(withoutOddSpace(text, repairs), repairs);
    const scanned = scanJson(text);
    if (!scanned.ok) return { ok: false, words: syntaxWords(text, scanned.problem) };
    const after = skipSpace(text, scanned.end);
    if (after < text.length) return { ok: false, words: trailingText(text, after) };
    const { value } = scanned;
    if (scanned.rawLineBreaks > 0) repairs.push('read unescaped line breaks or tabs inside text as themselves');
    if (isObject(value)) return { ok: true, value, repairs, exactNumbers: scanned.exactNumbers };
    // Only a text that begins like an object is taken for one: "null" or "just text" never becomes {}.
    if (typeof value !== 'string' || !/^\s*(?:["{]|```|~~~)/.test(value) || scanned.exactNumbers.length > 0) {
      return { ok: false, words: wrongRoot(value) };
    }
    if (unwraps === MAX_UNWRAPS) {
      return {
        ok: false,
        words: {
          problem: `they are encoded as text inside text more than ${MAX_UNWRAPS} times`,
          hint: 'Send the JSON object itself, not a text that contains it.',
        },
      };
    }
    repairs.push('read the JSON object inside the JSON text that was sent');
    text = value;
  }
}

function readNothing(schema: JsonObject | undefined): ReadText {
  const required = Array.isArray(schema?.['required'])
    ? schema['required'].filter((name) => typeof name === 'string')
    : [];
  if (required.length === 0) {
    return { ok: true, value: {}, repairs: ['read empty arguments as no arguments ({})'], exactNumbers: [] };
  }
  return {
    ok: false,
    code: 'PARAM_MISSING_001',
    words: {
      problem: `No arguments were sent, but ${required.length === 1 ? 'one is' : 'some are'} needed: ${required.join(', ')}`,
      hint: 'Send the arguments as one JSON object.',
    },
  };
}

/** Takes off a byte order mark and white space that JSON does not know, where they stand around the whole text. */
function withoutOddSpace(text: string, repairs: string[]): string {
  const trimmed = text.trim();
  const inJson = text.slice(skipSpace(text, 0));
  if (inJson.startsWith(trimmed) && skipSpace(inJson, trimmed.length) === inJson.length) return text;
  repairs.push('left out a byte order mark or other invisible space around the JSON');
  return trimmed;
}

/** Takes off a Markdown fence that encloses the whole text. */
function withoutFence(text: string, repairs: string[]): string {
  const fenced = /^\s*(```+|~~~+)[ \t]*[\w-]*(?=[\s{["])/.exec(text);
  const fence = fenced?.[1];
  if (!fenced || fence === undefined) return text;
  const body = text.trimEnd();
  if (!body.endsWith(fence) || body.length < fenced[0].length + fence.length) return text;
  repairs.push('took the JSON out of the Markdown code fence around it');
  return body.slice(fenced[0].length, -fence.length);
}

function syntaxWords(text: string, problem: SyntaxProblem): SyntaxWords {
  return problem.kind === 'cut_off' ? cutOff(text) : wordSyntaxProblem(text, problem);
}

function cutOff(text: string, how = 'the JSON is not complete'): SyntaxWords {
  return {
    problem: `they were cut off: ${text.length} characters were received and ${how} (${ending(text)})`,
    hint: 'Nothing was executed. Send the call again with shorter arguments, or split the work into several calls.',
  };
}

function ending(text: string): string {
  return text.trim() === '' ? 'nothing was received' : `it ends with ${excerpt(text, text.length)}`;
}

/** What stands after a complete value: more values, or words. */
function trailingText(text: string, after: number): SyntaxWords {
  const values = countValues(text);
  if (values !== undefined) {
    return {
      problem: `${values} JSON values were sent one after another, where one object is expected (the second begins at character ${after + 1})`,
      hint: 'Make one call for each object.',
    };
  }
  return {
    problem: `they are not JSON: there is other text after the object (at character ${after + 1}: ${excerpt(text, after)})`,
    hint: 'Send the arguments as one JSON object and nothing else.',
  };
}

/** How many JSON values the text holds, separated by white space or commas; `undefined` where it holds anything else. */
function countValues(text: string): number | undefined {
  let count = 0;
  let at = skipSpace(text, 0);
  while (at < text.length) {
    const scanned = scanJson(text, at);
    // The last of several objects may be cut off; it was still more than one.
    if (!scanned.ok)
      return count > 0 && scanned.problem.kind === 'cut_off' && '{['.includes(text[at] ?? ' ') ? count + 1 : undefined;
    count++;
    at = skipSpace(text, scanned.end);
    if (text[at] === ',') at = skipSpace(text, at + 1);
  }
  return count;
}

function wrongRoot(value: Json): SyntaxWords {
  return {
    problem: `they must be a JSON object, but ${rootName(value)} was sent`,
    hint: 'Send the arguments as one JSON object, each argument as "name": value.',
  };
}

function rootName(value: Json): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'string' ? 'a text' : `a ${typeof value}`;
}

function refuse(raw: string, words: SyntaxWords, options: ParseOptions, code = 'PARAM_INVALID_001'): ParsedArguments {
  const failure: ClassifiedFailure = {
    class: 'validation_error',
    code,
    effectState: 'none',
    reason: words.problem,
    public: true,
    hint: words.hint,
    violations: [
      {
        path: '',
        problem: 'cannot be read as one complete JSON object',
        expected: 'one JSON object',
        ...(options.example === undefined ? {} : { example: options.example }),
      },
    ],
  };
  return { ok: false, failure, raw };
}
