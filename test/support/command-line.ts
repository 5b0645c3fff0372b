import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, vi } from 'vitest';

const bin = fileURLToPath(new URL('../../bin/perdure.js', import.meta.url));

export interface Ended {
  code: number | null;
  out: string;
  err: string;
}

/** A command line of its own; everything that is started here has ended when the tests have. */
export class CommandLine {
  readonly dir: string;
  readonly #running = new Set<ChildProcess>();

  constructor(dir: string) {
    this.dir = dir;
  }

  start(
    args: string[],
    more: Readonly<Record<string, string>> = {},
    cwd = this.dir,
  ): { child: ChildProcess; ended: Promise<Ended>; errHas(text: string): Promise<void> } {
    const { TEMPORAL_ADDRESS: _address, TEMPORAL_PROFILE: _profile, ...env } = process.env;
    const child = spawn(process.execPath, [bin, ...args], { cwd, env: { ...env, NO_COLOR: '1', ...more } });
    this.#running.add(child);
    let [out, err] = ['', ''];
    child.stdout.on('data', (data: Buffer) => (out += data.toString()));
    child.stderr.on('data', (data: Buffer) => (err += data.toString()));
    const ended = once(child, 'close').then(([code]) => {
      this.#running.delete(child);
      return { code: code as number | null, out, err };
    });
    const errHas = (text: string): Promise<void> =>
      vi.waitFor(() => expect(err).toContain(text), { timeout: 40_000, interval: 50 });
    return { child, ended, errHas };
  }

  async run(...args: string[]): Promise<Ended> {
    return await this.start(args).ended;
  }

  async close(): Promise<void> {
    const left = [...this.#running];
    for (const child of left) child.kill('SIGKILL');
    await rm(this.dir, { recursive: true, force: true });
    expect(left.map((child) => child.spawnargs)).toEqual([]);
  }
}

/** A folder with these files, to run commands in. */
export async function openCommandLine(files: Readonly<Record<string, string>>): Promise<CommandLine> {
  const dir = await mkdtemp(join(tmpdir(), 'perdure-cli-'));
  for (const [name, text] of Object.entries(files)) await writeFile(join(dir, name), text);
  return new CommandLine(dir);
}
