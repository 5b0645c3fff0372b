import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, vi } from 'vitest';
import { type Block, root } from '../../docs/page.js';
import { firstMissing } from '../../docs/printed.js';

export interface PageRunOptions {
  /** What is not run: beginnings of command lines, each with the reason. */
  notRun?: Readonly<Record<string, string>>;
  /** Texts of the page that stand for others here, such as an address. */
  replaced?: Readonly<Record<string, string>>;
  env?: NodeJS.ProcessEnv;
}

/** A command that goes on while the page does. */
interface Background {
  child: ChildProcess;
  output(): string;
}

/**
 * A page of the documentation, followed step by step in one project folder that has perdure installed. Before a fence,
 * `file` names the file that the block is written to, `exits` another exit code than 0, `until` the text after which a
 * command goes on in the background, `ctrl-c` ends those, and `prints` is output of the block before.
 */
export class PageRun implements AsyncDisposable {
  readonly dir: string;
  readonly #options: PageRunOptions;
  readonly #background: Background[] = [];
  #output = '';

  private constructor(dir: string, options: PageRunOptions) {
    this.dir = dir;
    this.#options = options;
  }

  static async open(options: PageRunOptions = {}): Promise<PageRun> {
    const dir = await mkdtemp(join(tmpdir(), 'perdure-page-'));
    const modules = join(dir, 'node_modules');
    // As npm install would leave it.
    await mkdir(join(modules, '.bin'), { recursive: true });
    await symlink(root, join(modules, 'perdure'));
    for (const name of ['zod', '@temporalio', '@types', '@ai-sdk', 'typescript']) {
      await symlink(join(root, 'node_modules', name), join(modules, name));
    }
    const program = join(modules, '.bin', 'perdure');
    await writeFile(program, `#!/bin/sh\nexec "${process.execPath}" "${root}bin/perdure.js" "$@"\n`);
    await chmod(program, 0o755);
    return new PageRun(dir, options);
  }

  /** What a reader does with this block. */
  async follow({ language, text, notes, place }: Block): Promise<void> {
    if ('ctrl-c' in notes) await this.#stopBackground();
    if ('prints' in notes) this.#expectPrinted(text, place);
    else if (notes['file'] !== undefined) await this.#write(notes['file'], text);
    else if (language === 'sh') await this.#command(this.#runnable(text), notes, place);
  }

  #expectPrinted(lines: string, place: string): void {
    const missing = firstMissing(this.#output, lines);
    expect(missing, `${place}: this line is not, or not here, in what was printed:\n${this.#output}`).toBeUndefined();
  }

  async #write(file: string, text: string): Promise<void> {
    await mkdir(dirname(join(this.dir, file)), { recursive: true });
    await writeFile(join(this.dir, file), `${this.#here(text)}\n`);
  }

  async #command(text: string, notes: Block['notes'], place: string): Promise<void> {
    if (text.trim() === '') return;
    const { child, output } = this.#spawn(text);
    const { until, exits = '0' } = notes;
    if (until !== undefined) {
      this.#background.push({ child, output });
      await vi.waitFor(() => expect(output(), place).toContain(until), { timeout: 60_000, interval: 50 });
      return;
    }
    const [code] = (await once(child, 'close')) as [number | null];
    this.#output = output();
    expect({ place, code, output: code === Number(exits) ? '' : this.#output }).toEqual({
      place,
      code: Number(exits),
      output: '',
    });
  }

  #spawn(text: string): Background {
    const { TEMPORAL_ADDRESS: _address, TEMPORAL_PROFILE: _profile, ...inherited } = process.env;
    const bin = join(this.dir, 'node_modules', '.bin');
    // One stream, so that what a person sees in this order is compared in this order.
    const script = `set -eo pipefail; exec 2>&1\n${text}`;
    const child = spawn('bash', ['--norc', '-c', script], {
      cwd: this.dir,
      env: { ...inherited, NO_COLOR: '1', PATH: `${bin}:${inherited['PATH'] ?? ''}`, ...this.#options.env },
      stdio: ['ignore', 'pipe', 'inherit'],
      // A terminal's Ctrl-C goes to all processes of the command.
      detached: true,
    });
    let output = '';
    child.stdout.on('data', (data: Buffer) => (output += data.toString()));
    return { child, output: () => output };
  }

  /** The block without the lines that are not run here. */
  #runnable(text: string): string {
    const { notRun = {} } = this.#options;
    const lines = text.split('\n').filter((line) => !Object.keys(notRun).some((start) => line.startsWith(start)));
    return this.#here(lines.join('\n'));
  }

  #here(text: string): string {
    return Object.entries(this.#options.replaced ?? {}).reduce((all, [from, to]) => all.replaceAll(from, to), text);
  }

  async #stopBackground(): Promise<void> {
    for (const { child } of this.#background.splice(0)) {
      if (child.exitCode !== null) continue;
      const closed = once(child, 'close');
      process.kill(-(child.pid ?? NaN), 'SIGINT');
      await closed;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stopBackground();
    await rm(this.dir, { recursive: true, force: true });
  }
}
