import type { Json, JsonObject } from '../contract/json.js';
import { numberFate } from './json-number.js';
import { pointerTo } from './json-pointer.js';
import { isObject } from './schema-positions.js';

/** What keeps a text from being JSON that can be handed on unchanged. */
export type SyntaxProblemKind =
  | 'cut_off'
  | 'duplicate_key'
  | 'forbidden_key'
  | 'too_deep'
  | 'number_out_of_range'
  | 'number_too_precise'
  | 'bad_number'
  | 'not_a_number'
  | 'lone_surrogate'
  | 'bad_escape'
  | 'control_character'
  | 'single_quotes'
  | 'curly_quotes'
  | 'python_literal'
  | 'trailing_comma'
  | 'comment'
  | 'unquoted_key'
  | 'missing_comma'
  | 'missing_colon'
  | 'unexpected';

export interface SyntaxProblem {
  kind: SyntaxProblemKind;
  /** Characters before the problem. */
  at: number;
  /** The offending word, key or number, where there is one. */
  word?: string;
}

/** A whole number whose digits a JavaScript number would round. In `value` its digits stand as text. */
export interface ExactNumber {
  path: string;
  digits: string;
}

export type ScanResult =
  | {
      ok: true;
      value: Json;
      /** Where the value ends; what follows is the caller's to judge. */
      end: number;
      exactNumbers: ExactNumber[];
      /** Line breaks and tabs that stood unescaped inside strings and were read as themselves. */
      rawLineBreaks: number;
    }
  | { ok: false; problem: SyntaxProblem };

/** Nesting that is read; deeper values overflow what comes after (canonical JSON, SQLite stops at 1000). */
export const MAX_DEPTH = 500;

/**
 * Reads one JSON value (RFC 8259) from `text`, starting at `start`. Unlike `JSON.parse` it sees duplicate keys at any
 * depth, never rounds a whole number, refuses half surrogates and keys that reach a prototype, and names what is wrong.
 * Never throws. Linear in the text's length.
 */
export function scanJson(text: string, start = 0): ScanResult {
  const scanner = new Scanner(text, start);
  try {
    const value = scanner.value('', 0);
    return {
      ok: true,
      value,
      end: scanner.at,
      exactNumbers: scanner.exactNumbers,
      rawLineBreaks: scanner.rawLineBreaks,
    };
  } catch (error) {
    if (error instanceof Fault) return { ok: false, problem: error.problem };
    throw error;
  }
}

/** Where the next character is that is not JSON white space. */
export function skipSpace(text: string, from: number): number {
  let at = from;
  while (at < text.length && ' \t\n\r'.includes(text[at] as string)) at++;
  return at;
}

/** Leaves the recursion; never leaves this file. */
class Fault extends Error {
  readonly problem: SyntaxProblem;
  constructor(problem: SyntaxProblem) {
    super(problem.kind);
    this.problem = problem;
  }
}

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const WORD = /[\p{L}\p{N}_$+.-]+/uy;
const ESCAPES: Record<string, string> = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
};

class Scanner {
  at: number;
  rawLineBreaks = 0;
  readonly exactNumbers: ExactNumber[] = [];
  private readonly text: string;

  constructor(text: string, start: number) {
    this.text = text;
    this.at = start;
  }

  value(path: string, depth: number): Json {
    this.space();
    const char = this.text[this.at];
    if (char === undefined) this.fail('cut_off');
    if (depth > MAX_DEPTH) this.fail('too_deep');
    if (char === '{') return this.object(path, depth);
    if (char === '[') return this.array(path, depth);
    if (char === '"') return this.string();
    if (char === '-' || (char >= '0' && char <= '9')) return this.number(path);
    return this.literal();
  }

  private object(path: string, depth: number): JsonObject {
    const object: JsonObject = {};
    this.at++;
    if (this.closes('}')) return object;
    for (;;) {
      const keyAt = this.at;
      const key = this.key();
      if (Object.hasOwn(object, key)) this.fail('duplicate_key', keyAt, key);
      if (key === '__proto__') this.fail('forbidden_key', keyAt, key);
      this.space();
      if (this.text[this.at] !== ':') this.failAt('missing_colon');
      this.at++;
      const value = this.value(pointerTo(path, key), depth + 1);
      // `{"constructor": {"prototype": …}}` reaches Object.prototype in naive deep merges, as `__proto__` does.
      if (key === 'constructor' && isObject(value) && Object.hasOwn(value, 'prototype')) {
        this.fail('forbidden_key', keyAt, 'constructor.prototype');
      }
      object[key] = value;
      if (this.endsAfterItem('}')) return object;
    }
  }

  private array(path: string, depth: number): Json[] {
    const items: Json[] = [];
    this.at++;
    if (this.closes(']')) return items;
    for (;;) {
      items.push(this.value(pointerTo(path, items.length), depth + 1));
      if (this.endsAfterItem(']')) return items;
    }
  }

  /** After the opening bracket: whether the value is empty. */
  private closes(bracket: string): boolean {
    this.space();
    if (this.text[this.at] !== bracket) return false;
    this.at++;
    return true;
  }

