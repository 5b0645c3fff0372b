import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Client, Connection } from '@temporalio/client';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openServer, resolveServer } from '../../../src/server/connection.js';
import { isAlive, readDevFile, writeDevFile } from '../../../src/server/dev-file.js';
import { DevServerRunningError, startDevServer, type DevServer } from '../../../src/server/dev-server.js';
import { freePort } from '../../../src/server/free-port.js';
import { accepts } from '../../../src/server/probe.js';
import { getTemporalCli } from '../../../src/server/temporal-cli.js';

let rootDir: string;
const started: DevServer[] = [];
beforeEach(async () => {
  rootDir = await mkdtemp(join(tmpdir(), 'perdure-dev-'));
});
afterEach(async () => {
  await Promise.all(started.splice(0).map((server) => server.stop()));
  await rm(rootDir, { recursive: true, force: true });
});

async function start(options: Partial<Parameters<typeof startDevServer>[0]> = {}): Promise<DevServer> {
  const server = await startDevServer({ rootDir, ...options });
  started.push(server);
  return server;
}

const resolve = () => resolveServer({ rootDir, env: { HOME: rootDir }, usualAddress: '127.0.0.1:1' });

describe('the embedded server', () => {
  it('serves gRPC and the UI on 127.0.0.1 and says so in dev.json until it is stopped', async () => {
    const server = await start();
    const { address, uiUrl, pid, namespace } = server;
    expect(JSON.parse(await readFile(join(rootDir, '.perdure', 'dev.json'), 'utf8'))).toEqual({
      address,
      uiUrl,
      pid,
      namespace: 'default',
    });
    expect((await fetch(uiUrl)).status).toBe(200);
    expect(await resolve()).toMatchObject({ kind: 'dev', source: '.perdure/dev.json', address, uiUrl, namespace });

    await server.stop();
    await server.stop();
    expect(isAlive(pid)).toBe(false);
    expect(await accepts(address, 1_000)).toBe(false);
    expect(existsSync(join(rootDir, '.perdure', 'dev.json'))).toBe(false);
    expect(existsSync(join(rootDir, '.perdure', 'dev.lock'))).toBe(false);
    expect(await resolve()).toEqual({ kind: 'none', sought: '127.0.0.1:1' });
  });

  it('keeps runs and search attributes over a restart', async () => {
    const first = await start();
    await withClient(first, async (client) => {
      await client.workflow.start('anything', { taskQueue: 'nobody', workflowId: 'kept' });
    });
    await first.stop();
    const second = await start();
    await withClient(second, async (client) => {
      expect((await client.workflow.getHandle('kept').describe()).status.name).toBe('RUNNING');
    });
  });

  it('keeps runs over a SIGKILL, after which it starts again at the same address', async () => {
    const first = await start();
    await withClient(first, async (client) => {
      await client.workflow.start('anything', { taskQueue: 'nobody', workflowId: 'kept' });
    });
    process.kill(first.pid, 'SIGKILL');
    await first.ended;
    expect(await readDevFile(rootDir)).toBeUndefined();
    const second = await start({ port: Number(first.address.split(':')[1]) });
    expect(second.address).toBe(first.address);
    await withClient(second, async (client) => {
      expect((await client.workflow.getHandle('kept').describe()).status.name).toBe('RUNNING');
    });
  });

  it('applies dynamic configuration and another namespace', async () => {
    const server = await start({ namespace: 'agents', dynamicConfig: { 'limit.maxIDLength': 20 } });
    await withClient(server, async (client) => {
      const starting = client.workflow.start('anything', { taskQueue: 'q', workflowId: 'x'.repeat(21) });
      await expect(starting).rejects.toMatchObject({ cause: { details: expect.stringContaining('exceeds') } });
    });
  });

  it('is started once where two processes want it at the same time', async () => {
    const options = { rootDir, env: { HOME: rootDir }, usualAddress: '127.0.0.1:1' };
    const both = await Promise.all([openServer(options), openServer(options)]);
    started.push(...both.flatMap(({ started: server }) => server ?? []));
    expect(started).toHaveLength(1);
    expect(both.map(({ server }) => server.address)).toEqual([started[0]?.address, started[0]?.address]);
  });

  it('refuses a second server on the same folder, by its address', async () => {
    const server = await start();
    const second = startDevServer({ rootDir });
    await expect(second).rejects.toThrow(DevServerRunningError);
    await expect(second).rejects.toThrow(server.address);
  });

  it('quotes the end of its log where it cannot start', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as { port: number };
    try {
      await expect(startDevServer({ rootDir, port, startTimeoutMs: 8_000 })).rejects.toThrow(
        /ended while it was starting\. The end of its log:\n[^]*already in use[^]*temporal\.log\)$/,
      );
      expect(existsSync(join(rootDir, '.perdure', 'dev.lock'))).toBe(false);
    } finally {
      taken.close();
    }
  });

  describe('where somebody takes the port that was free', () => {
    /** The Temporal CLI, whose port is taken just before it starts, so many times. */
    async function racedCli(times: number): Promise<string> {
      const { path: real } = await getTemporalCli({ env: process.env, log: () => undefined });
      const taking = join(rootDir, 'taking.mjs');
      await writeFile(
        taking,
        `import { spawnSync } from 'node:child_process';
        import { createServer } from 'node:net';
        const run = () => process.exit(spawnSync('${real}', process.argv.slice(3), { stdio: 'inherit' }).status ?? 1);
        createServer().listen(Number(process.argv[2]), '127.0.0.1', run);`,
      );
      const cliPath = join(rootDir, 'raced');
      // The words before the port are `server start-dev --ip 127.0.0.1 --port`.
      const script = `#!/bin/sh
        echo "$6" >> '${rootDir}/starts'
        [ "$(wc -l < '${rootDir}/starts')" -gt ${times} ] && exec '${real}' "$@"
        exec '${process.execPath}' '${taking}' "$6" "$@"`;
      await writeFile(cliPath, script, { mode: 0o755 });
      return cliPath;
    }
    const portsTried = async () => (await readFile(join(rootDir, 'starts'), 'utf8')).trim().split('\n').map(Number);

    it('starts at another one, and keeps the log of the start before', async () => {
      await (await start()).stop();
      const server = await start({ cliPath: await racedCli(1) });
      const [lost, used] = await portsTried();
      expect(server.address).toBe(`127.0.0.1:${used}`);
      expect(used).not.toBe(lost);
      await withClient(server, async (client) => {
        await client.workflow.start('anything', { taskQueue: 'nobody', workflowId: 'kept' });
      });
      expect(await readFile(join(rootDir, '.perdure', 'temporal.log'), 'utf8')).not.toContain('already in use');
      expect(await readFile(join(rootDir, '.perdure', 'temporal.previous.log'), 'utf8')).toContain('Stopping server');
    });

    it('gives up at the third time, and at once where the port was asked for', async () => {
      const cliPath = await racedCli(9);
      await expect(startDevServer({ rootDir, cliPath })).rejects.toThrow(/already in use/);
      expect(new Set(await portsTried()).size).toBe(3);
      await rm(join(rootDir, 'starts'));
      await expect(startDevServer({ rootDir, cliPath, port: await freePort() })).rejects.toThrow(/already in use/);
      expect(await portsTried()).toHaveLength(1);
      expect(existsSync(join(rootDir, '.perdure', 'dev.lock'))).toBe(false);
    });
  });

  it('says so where the command is no Temporal CLI', async () => {
    const cliPath = join(rootDir, 'not-there');
    await expect(startDevServer({ rootDir, cliPath })).rejects.toThrow(/ended while it was starting[^]*not-there/);
  });

  it('gives up on a server that never answers, and ends it', async () => {
    const cliPath = join(rootDir, 'mute');
    await writeFile(cliPath, `#!/bin/sh\ntrap '' TERM\necho $$ > ${rootDir}/pid\nwhile :; do sleep 0.1; done\n`, {
      mode: 0o755,
    });
    const starting = startDevServer({ rootDir, cliPath, startTimeoutMs: 500, stopTimeoutMs: 300 });
    await expect(starting).rejects.toThrow(/did not answer within 1 s \(nothing listens at .*\)\. Its log is empty/);
    expect(isAlive(Number(await readFile(join(rootDir, 'pid'), 'utf8')))).toBe(false);
  });

  it.each(['SIGTERM', 'SIGINT', 'SIGKILL'] as const)('ends with a parent that dies by %s', async (signal) => {
    const parent = spawn(process.execPath, ['--input-type=module', '-e', parentProgram], {
      cwd: process.cwd(),
      env: { ...process.env, ROOT_DIR: rootDir },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    try {
      const [line] = (await once(createInterface({ input: parent.stdout }), 'line')) as [string];
      const { pid, address } = JSON.parse(line) as { pid: number; address: string };
      expect(await accepts(address, 1_000)).toBe(true);
      parent.kill(signal);
      await once(parent, 'exit');
      await expect.poll(() => isAlive(pid), { timeout: 10_000 }).toBe(false);
      expect(await resolve()).toEqual({ kind: 'none', sought: '127.0.0.1:1' });
      // The dead parent's lock does not keep the next one out.
      expect((await start()).pid).not.toBe(pid);
    } finally {
      parent.kill('SIGKILL');
    }
  });

  it('ignores the dev.json of a process that is gone', async () => {
    const gone = spawn(process.execPath, ['-e', '']);
    await once(gone, 'exit');
    await writeDevFile(rootDir, { address: '127.0.0.1:1', uiUrl: '', pid: gone.pid ?? 0, namespace: 'default' });
    expect(await resolve()).toEqual({ kind: 'none', sought: '127.0.0.1:1' });
  });
});

/** Starts the embedded server from the sources' build and waits to be killed. */
const parentProgram = `
const { startDevServer } = await import('./dist/server/dev-server.js');
const { pid, address } = await startDevServer({ rootDir: process.env.ROOT_DIR });
console.log(JSON.stringify({ pid, address }));
setInterval(() => {}, 1000);
`;

async function withClient(server: DevServer, use: (client: Client) => Promise<void>): Promise<void> {
  const connection = await Connection.connect({ address: server.address });
  try {
    await use(new Client({ connection, namespace: server.namespace }));
  } finally {
    await connection.close();
  }
}
