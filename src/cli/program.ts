import { Command, type CommanderError } from 'commander';
import { addCancel } from './commands/cancel.js';
import { addCompletion } from './commands/completion.js';
import { addDev } from './commands/dev.js';
import { addDoctor } from './commands/doctor.js';
import { addExport } from './commands/export-failures.js';
import { addInit } from './commands/init.js';
import { addList } from './commands/list.js';
import { addReplay } from './commands/replay.js';
import { addResolve } from './commands/resolve.js';
import { addRetry } from './commands/retry.js';
import { addLogs } from './commands/logs.js';
import { addRun } from './commands/run.js';
import { addShow } from './commands/show.js';
import { addStats } from './commands/stats.js';
import { addStore } from './commands/store.js';
import { addTools } from './commands/tools.js';
import { addTranscript } from './commands/transcript.js';
import { addWatch } from './commands/watch.js';
import { addWorker } from './commands/worker.js';
import { exitCodes, type ExitName, exitWords } from './exit-code.js';
import type { Platform } from './platform.js';
import { type AddCommand, notes } from './registration.js';

/** Every command, as `perdure --help` groups them. */
const GROUPS: readonly [title: string, commands: readonly AddCommand[]][] = [
  ['Start:', [addInit, addDev, addWorker, addRun]],
  ['Look into runs:', [addList, addShow, addWatch, addLogs, addTranscript, addStats]],
  ['Act on runs:', [addRetry, addResolve, addCancel, addReplay]],
  ['Tools and records:', [addTools, addExport]],
  ['Set-up:', [addDoctor, addStore, addCompletion]],
];

const EXAMPLES = `
Examples:
  perdure init my-agent               a new project that runs at once
  perdure dev                         server, worker and Temporal UI
  perdure run "Refund order 1042"     the answer on stdout, progress on stderr
  perdure run --max-steps 50 - < task.txt
  perdure list --status running
  perdure show run-4k                 any unique beginning of a run's id
  perdure show run-4k --call c3.1     everything about one call
  perdure watch run-4k                as it goes on: calls, waits, budgets
  perdure retry run-4k                go on after the tool was mended
  perdure stats --since 7d            how the tools do`;

/** The command line. `finish` is given the exit code of the command that ran. */
export function makeProgram(platform: Platform, version: string, finish: (exitCode: number) => void): Command {
  const program: Command = new Command('perdure')
    .description('Durable tool calls for LLM agents, on Temporal.')
    .version(version, '-V, --version')
    .option('--config <file>', 'default: perdure.config.ts here or in the nearest folder above')
    .hook('preAction', (root) => {
      const { config } = root.opts<{ config?: string }>();
      if (config !== undefined) platform.useConfig(config);
    })
    .addHelpText('after', EXAMPLES)
    .addHelpText('afterAll', ({ command }) => `\nExit codes:\n${exitLines(exitsOf(command, program))}`)
    .showSuggestionAfterError(true)
    .configureOutput({
      writeOut: (text) => platform.out.write(text),
      writeErr: (text) => platform.err.write(text),
      // What is wrong is said by the one place that explains errors.
      outputError: () => undefined,
      getOutHelpWidth: () => platform.out.columns ?? 80,
      getErrHelpWidth: () => platform.err.columns ?? 80,
      getOutHasColors: () => platform.out.colour,
      getErrHasColors: () => platform.err.colour,
    });

  // Settings are inherited by the commands that are made after them.
  for (const [title, commands] of GROUPS) {
    program.commandsGroup(title);
    for (const add of commands) add(program, { platform, finish });
  }
  for (const command of allOf(program)) {
    command.exitOverride((error) => {
      refusedBy.set(error, command);
      throw error;
    });
  }
  return program.commandsGroup('Help:');
}

const refusedBy = new WeakMap<CommanderError, Command>();

/** What to type to read how the command that refused its words is used. */
export function helpFor(error: CommanderError): string {
  const names: string[] = [];
  for (let command = refusedBy.get(error); command?.parent; command = command.parent) names.unshift(command.name());
  return ['perdure', ...names, '--help'].join(' ');
}

function allOf(command: Command): Command[] {
  return [command, ...command.commands.flatMap(allOf)];
}

/** How a command may end, least exit code first. The program as a whole may end in each way. */
export function exitsOf(command: Command, program: Command): ExitName[] {
  const own = new Set<ExitName>(['done', 'broken', 'usage', ...(notes(command)?.exits ?? [])]);
  return (Object.keys(exitCodes) as ExitName[]).filter((name) => command === program || own.has(name));
}

function exitLines(exits: readonly ExitName[]): string {
  return exits.map((name) => `  ${String(exitCodes[name]).padEnd(4)} ${exitWords[name]}`).join('\n');
}
