/** Disks of a few megabytes that are full: needs to mount them, as root or by sudo without a password. */
import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, statfs, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { startDevServer } from '../../src/server/dev-server.js';
import { CrashBench, until } from './support/crash-bench.js';

const sudo = process.getuid?.() === 0 ? [] : ['sudo', '-n'];

function asRoot(...command: string[]): void {
  const [program = '', ...args] = [...sudo, ...command];
  execFileSync(program, args, { stdio: 'ignore' });
}

function canMount(): boolean {
  try {
    asRoot('mount', '-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', '/mnt');
    asRoot('umount', '/mnt');
    return true;
  } catch {
    return false;
  }
}

interface Disk extends AsyncDisposable {
  path: string;
  /** Leaves no byte free. */
  fill(): Promise<void>;
  free(): Promise<void>;
}

async function openDisk(megabytes: number): Promise<Disk> {
  const path = await mkdtemp(join(tmpdir(), 'perdure-crash-disk-'));
  asRoot('mount', '-t', 'tmpfs', '-o', `size=${megabytes}m,mode=777`, 'tmpfs', path);
  const ballast = join(path, 'ballast');
  return {
    path,
    async fill() {
      const { bavail, bsize } = await statfs(path);
      await writeFile(ballast, Buffer.alloc(bavail * bsize)).catch((error: unknown) => {
        // Who else writes to it may have taken the last of it meanwhile: full it is.
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
      });
    },
    free: () => rm(ballast),
    async [Symbol.asyncDispose]() {
      asRoot('umount', '-l', path);
      await rm(path, { recursive: true, force: true });
    },
  };
}

const mountable = canMount();
if (!mountable)
  console.warn('tests of full disks are passed over: mounting one needs root, or sudo without a password');

describe.skipIf(!mountable)('a disk that is full', { timeout: 120_000 }, () => {
  it.each(['keyed', 'once'])(
    'of the store, while a %s body runs: the run waits, and ends once there is room',
    async (tool) => {
      await using disk = await openDisk(8);
      await using bench = await CrashBench.open();
      const store = { path: join(disk.path, 'store.db') };
      await bench.oracle.mode(tool, { type: 'hold' });
      const worker = await bench.worker([], { store });
      const run = await bench.runCalls(tool);
      await until(async () => (await bench.oracle.held()) === 1, 'the backend holds the call');
      await disk.fill();
      await bench.oracle.release();
      await sleep(4_000);
      expect((await run.handle.describe()).status.name).toBe('RUNNING');
      await disk.free();
      expect(await run.result()).toMatchObject({ status: 'completed', answer: 'all done' });
      expect(worker.isAlive).toBe(true);
      expect(await bench.oracle.effects(tool)).toBe(1);
    },
  );

  it('of the Temporal server: the run goes on once there is room, and each effect happens once', async () => {
    await using disk = await openDisk(24);
    const server = await startDevServer({ rootDir: disk.path });
    try {
      await using bench = await CrashBench.open({ server });
      await bench.oracle.mode('once', { type: 'hold' });
      await bench.worker();
      const run = await bench.runCalls('once', 'keyed');
      await until(async () => (await bench.oracle.held()) === 1, 'the backend holds the call');
      await disk.fill();
      await bench.oracle.release();
      await sleep(4_000);
      await disk.free();
      expect(await run.result()).toMatchObject({ status: 'completed', answer: 'all done' });
      expect([await bench.oracle.effects('once'), await bench.oracle.effects('keyed')]).toEqual([1, 1]);
    } finally {
      await server.stop();
    }
  });
});
