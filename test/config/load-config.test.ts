import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/load-config.js';
import { ConfigError } from '../../src/config/config-error.js';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'perdure-config-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

function write(name: string, text: string): string {
  const path = join(folder, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  return path;
}
const config = (body: string, head = '') =>
  write('perdure.config.ts', `import { defineConfig, defineTool } from 'perdure';\n${head}\nexport default ${body};\n`);
const load = (options: object = {}) => loadConfig({ cwd: folder, env: {}, ...options });
const tool = `defineTool({ name: 'a', description: 'A.', input: { type: 'object' }, execute: () => 1 })`;

describe('loadConfig', () => {
  it('finds the nearest file upwards and resolves every default', async () => {
    config(`defineConfig({ tools: [${tool}] })`);
    mkdirSync(join(folder, 'deep/er'), { recursive: true });
    expect(await load({ cwd: join(folder, 'deep/er') })).toMatchObject({
      rootDir: folder,
      instructions: '',
      limits: { steps: 25, calls: null, tokens: null, costUsd: null, wallTimeMs: null, failures: null },
      store: { path: join(folder, '.perdure/store.db') },
      heartbeatTimeoutMs: 10_000,
      maxConcurrentCalls: 50,
      secrets: [],
      workflowsPath: undefined,
      tools: [{ definition: { name: 'a' } }],
    });
  });

  it('takes TypeScript, zod, several files, and this very copy of perdure', async () => {
    symlinkSync(fileURLToPath(new URL('../../node_modules', import.meta.url)), join(folder, 'node_modules'));
    write(
      'tools/refund.ts',
      `import { z } from 'zod';
       import { defineTool, ConfigError } from 'perdure';
       globalThis.seenConfigError = ConfigError;
       const cents: number = 5;
       export const refund = defineTool({
         name: 'refund', description: 'R.', input: z.object({ id: z.string() }),
         execute: async ({ id }: { id: string }) => ({ id, cents }),
       });`,
    );
    config('defineConfig({ tools: [refund] })', "import { refund } from './tools/refund.ts';");
    const { tools } = await load();
    expect(await tools[0]?.execute({ id: 'x' }, {} as never)).toEqual({ id: 'x', cents: 5 });
    expect((globalThis as { seenConfigError?: unknown }).seenConfigError).toBe(ConfigError);
  });

  it.each(['perdure.config.mts', 'perdure.config.js', 'perdure.config.mjs'])('takes %s', async (name) => {
    write(name, `export default { tools: [], instructions: '${name}' };`);
    expect((await load()).instructions).toBe(name);
  });

  it('takes a named file, and resolves paths from its folder', async () => {
    const workflows = write('other/flows.ts', '');
    write('other/my.config.ts', `export default { tools: [], workflows: './flows.ts', store: { path: 'x.db' } };`);
    expect(await load({ file: 'other/my.config.ts' })).toMatchObject({
      rootDir: join(folder, 'other'),
      workflowsPath: workflows,
      store: { path: join(folder, 'other/x.db') },
    });
  });

  it('says what to type where there is no file', async () => {
    await expect(load()).rejects.toThrow(
      `there is no perdure.config.ts in ${folder} or a folder above it. Create one:\n\n  import { defineConfig } from 'perdure';`,
    );
    await expect(load({ file: 'nope.ts' })).rejects.toThrow(`there is no configuration at ${join(folder, 'nope.ts')}`);
  });

  it('names file and line of a syntax error', async () => {
    const file = write('perdure.config.ts', `export default {\n  tools: [],\n  limits: ][,\n};\n`);
    await expect(load()).rejects.toThrow(`${file}:3:`);
    await expect(load()).rejects.toThrow(ConfigError);
  });

  it('says what is wrong at the end of a file in the order of its words', async () => {
    const file = write('perdure.config.ts', 'export default {\n');
    await expect(load()).rejects.toThrow(`${file}:2:0: Unexpected token`);
  });

  it('names file and line of an error while it runs', async () => {
    const file = write(
      'perdure.config.ts',
      `const nothing = undefined as any;\n\nexport default { tools: nothing.x };\n`,
    );
    await expect(load()).rejects.toThrow(`${file}:3: Cannot read properties of undefined`);
  });

  it('says which package to install, and which file is missing', async () => {
    write('perdure.config.ts', `import { x } from '@acme/tools/deep';\nexport default { tools: [x] };`);
    await expect(load()).rejects.toThrow(
      "imports '@acme/tools/deep', which is not installed; type: npm install @acme/tools",
    );
    write('b/perdure.config.ts', `import { x } from './nope.js';\nexport default { tools: [x] };`);
    await expect(load({ cwd: join(folder, 'b') })).rejects.toThrow("imports './nope.js', which does not exist");
  });

  it('keeps the path of a tool’s mistake', async () => {
    config(`defineConfig({ tools: [defineTool({ name: 'refund', description: 'R.', input: { type: 'object' },
      execute: () => 1, retry: { timeout: { maxAttempts: 0 } } })] })`);
    const error = await load().catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(ConfigError);
    expect(error).toMatchObject({
      path: 'tools.refund.retry.timeout.maxAttempts',
      message: 'tools.refund.retry.timeout.maxAttempts: expected 1 or more, got 0',
    });
  });

  it('asks for a default export', async () => {
    const file = write('perdure.config.ts', `export const config = {};`);
    await expect(load()).rejects.toThrow(`${file} exports no configuration; write: export default defineConfig(`);
  });
});
