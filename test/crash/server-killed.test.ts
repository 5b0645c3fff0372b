import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { startDevServer } from '../../src/server/dev-server.js';
import { getTemporalCli } from '../../src/server/temporal-cli.js';
import { CrashBench, until } from './support/crash-bench.js';

describe('the Temporal server killed in mid-run and started again on its file', { timeout: 120_000 }, () => {
  it('with calls in their bodies: the run ends, each effect happened once', async () => {
    const rootDir = await mkdtemp(join(tmpdir(), 'perdure-crash-server-'));
    let server = await startDevServer({ rootDir });
    const port = Number(server.address.split(':')[1]);
    try {
      await using bench = await CrashBench.open({ server });
      await bench.oracle.mode('once', { type: 'hold' });
      await bench.oracle.mode('keyed', { type: 'hold' });
      await bench.worker();
      const run = await bench.runCalls('once', 'keyed', 'read');
      await until(async () => (await bench.oracle.held()) === 2, 'the backend holds two calls');
      process.kill(server.pid, 'SIGKILL');
      await server.ended;
      // The bodies end while there is no server to tell.
      await bench.oracle.release();
      await sleep(1_000);
      server = await startDevServer({ rootDir, port });
      const result = await run.handle.result();
      expect(result).toMatchObject({ status: 'completed', answer: 'all done' });
      const outcomes = (await run.calls()).map(({ row }) => [row.tool, row.outcome?.status, row.starts]);
      expect(outcomes).toEqual([
        ['once', 'succeeded', 1],
        ['keyed', 'succeeded', 1],
        ['read', 'succeeded', 1],
      ]);
      expect([await bench.oracle.effects('once'), await bench.oracle.effects('keyed')]).toEqual([1, 1]);
    } finally {
      await server.stop();
      await rm(rootDir, { recursive: true, force: true });
    }
  });
});

/** The Temporal CLI, killed so many milliseconds after its start. */
async function shortLivedCli(folder: string, afterMs: number): Promise<string> {
  const { path } = await getTemporalCli({ env: process.env, log: () => undefined });
  const script = `#!/bin/sh\n"${path}" "$@" &\nsleep ${afterMs / 1_000}\nkill -9 $!\nwait\n`;
  const file = join(folder, `cli-${afterMs}`);
  await writeFile(file, script, { mode: 0o755 });
  return file;
}

/** Whether the boot was killed; where it was quicker, the server has been killed all the same. */
async function isKilledInBoot(rootDir: string, afterMs: number): Promise<boolean> {
  try {
    const server = await startDevServer({ rootDir, cliPath: await shortLivedCli(rootDir, afterMs) });
    await server.ended;
    return false;
  } catch (error) {
    expect(String(error)).toContain('ended while it was starting');
    return true;
  }
}

describe('the Temporal server killed in its first boot', { timeout: 120_000 }, () => {
  it('whatever it had written of its file, the next start makes a server of it that runs calls', async () => {
    const rootDir = await mkdtemp(join(tmpdir(), 'perdure-crash-boot-'));
    try {
      // How far a boot comes in that time is the machine's affair; the first kill is always before its end.
      expect(await isKilledInBoot(rootDir, 50)).toBe(true);
      for (const afterMs of [150, 300, 450, 700]) await isKilledInBoot(rootDir, afterMs);
      const server = await startDevServer({ rootDir });
      try {
        await using bench = await CrashBench.open({ server });
        await bench.worker();
        const run = await bench.runCalls('once', 'keyed');
        expect(await run.result()).toMatchObject({ status: 'completed', answer: 'all done' });
        expect([await bench.oracle.effects('once'), await bench.oracle.effects('keyed')]).toEqual([1, 1]);
      } finally {
        await server.stop();
      }
    } finally {
      await rm(rootDir, { recursive: true, force: true });
    }
  });
});