  /** After an item: past the closing bracket, or past the comma and at the next item. */
  private endsAfterItem(bracket: string): boolean {
    if (this.closes(bracket)) return true;
    if (this.text[this.at] !== ',') this.failAt('missing_comma');
    const commaAt = this.at;
    this.at++;
    this.space();
    if (this.text[this.at] === bracket) this.fail('trailing_comma', commaAt);
    return false;
  }

  private key(): string {
    if (this.text[this.at] === '"') return this.string();
    return this.failAt('unquoted_key');
  }

  private string(): string {
    const openedAt = this.at;
    let result = '';
    let plainFrom = openedAt + 1;
    for (let at = plainFrom; ; at++) {
      const code = this.text.charCodeAt(at);
      if (Number.isNaN(code)) this.fail('cut_off', this.text.length);
      if (code === 0x22) {
        result += this.text.slice(plainFrom, at);
        this.at = at + 1;
        break;
      }
      if (code === 0x5c) {
        const { char, next } = this.escape(at);
        result += this.text.slice(plainFrom, at) + char;
        plainFrom = next;
        at = next - 1;
      } else if (code < 0x20) {
        // A raw line break or tab can only mean itself; any other control character is more likely damage.
        if (code !== 0x0a && code !== 0x0d && code !== 0x09) this.fail('control_character', at);
        this.rawLineBreaks++;
      }
    }
    if (!result.isWellFormed()) this.fail('lone_surrogate', openedAt);
    return result;
  }

  private escape(at: number): { char: string; next: number } {
    const letter = this.text[at + 1];
    if (letter === undefined) this.fail('cut_off', this.text.length);
    if (letter === 'u') {
      const hex = this.text.slice(at + 2, at + 6);
      if (/^[0-9a-fA-F]{4}$/.test(hex)) return { char: String.fromCharCode(parseInt(hex, 16)), next: at + 6 };
      if (at + 2 + hex.length === this.text.length && /^[0-9a-fA-F]*$/.test(hex)) {
        this.fail('cut_off', this.text.length);
      }
    }
    const char = Object.hasOwn(ESCAPES, letter) ? ESCAPES[letter] : undefined;
    if (char === undefined) this.fail('bad_escape', at, `\\${letter}`);
    return { char: char, next: at + 2 };
  }

  private number(path: string): number | string {
    NUMBER.lastIndex = this.at;
    const text = NUMBER.exec(this.text)?.[0] ?? '';
    const word = this.word();
    // Inside an object no number can be the last thing: more digits may have been on their way.
    if (path !== '' && this.at + word.length === this.text.length) this.fail('cut_off', this.text.length);
    if (word === '-Infinity') this.fail('not_a_number', this.at, word);
    if (text === '' || word !== text) this.fail('bad_number', this.at, word);
    const fate = numberFate(text);
    if (fate === 'out_of_range') this.fail('number_out_of_range', this.at, text);
    if (fate === 'digits_lost' && !/^-?\d+$/.test(text)) this.fail('number_too_precise', this.at, text);
    this.at += text.length;
    if (fate === 'digits_lost') {
      this.exactNumbers.push({ path, digits: text });
      return text;
    }
    // -0 has no canonical JSON of its own; it is 0 wherever it is written again.
    return Number(text) === 0 ? 0 : Number(text);
  }

  private literal(): true | false | null {
    const word = this.word();
    if (word === 'true' || word === 'false' || word === 'null') {
      this.at += word.length;
      return word === 'null' ? null : word === 'true';
    }
    const endsHere = word !== '' && this.at + word.length === this.text.length;
    if (endsHere && ['true', 'false', 'null'].some((literal) => literal.startsWith(word))) {
      this.fail('cut_off', this.text.length);
    }
    return this.failAt('unexpected');
  }

  private word(): string {
    WORD.lastIndex = this.at;
    return WORD.exec(this.text)?.[0] ?? '';
  }

  private space(): void {
    this.at = skipSpace(this.text, this.at);
  }

  /** Fails at the current character, with a kinder name for well-known other notations. */
  private failAt(otherwise: SyntaxProblemKind): never {
    const char = this.text[this.at];
    if (char === undefined) this.fail('cut_off');
    if (char === "'" || char === '`') this.fail('single_quotes');
    if ('“”‘’„«»'.includes(char)) this.fail('curly_quotes');
    if (char === '#' || this.text.startsWith('//', this.at) || this.text.startsWith('/*', this.at)) {
      this.fail('comment');
    }
    const word = this.word();
    if (['True', 'False', 'None'].includes(word)) this.fail('python_literal', this.at, word);
    if (['NaN', 'Infinity', 'undefined', '+Infinity'].includes(word)) this.fail('not_a_number', this.at, word);
    if (/^[+.]\d/.test(word)) this.fail('bad_number', this.at, word);
    return this.fail(otherwise, this.at, word === '' ? char : word);
  }

  private fail(kind: SyntaxProblemKind, at = this.at, word?: string): never {
    throw new Fault({ kind, at, ...(word === undefined ? {} : { word }) });
  }
}
