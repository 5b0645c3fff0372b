import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ESLint, Linter } from 'eslint';
import tseslint from 'typescript-eslint';
import { describe, expect, it } from 'vitest';
import { importBoundaries } from '../../scripts/eslint/import-boundaries.js';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** The boundary rule's messages for a file that does not exist, with the options that eslint.config.js has for it. */
async function complaints(file: string, code: string): Promise<string[]> {
  const config = (await new ESLint({ cwd: root }).calculateConfigForFile(file)) as Linter.Config;
  const rule = 'perdure/import-boundaries';
  const messages = new Linter({ cwd: root }).verify(
    code,
    [
      {
        files: ['**/*.ts'],
        languageOptions: { parser: tseslint.parser },
        plugins: { perdure: { rules: { 'import-boundaries': importBoundaries } } },
        rules: { [rule]: config.rules?.[rule] ?? 'off' },
      },
    ],
    { filename: `${root}/${file}` },
  );
  return messages.map(({ message }) => message);
}

describe('import boundaries', () => {
  it.each(readdirSync(`${root}/src`, { withFileTypes: true }).filter((entry) => entry.isDirectory()))(
    'hold in src/$name',
    async ({ name }) => {
      expect(await complaints(`src/${name}/x.ts`, `import { main } from '../cli/main.js';`)).toHaveLength(
        name === 'cli' ? 0 : 1,
      );
    },
  );

  it.each([
    ['src/contract/x.ts', `import type { Json } from './json.js';`],
    [
      'src/policy/x.ts',
      `import { sha256 } from '@noble/hashes/sha2.js'; import type { Call } from '../contract/call.js';`,
    ],
    ['src/policy/deep/x.ts', `import { a } from '../ledger.js'; import { b } from '../../contract/call.js';`],
    [
      'src/workflows/x.ts',
      `import { sleep } from '@temporalio/workflow'; import type { A } from '../activities/a.js';`,
    ],
    ['src/workflows/x.ts', `export type { A } from '../activities/a.js'; import { b } from '../temporal/failures.js';`],
    ['src/cli/x.ts', `import { createWorker } from '../worker.js'; import pc from 'picocolors';`],
    ['src/activities/x.ts', `import { readFile } from 'node:fs/promises'; import { b } from '../store/store.js';`],
    ['src/worker.ts', `import { a } from './activities/a.js'; import { b } from './workflows/b.js';`],
  ])('let %s %s', async (file, code) => {
    expect(await complaints(file, code)).toEqual([]);
  });

  it.each([
    ['src/contract/x.ts', `import { a } from '../policy/a.js';`, 'src/contract must not import src/policy'],
    [
      'src/contract/x.ts',
      `import type { Client } from '@temporalio/client';`,
      'src/contract must not import @temporalio/client',
    ],
    ['src/policy/x.ts', `import { randomUUID } from 'node:crypto';`, 'src/policy must not import node:crypto'],
    ['src/policy/x.ts', `export * from '../store/store.js';`, 'src/policy must not import src/store'],
    ['src/policy/x.ts', `const a = await import('../tools/tool.js');`, 'src/policy must not import src/tools'],
    ['src/policy/x.ts', `type A = import('../tools/tool.js').Tool;`, 'src/policy must not import src/tools'],
    ['src/policy/deep/x.ts', `import { a } from '../../tools/tool.js';`, 'src/policy must not import src/tools'],
    [
      'src/workflows/x.ts',
      `import { a } from '../activities/a.js';`,
      'src/workflows may import only types of src/activities: write `import type`',
    ],
    ['src/workflows/x.ts', `import type { S } from '../store/store.js';`, 'src/workflows must not import src/store'],
    ['src/workflows/x.ts', `import { readFile } from 'node:fs';`, 'src/workflows must not import node:fs'],
    [
      'src/workflows/x.ts',
      `import { Worker } from '@temporalio/worker';`,
      'src/workflows must not import @temporalio/worker',
    ],
    ['src/client/x.ts', `import type { A } from '../activities/a.js';`, 'src/client must not import src/activities'],
    ['src/cli/x.ts', `import { a } from '../activities/a.js';`, 'src/cli must not import src/activities'],
    ['src/tools/x.ts', `import { a } from '../worker.js';`, 'src/tools must not import src/worker'],
  ])('keep %s from %s', async (file, code, complaint) => {
    expect(await complaints(file, code)).toEqual([complaint]);
  });
});

describe('the other rules of the layers', () => {
  // Real files, because these rules run beside the type-checked ones.
  const eslint = new ESLint({
    cwd: root,
    overrideConfig: tseslint.configs.disableTypeChecked as Linter.Config,
    ruleFilter: ({ ruleId }) => ruleId.startsWith('no-restricted-'),
  });
  const lint = async (code: string, filePath: string) => {
    const [result] = await eslint.lintText(code, { filePath: `${root}/${filePath}` });
    return result?.messages.map(({ message }) => message);
  };

  it.each([
    ['Date.now()', 'Time is an argument of a policy.'],
    ['new Date()', 'Time is an argument of a policy.'],
    ['Math.random()', 'Chance is an argument of a policy.'],
    ['process.env', 'Policies are pure: what they need is an argument.'],
  ])('keep %s out of policies', async (expression, complaint) => {
    const code = `export const a = ${expression};`;
    expect(await lint(code, 'src/policy/ledger.ts')).toEqual([expect.stringContaining(complaint)]);
    expect(await lint(code, 'src/tools/tool.ts')).toEqual([]);
  });

  it('allow a date that is made from an argument', async () => {
    expect(await lint('export const a = (ms: number) => new Date(ms);', 'src/policy/ledger.ts')).toEqual([]);
  });

  it.each(['common', 'workflow', 'activity', 'client'])('keep ApplicationFailure of %s in the mapper', async (name) => {
    const code = `import { ApplicationFailure } from '@temporalio/${name}'; export const a = ApplicationFailure;`;
    expect(await lint(code, 'src/tools/tool.ts')).toEqual([expect.stringContaining('src/temporal')]);
  });
});
