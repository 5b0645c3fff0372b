import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { withLock } from '../../scripts/set-up/lock.mjs';
import { runQuietly } from '../../scripts/set-up/run.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'perdure-set-up-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

function node(args: string[], options: { env?: NodeJS.ProcessEnv } = {}): Promise<Ended> {
  return new Promise((resolve) => {
    const child = execFile(process.execPath, args, { cwd: root, ...options }, (_error, stdout, stderr) =>
      resolve({ code: child.exitCode, stdout, stderr }),
    );
  });
}

const launch = (...args: string[]) => node(['scripts/launch.mjs', ...args]);

describe('the launcher', () => {
  it('runs the command with a Node that is new enough first on PATH', async () => {
    const { code, stdout } = await launch('packages', '--', 'node', '-p', 'process.versions.node');
    expect(code).toBe(0);
    const [major, minor] = stdout.trim().split('.').map(Number);
    expect(Number(major) * 1000 + Number(minor)).toBeGreaterThanOrEqual(22_018);
  });

  it('hands arguments on as they are', async () => {
    const { stdout } = await launch(
      'packages',
      '--',
      'node',
      '-p',
      'JSON.stringify(process.argv.slice(1))',
      'a b',
      '--',
      '$HOME',
    );
    expect(JSON.parse(stdout)).toEqual(['a b', '--', '$HOME']);
  });

  it('ends as the command ended', async () => {
    expect((await launch('packages', '--', 'node', '-e', 'process.exit(7)')).code).toBe(7);
    expect((await launch('packages', '--', 'node', '-e', 'process.kill(process.pid, "SIGKILL")')).code).toBe(137);
    expect(await launch('packages', '--', 'no-such-command')).toMatchObject({ code: 127 });
  });

  it('sends SIGTERM on to the command and waits for its end', async () => {
    const program = `process.on('SIGTERM', () => { console.log('stopping'); process.exit(3); }); console.log('ready'); setInterval(() => {}, 1000)`;
    const child = spawn(process.execPath, ['scripts/launch.mjs', 'packages', '--', 'node', '-e', program], {
      cwd: root,
    });
    let output = '';
    child.stdout.on('data', (chunk) => (output += String(chunk)));
    await expect.poll(() => output).toBe('ready\n');
    child.kill('SIGTERM');
    expect(await once(child, 'close')).toEqual([3, null]);
    expect(output).toBe('ready\nstopping\n');
  });

  it('says how it is used where the need is unknown', async () => {
    expect(await launch('everything')).toMatchObject({
      code: 2,
      stderr: 'usage: node scripts/launch.mjs packages|build|server|cli|tests [-- COMMAND …]\n',
    });
  });
});

describe('the lock of a set-up', () => {
  it('lets two run one after the other, and is gone afterwards', async () => {
    const order: string[] = [];
    const work = (name: string) =>
      withLock(
        folder,
        () => undefined,
        async () => {
          order.push(`${name} starts`);
          await sleep(50);
          order.push(`${name} ends`);
        },
      );
    await Promise.all([work('a'), work('b')]);
    const [first, second] = order[0] === 'a starts' ? ['a', 'b'] : ['b', 'a'];
    expect(order).toEqual([`${first} starts`, `${first} ends`, `${second} starts`, `${second} ends`]);
    expect(existsSync(join(folder, '.perdure', 'set-up.lock'))).toBe(false);
  });

  it('is void where its holder is gone', async () => {
    const gone = spawn(process.execPath, ['-e', '']);
    await once(gone, 'exit');
    await mkdir(join(folder, '.perdure'));
    await writeFile(join(folder, '.perdure', 'set-up.lock'), String(gone.pid));
    expect(
      await withLock(
        folder,
        () => undefined,
        () => Promise.resolve('done'),
      ),
    ).toBe('done');
  });

  it('is given back where the work fails', async () => {
    const failing = withLock(
      folder,
      () => undefined,
      () => Promise.reject(new Error('npm ci failed')),
    );
    await expect(failing).rejects.toThrow('npm ci failed');
    expect(
      await withLock(
        folder,
        () => undefined,
        () => Promise.resolve('done'),
      ),
    ).toBe('done');
  });
});

describe('a step of the set-up', () => {
  it('fails with the end of its output', async () => {
    const step = runQuietly('node', ['-e', 'console.log("out"); console.error("why"); process.exit(4)'], {
      cwd: folder,
      log: () => undefined,
    });
    await expect(step).rejects.toThrow(/^`node -e .*` ended with 4:\n(out\nwhy|why\nout)$/);
  });

  it('names a command that is not there', async () => {
    const step = runQuietly('no-such-command', ['ci'], { cwd: folder, log: () => undefined });
    await expect(step).rejects.toThrow(/^no-such-command ci: .*ENOENT/);
  });
});

describe('the command-line entry', () => {
  it.each(['20.19.5', '22.17.9'])('on Node %s says which one it needs and ends with 2', async (version) => {
    const pretend = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${version}' } })`;
    const { code, stderr } = await node(['--import', `data:text/javascript,${pretend}`, 'bin/perdure.js', '--version']);
    expect(code).toBe(2);
    expect(stderr).toContain(`perdure needs Node 22.18 or later; this is ${version} (${process.execPath}).\n`);
    expect(stderr).toContain('https://nodejs.org/en/download');
  });
});
