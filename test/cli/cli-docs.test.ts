import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import { expect, test } from 'vitest';
import { cliMarkdown, commandsOf } from '../../scripts/cli-docs.js';
import { makeProgram } from '../../src/cli/program.js';
import type { Platform } from '../../src/cli/platform.js';
import { runScripted } from './scripted-platform.js';

test('docs/cli.md is what the program makes of it; write it anew with `npx jiti scripts/write-docs.ts`', async () => {
  const page = fileURLToPath(new URL('../../docs/cli.md', import.meta.url));
  const style = await resolveConfig(page);
  expect(readFileSync(page, 'utf8')).toBe(await format(cliMarkdown(), { ...style, filepath: page }));
});

/** Every command of the program, `export failures` as two words. */
const commands = commandsOf(makeProgram({} as Platform, '', () => undefined)).map((command) =>
  command.parent?.parent ? [command.parent.name(), command.name()] : [command.name()],
);

test.each(commands.map((words) => [words.join(' '), words] as const))(
  '%s --help has examples and exit codes',
  async (name, words) => {
    const { exitCode, out } = await runScripted([...words, '--help']);
    expect(exitCode).toBe(0);
    expect(out).toContain(`Usage: perdure ${name}`);
    expect(out).toMatch(/\nExamples:\n {2}.*perdure /);
    expect(out).toContain('\nExit codes:\n  0    done\n');
  },
);

test('no command is without its notes', () => {
  const leaves = makeProgram({} as Platform, '', () => undefined).commands.map((command) => command.name());
  const noted = new Set(commands.map(([first]) => first));
  expect(leaves.filter((name) => !noted.has(name))).toEqual([]);
});
