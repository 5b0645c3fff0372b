import { CommanderError } from 'commander';
import { completeWords } from './complete.js';
import { exitCodes } from './exit-code.js';
import { explainError } from './explain-error.js';
import type { Platform } from './platform.js';
import { makeProgram } from './program.js';
import { makeStyle } from './render/style.js';

export interface CommandLineOptions {
  platform: Platform;
  version: string;
  /** Adds the stack to what is said of an error. */
  debug: boolean;
}

/** Runs one command and returns its exit code. Never throws: errors are told on standard error. */
export async function runCommandLine(args: readonly string[], options: CommandLineOptions): Promise<number> {
  const { platform } = options;
  let exitCode: number = exitCodes.done;
  const program = makeProgram(platform, options.version, (code) => (exitCode = code));
  // How the script of `perdure completion` asks: perdure complete -- WORDS
  if (args[0] === 'complete' && args[1] === '--') {
    await completeWords(platform, program, args.slice(2));
    return exitCodes.done;
  }
  if (args.length === 0) {
    program.outputHelp({ error: true });
    return exitCodes.usage;
  }
  try {
    await program.parseAsync(args, { from: 'user' });
    return exitCode;
  } catch (error) {
    // Help and version were asked for and are printed already.
    if (error instanceof CommanderError && error.exitCode === 0) return exitCodes.done;
    // A command that is only a group of others: its help is printed already.
    if (error instanceof CommanderError && error.code === 'commander.help') return exitCodes.usage;
    return tell(error, options);
  }
}

function tell(error: unknown, { platform, debug }: CommandLineOptions): number {
  const { sentence, next, exitCode } = explainError(error);
  const { colour, columns } = platform.err;
  const { colours } = makeStyle({ colour, columns, nowMs: platform.nowMs() });
  platform.err.write(`${colours.red('perdure:')} ${sentence}\n`);
  if (next !== undefined) platform.err.write(`${next}\n`);
  if (debug && error instanceof Error) platform.err.write(`\n${stackOf(error)}\n`);
  return exitCode;
}

function stackOf(error: Error): string {
  const cause = error.cause instanceof Error ? `\ncaused by ${stackOf(error.cause)}` : '';
  return `${error.stack ?? String(error)}${cause}`;
}
