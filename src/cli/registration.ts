/** How a command becomes part of the program: each file in `commands/` registers its own, and `program.ts` lists them. */
import { Argument, type Command, InvalidArgumentError, Option } from 'commander';
import { parseDuration } from '../config/duration.js';
import type { ExitName } from './exit-code.js';
import type { Platform } from './platform.js';

export interface CommandContext {
  platform: Platform;
  /** Given the exit code of the command that ran. */
  finish: (exitCode: number) => void;
}

/** Adds one command to `program`. */
export type AddCommand = (program: Command, context: CommandContext) => void;

/** What a command's help and docs/cli.md say besides its options. */
export interface CommandNotes {
  /** Command lines as a person types them, one a line, with an optional remark after two spaces. */
  examples: readonly string[];
  /** What the description leaves open, in whole sentences. */
  details?: string;
  /** How it may end, besides 0, `usage` and `broken`, which every command may. */
  exits?: readonly ExitName[];
}

const notesOf = new WeakMap<Command, CommandNotes>();

/** Adds examples and exit codes to a command's help, and keeps them for the documentation. */
export function withNotes(command: Command, notes: CommandNotes): Command {
  notesOf.set(command, notes);
  const details = notes.details === undefined ? [] : [`\n${notes.details}`];
  const examples = ['\nExamples:', ...notes.examples.map((line) => `  ${line}`)];
  return command.addHelpText('after', () => [...details, ...examples].join('\n'));
}

export function notes(command: Command): CommandNotes | undefined {
  return notesOf.get(command);
}

export function runArgument(): Argument {
  return new Argument('<run>', "the run's id, or any unique beginning of it");
}

export function jsonOption(): Option {
  return new Option('--json', 'print JSON, and nothing else, on standard output');
}

export function wholeNumber(text: string): number {
  const number = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(number) && number > 0) return number;
  throw new InvalidArgumentError('Expected a whole number, 1 or more.');
}

/** Milliseconds. */
export function timeSpan(text: string): number {
  try {
    return parseDuration('--since', text, { maxMs: Number.MAX_SAFE_INTEGER });
  } catch {
    throw new InvalidArgumentError('Expected a length of time such as 30m, 12h or 7d.');
  }
}
