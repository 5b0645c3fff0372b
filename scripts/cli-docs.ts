/** docs/cli.md, made from the program itself so that the two cannot disagree. */
import type { Command, Help } from 'commander';
import { exitCodes, type ExitName, exitWords } from '../src/cli/exit-code.js';
import type { Platform } from '../src/cli/platform.js';
import { exitsOf, makeProgram } from '../src/cli/program.js';
import { notes } from '../src/cli/registration.js';

const intro = [
  '# The command line',
  'Written by `npx jiti scripts/write-docs.ts`; a test says when it is out of date. `perdure help COMMAND` says the same in a terminal.',
  'A run is named by its workflow id or any unique beginning of it. What a program reads is on standard output, what a person reads beside it on standard error; with `--json` nothing but JSON is on standard output. An error is one sentence and what to type next; `PERDURE_DEBUG=1` adds where it came from. Looking at runs needs no server and no worker: what is known comes from the store.',
];

export function cliMarkdown(): string {
  // Nothing of the world is asked for before a command runs.
  const program = makeProgram({} as Platform, '', () => undefined);
  const commands = commandsOf(program);
  return [...intro, exitSection(), ...commands.map((command) => section(command, program))].join('\n\n');
}

/** Every command that does something, subcommands behind their parents. */
export function commandsOf(command: Command): Command[] {
  return command.commands.flatMap((child) => [...(notes(child) ? [child] : []), ...commandsOf(child)]);
}

function exitSection(): string {
  const rows = (Object.keys(exitCodes) as ExitName[]).map((name) => `| ${exitCodes[name]} | ${exitWords[name]} |`);
  return ['## Exit codes', '', '| code | meaning |', '| --- | --- |', ...rows].join('\n');
}

function section(command: Command, program: Command): string {
  const help = command.createHelp();
  const { examples, details = '' } = notes(command) ?? { examples: [] };
  const codes = exitsOf(command, program).map((name) => exitCodes[name]);
  return [
    `## \`${help.commandUsage(command).replace(' [options]', '').replace(' [command]', '')}\``,
    `${sentence(command.description())}.`,
    details.replaceAll('\n', ' '),
    table(terms(command, help)),
    ['```sh', ...examples.map((line) => line.replace(/ {2}(?=\S)/, ' # ')), '```'].join('\n'),
    `Exit codes: ${codes.join(', ')}.`,
  ]
    .filter((block) => block !== '')
    .join('\n\n');
}

function terms(command: Command, help: Help): [string, string][] {
  return [
    ...help
      .visibleArguments(command)
      .map((one): [string, string] => [help.argumentTerm(one), help.argumentDescription(one)]),
    ...help
      .visibleOptions(command)
      .filter(({ long }) => long !== '--help')
      .map((one): [string, string] => [help.optionTerm(one), help.optionDescription(one)]),
  ];
}

function table(rows: readonly [string, string][]): string {
  if (rows.length === 0) return '';
  const lines = rows.map(([term, text]) => `| \`${term}\` | ${text.replaceAll('|', '\\|')} |`);
  return ['| argument or option | meaning |', '| --- | --- |', ...lines].join('\n');
}

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
