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

/** A command that runs. */
export interface Running {
  child: ChildProcess;
  ended: Promise<Ended>;
  /** Waits until standard error has the text; a regular expression's first group is returned. */
  errHas(text: string | RegExp): Promise<string>;
  /** Standard error so far. */
  err(): string;
}

/** A folder with a configuration, and the command line in it. Disposing of it fails where something was left running. */
export class Project implements AsyncDisposable {
  readonly dir: string;
  readonly #env: NodeJS.ProcessEnv;
  readonly #running = new Set<ChildProcess>();

  private constructor(dir: string, env: NodeJS.ProcessEnv) {
    this.dir = dir;
    this.#env = env;
  }

  /** `files` by name; `env` on top of this process's, without its own choice of a Temporal server. */
  static async open(files: Record<string, string>, env: NodeJS.ProcessEnv = {}): Promise<Project> {
    const dir = await mkdtemp(join(tmpdir(), 'perdure-project-'));
    const project = new Project(dir, env);
    for (const [name, text] of Object.entries(files)) await project.write(name, text);
    return project;
  }

  async write(file: string, text: string): Promise<void> {
    await writeFile(join(this.dir, file), text);
  }

  start(args: string[], env: NodeJS.ProcessEnv = {}, cwd = this.dir): Running {
    const { TEMPORAL_ADDRESS: _address, TEMPORAL_PROFILE: _profile, ...inherited } = process.env;
    const child = spawn(process.execPath, [bin, ...args], {
      cwd,
      env: { ...inherited, NO_COLOR: '1', ...this.#env, ...env },
    });
    this.#running.add(child);
    let [out, err] = ['', ''];
    child.stdout.on('data', (data: Buffer) => (out += data.toString()));
    child.stderr.on('data', (data: Buffer) => (err += data.toString()));
    const ended = once(child, 'close').then(([code]) => {
      this.#running.delete(child);
      return { code: code as number | null, out, err };
    });
    const errHas = async (text: string | RegExp): Promise<string> => {
      await vi.waitFor(() => expect(err).toMatch(text), { timeout: 60_000, interval: 50 });
      return typeof text === 'string' ? text : (text.exec(err)?.[1] ?? '');
    };
    return { child, ended, errHas, err: () => err };
  }

  async run(...args: string[]): Promise<Ended> {
    return await this.start(args).ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const left = [...this.#running];
    for (const child of left) child.kill('SIGKILL');
    await rm(this.dir, { recursive: true, force: true });
    expect(left.map((child) => child.spawnargs)).toEqual([]);
  }
}
