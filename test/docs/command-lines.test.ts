import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CommanderError, type Command } from 'commander';
import { describe, expect, it } from 'vitest';
import type { Platform } from '../../src/cli/platform.js';
import { makeProgram } from '../../src/cli/program.js';
import { notes } from '../../src/cli/registration.js';
import { readPage, readPages, root } from './page.js';
import { commandsIn } from './shell-words.js';

const pages = [
  ...readPages(),
  ...['CONTRIBUTING.md', 'examples/shop/README.md', 'templates/agent/README.md'].map(readPage),
];
const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: Record<string, string> };

/** Words behind `perdure`, however it is called. */
function perdureWords(command: readonly string[]): string[] | undefined {
  const name = command.indexOf('perdure');
  const before = command.slice(0, Math.max(name, 0)).join(' ');
  if (name < 0 || !['', 'npx', 'npm run', 'exec'].includes(before)) return undefined;
  const words = command.slice(name + 1);
  return before === 'npm run' && words[0] === '--' ? words.slice(1) : words;
}

const shellBlocks = pages.flatMap(({ blocks }) => blocks).filter(({ language }) => /^(sh|bash)$/.test(language));
const lines = shellBlocks.flatMap(({ text, place }) =>
  commandsIn(text).flatMap((command) => {
    const words = perdureWords(command);
    return words ? [{ place, words, line: words.join(' ') }] : [];
  }),
);

/** `perdure …` within a sentence, often without what a command needs. */
const mentions = pages.flatMap(({ path, text }) =>
  [...text.matchAll(/`(?:npx )?perdure ([^`\n]+)`/g)].map(([, line = '']) => ({ path, line })),
);

async function parse(words: string[]): Promise<string | undefined> {
  const screen = { isTerminal: false, colour: false, columns: undefined, write: () => undefined };
  const world = { out: screen, err: screen, useConfig: () => undefined };
  const program = makeProgram(world as unknown as Platform, '0', () => undefined);
  quieten(program);
  try {
    await program.parseAsync(words, { from: 'user' });
    return undefined;
  } catch (error) {
    // Help was asked for, or a command was named of which only its subcommands do anything.
    if (error instanceof CommanderError && /^commander\.help/.test(error.code)) return undefined;
    return error instanceof Error ? error.message : String(error);
  }
}

/** Commands that are parsed and not carried out. */
function quieten(command: Command): void {
  for (const child of command.commands) {
    quieten(child);
    if (notes(child)) child.action(() => undefined);
  }
}

describe('command lines of the documentation', () => {
  it('are found', () => {
    expect(lines.length).toBeGreaterThan(60);
    expect(mentions.length).toBeGreaterThan(40);
  });

  it.each(lines)('$place: perdure $line', async ({ words }) => {
    expect(await parse(words)).toBeUndefined();
  });

  it('are refused where an option or a command has another name', async () => {
    expect(await parse(['show', 'run-4k', '--kall', 'c1.0'])).toContain("unknown option '--kall'");
    expect(await parse(['list', '--status', 'done'])).toContain("'done' is invalid");
    expect(await parse(['repeat', 'run-4k'])).toContain("unknown command 'repeat'");
  });

  it('are known to the program wherever a sentence names them', async () => {
    const wrong: string[] = [];
    for (const { path, line } of mentions) {
      const [words = []] = commandsIn(line.replace(/[[\]]/g, ''));
      const problem = await parse(words);
      // A sentence may leave out what the command acts on.
      if (
        problem !== undefined &&
        !/missing required argument|argument missing|required option .* not specified/.test(problem)
      ) {
        wrong.push(`${path}: perdure ${line}: ${problem}`);
      }
    }
    expect(wrong).toEqual([]);
  });

  it('run only npm scripts that exist', () => {
    const called = shellBlocks.flatMap(({ text, place }) =>
      commandsIn(text).flatMap(([npm, run, script]) => (npm === 'npm' && run === 'run' ? [{ place, script }] : [])),
    );
    const template = JSON.parse(readFileSync(join(root, 'templates/agent/package.json'), 'utf8')) as {
      scripts: Record<string, string>;
    };
    const known = { ...scripts, ...template.scripts };
    // The gate before somebody's own deployment.
    expect(called.filter(({ script = '' }) => !(script in known) && script !== 'deploy')).toEqual([]);
  });
});

describe('commandsIn', () => {
  it.each([
    [
      'perdure run "Refund order 1042" | jq .a',
      [
        ['perdure', 'run', 'Refund order 1042'],
        ['jq', '.a'],
      ],
    ],
    ['A=b C=d perdure worker # two', [['perdure', 'worker']]],
    ['source <(perdure completion bash)', [['source'], ['perdure', 'completion', 'bash']]],
    ['perdure run - < task.txt > answer.txt 2>&1', [['perdure', 'run', '-']]],
    ['a && b; c &\nd', [['a'], ['b'], ['c'], ['d']]],
    ['jq \'select(.x == "y") | .z\'', [['jq', 'select(.x == "y") | .z']]],
  ])('%s', (text, commands) => {
    expect(commandsIn(text)).toEqual(commands);
  });
});
