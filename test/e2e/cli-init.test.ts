import { execFile } from 'node:child_process';
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Project } from '../support/command-line.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const bin = join(root, 'bin', 'perdure.js');
const run = promisify(execFile);

let shop: Project;
let project: string;
beforeAll(async () => {
  shop = await Project.open({});
  project = join(shop.dir, 'my-agent');
});
afterAll(() => shop[Symbol.asyncDispose]());

/** Commands in the new project's folder. */
const inProject = (...args: string[]) => shop.start(args, {}, project).ended;

describe('perdure init', () => {
  it('writes a project named after its folder, and says what to type next', async () => {
    const { code, out, err } = await shop.run('init', 'my-agent');
    expect(code).toBe(0);
    expect(out.trim().split('\n')).toEqual([
      '.gitignore',
      'README.md',
      'package.json',
      'perdure.config.ts',
      'script.ts',
      'shop.ts',
      'test/agent.test.ts',
      'tools.ts',
      'tsconfig.json',
    ]);
    // From a clone, as here, it is installed from the clone.
    expect(err).toContain(`cd my-agent\n  npm install ${relative(project, root)}\n  npm start`);
    const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string };
    expect(JSON.parse(await readFile(join(project, 'package.json'), 'utf8'))).toMatchObject({
      name: 'my-agent',
      dependencies: { perdure: `^${version}` },
    });
    expect(await readFile(join(project, '.gitignore'), 'utf8')).toContain('.perdure/');
  });

  it('never overwrites: it names what is there and writes nothing', async () => {
    await mkdir(join(shop.dir, 'other'));
    await writeFile(join(shop.dir, 'other', 'tools.ts'), 'mine');
    const { code, err } = await shop.run('init', 'other');
    expect(code).toBe(2);
    expect(err).toContain('has tools.ts already; nothing was written.\nChoose an empty folder: perdure init my-agent');
    expect(await readFile(join(shop.dir, 'other', 'tools.ts'), 'utf8')).toBe('mine');
    await expect(readFile(join(shop.dir, 'other', 'package.json'))).rejects.toThrow('ENOENT');
  });

  it('makes a project that runs to an answer', async () => {
    // As npm install would leave it.
    await mkdir(join(project, 'node_modules', '@types'), { recursive: true });
    await symlink(root, join(project, 'node_modules', 'perdure'));
    await symlink(join(root, 'node_modules', 'zod'), join(project, 'node_modules', 'zod'));
    await symlink(join(root, 'node_modules', '@types', 'node'), join(project, 'node_modules', '@types', 'node'));
    const { code, out, err } = await inProject('run', '--id', 'first', 'Refund order 1042 and print a return label');
    expect(err).toContain('✓ c2.0  refund_order');
    expect(out).toBe('Order 1042 is refunded, and its return label is printed.\n');
    expect(code).toBe(0);
    const refunds = JSON.parse(await readFile(join(project, '.shop', 'refunds.json'), 'utf8')) as unknown[];
    expect(refunds).toMatchObject([{ orderId: '1042', amountCents: 8900 }]);
    expect((await inProject('tools', 'check')).code).toBe(0);
  });

  it('makes a project whose own test passes and whose types are right', async () => {
    const { stdout } = await run(process.execPath, ['--test', 'test/agent.test.ts'], { cwd: project });
    expect(stdout).toMatch(/pass 1\n/);
    await run(process.execPath, [join(root, 'node_modules', 'typescript', 'bin', 'tsc')], { cwd: project });
  });
});

describe('completion, as bash asks for it', () => {
  /** What bash offers after the words, which it has split as it does; the last one is being typed. */
  async function offered(...words: string[]): Promise<string[]> {
    const line = `perdure ${words.join(' ').replaceAll(/ ?([:=]) ?/g, '$1')}`;
    const script = [
      `perdure() { "${process.execPath}" "${bin}" "$@"; }`,
      // A person may source it again, after an update.
      'set -e; source <(perdure completion bash); source <(perdure completion bash)',
      `COMP_WORDS=(perdure ${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length}`,
      `COMP_LINE='${line}'; COMP_POINT=${line.length}`,
      'set +e; _perdure',
      'printf "%s\\n" "${COMPREPLY[@]}"',
    ].join('\n');
    const { stdout } = await run('bash', ['--norc', '-c', script], { cwd: project, env: { ...process.env } });
    return stdout
      .trim()
      .split('\n')
      .filter((value) => value !== '');
  }

  it('offers commands and options', async () => {
    expect(await offered('tr')).toEqual(['transcript']);
    expect(await offered('list', '--st')).toEqual(['--status']);
    expect((await offered('list', '--status', 'ca')).sort()).toEqual(['cancelled', 'capped']);
  });

  it('completes behind a sign at which bash splits words', async () => {
    expect((await offered('list', '--status', '=', 'ca')).sort()).toEqual(['cancelled', 'capped']);
    await inProject('run', '--id', 'order:1042', 'Refund order 1042 and print a return label');
    expect(await offered('show', 'ord')).toEqual(['order:1042']);
    expect(await offered('show', 'order', ':', '10')).toEqual(['1042']);
    expect(await offered('show', 'order', ':')).toEqual(['1042']);
  });

  it('executes nothing of what is being typed', async () => {
    expect(await offered('run', '"$(touch typed)"', '--mo')).toEqual(['--model']);
    await expect(readFile(join(project, 'typed'))).rejects.toThrow('ENOENT');
  });

  it('offers runs, calls and tools from store and configuration', async () => {
    expect(await offered('show', 'fi')).toEqual(['first']);
    expect(await offered('show', 'first', '--call', 'c2')).toEqual(['c2.0', 'c2.1']);
    expect(await offered('list', '--tool', 'ref')).toEqual(['refund_order']);
  });

  it('offers nothing, and says nothing, where there is no configuration', async () => {
    const { code, out, err } = await shop.run('complete', '--', 'show', '');
    expect({ code, out, err }).toEqual({ code: 0, out: ':4\n', err: '' });
  });
});
