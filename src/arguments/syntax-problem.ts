import { MAX_DEPTH, type SyntaxProblem } from './json-scanner.js';

/** A syntax problem in words for the model: what is wrong, and how to write it instead. */
export interface SyntaxWords {
  problem: string;
  hint: string;
}

const EXCERPT_CHARACTERS = 60;

const ONE_OBJECT = 'Send the arguments as one JSON object and nothing else.';

/** Words a syntax problem, with its position and a short excerpt. */
export function wordSyntaxProblem(text: string, problem: SyntaxProblem): SyntaxWords {
  const { say, hint } = words(text, problem);
  return { problem: `${say} (at character ${problem.at + 1}: ${excerpt(text, problem.at)})`, hint };
}

/** A short piece of the text around a position, on one line, in quotes that are not JSON's. */
export function excerpt(text: string, at: number): string {
  const from = Math.max(0, Math.min(at - 20, text.length - EXCERPT_CHARACTERS));
  const to = Math.min(text.length, from + EXCERPT_CHARACTERS);
  const piece = text.slice(from, to).toWellFormed().replace(/\s+/g, ' ');
  return `«${from > 0 ? '…' : ''}${piece}${to < text.length ? '…' : ''}»`;
}

function words(text: string, { kind, at, word = '' }: SyntaxProblem): { say: string; hint: string } {
  switch (kind) {
    case 'cut_off':
      return { say: 'The JSON ends in the middle', hint: ONE_OBJECT };
    case 'duplicate_key':
      return {
        say: `The key ${shown(word)} appears twice in the same object, so it is not clear which value was meant`,
        hint: 'Write each key once.',
      };
    case 'forbidden_key':
      return { say: `The key ${shown(word)} is not allowed in arguments`, hint: 'Leave that key out.' };
    case 'too_deep':
      return { say: `The JSON is nested more than ${MAX_DEPTH} levels deep`, hint: 'Send a flatter value.' };
    case 'number_out_of_range':
      return {
        say: `The number ${cut(word)} is outside the range that can be passed on`,
        hint: 'Send a number of ordinary size, or leave the argument out.',
      };
    case 'number_too_precise':
      return {
        say: `The number ${cut(word)} has more digits than can be passed on without rounding`,
        hint: 'Write it with fewer digits, or as text in double quotes where the argument takes text.',
      };
    case 'bad_number':
      return {
        say: `${cut(word)} is not a JSON number`,
        hint: 'Write plain decimal digits without leading zeros, plus sign or separators; put codes such as "00501" in double quotes.',
      };
    case 'not_a_number':
      return {
        say: `${word} does not exist in JSON`,
        hint: `Leave the argument out, or send null where it takes null, instead of ${word}.`,
      };
    case 'lone_surrogate':
      return {
        say: 'A text holds half of a Unicode character (a lone surrogate)',
        hint: 'Send the character whole, or leave it out.',
      };
    case 'bad_escape':
      return {
        say: `${cut(word)} is not an escape that JSON knows`,
        hint: 'Inside JSON text a backslash is written \\\\.',
      };
    case 'control_character':
      return {
        say: 'A text holds an unescaped control character',
        hint: 'Write control characters as \\u escapes, or leave them out.',
      };
    case 'single_quotes':
      return {
        say: /\b(?:True|False|None)\b/.test(text)
          ? 'they are written as a Python literal, with single quotes, which JSON does not know'
          : 'they use single quotes, which JSON does not know',
        hint: 'Use double quotes around keys and text, and true, false and null as JSON writes them.',
      };
    case 'curly_quotes':
      return { say: 'they use typographic quotes', hint: 'Use plain double quotes (") around keys and text.' };
    case 'python_literal':
      return {
        say: `they are written as a Python literal: ${word} does not exist in JSON`,
        hint: 'Write true, false and null, and double quotes around keys and text.',
      };
    case 'trailing_comma':
      return {
        say: 'A comma stands before a closing bracket, so something may be missing after it',
        hint: 'Leave the last comma out, or add what should follow it.',
      };
    case 'comment':
      return { say: 'they hold a comment, which JSON does not know', hint: 'Leave comments out.' };
    case 'unquoted_key':
      return { say: 'A key is not in double quotes', hint: 'Put every key in double quotes.' };
    case 'missing_comma':
      return {
        say: 'A comma or a closing bracket is missing',
        hint: 'Separate values by commas, and escape double quotes inside text as \\".',
      };
    case 'missing_colon':
      return { say: 'A colon is missing after a key', hint: 'Write each argument as "name": value.' };
    case 'unexpected':
      return unexpectedWords(text, at);
  }
}

function unexpectedWords(text: string, at: number): { say: string; hint: string } {
  if (text[at] === '<') {
    return {
      say: 'they are written with tags (XML or HTML), not as JSON',
      hint: 'Send the arguments as a JSON object, each argument as "name": value.',
    };
  }
  const atStart = text.slice(0, at).trim() === '';
  if (atStart && text.includes('{')) {
    return { say: 'they are not JSON: there is other text before the object', hint: ONE_OBJECT };
  }
  return { say: atStart ? 'they are not JSON' : 'they are not valid JSON', hint: ONE_OBJECT };
}

function shown(word: string): string {
  return JSON.stringify(cut(word));
}

function cut(word: string): string {
  return word.length <= 40 ? word : `${word.slice(0, 37).toWellFormed()}…`;
}
