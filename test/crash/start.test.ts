import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import type { Start } from './support/starter-process.js';
import { CrashBench, until } from './support/crash-bench.js';
import { TcpProxy } from './support/tcp-proxy.js';

const script = [{ calls: [{ tool: 'once', input: { of: 'the only call' } }] }, { text: 'all done' }];

/** A client process, and all that it says. */
function startClient(bench: CrashBench, address: string, id: string): { child: ChildProcess; said: object[] } {
  const given: Start = { ...bench.server, address, storePath: bench.storePath, id, task: JSON.stringify(script) };
  const child = fork(fileURLToPath(new URL('./support/starter-process.ts', import.meta.url)), {
    env: { ...process.env, PERDURE_CRASH_START: JSON.stringify(given) },
  });
  const said: object[] = [];
  child.on('message', (message: object) => said.push(message));
  return { child, said };
}

async function exists({ client }: CrashBench, id: string): Promise<boolean> {
  return (await client.workflow.count(`WorkflowId = '${id}'`)).count > 0;
}

describe('a client killed with its start under way', { timeout: 120_000 }, () => {
  it.each([
    { weather: 'no-replies', arrives: true, what: 'after the server had it, and before it heard of that' },
    { weather: 'silent', arrives: false, what: 'before the server had it' },
  ] as const)('$what: one run, however often it is started', async ({ weather, arrives }) => {
    await using bench = await CrashBench.open();
    await bench.worker();
    await using wire = await TcpProxy.open(Number(bench.server.address.split(':')[1]));
    const id = `start-${bench.taskQueue}`;
    const { child, said } = startClient(bench, `127.0.0.1:${wire.port}`, id);
    await until(() => said.length === 1, 'the client is connected');
    wire.set(weather);
    child.send({ start: true });
    if (arrives) await until(async () => exists(bench, id), 'the server has the run');
    else await sleep(500);
    expect(said).toEqual([{ ready: true }]);
    child.kill('SIGKILL');
    await once(child, 'exit');
    const again = startClient(bench, bench.server.address, id);
    await until(() => again.said.length === 1, 'the next client is connected');
    again.child.send({ start: true });
    await once(again.child, 'exit');
    expect(again.said).toEqual([{ ready: true }, arrives ? { code: 'run_exists' } : { started: id }]);
    expect(await bench.client.workflow.getHandle(id).result()).toMatchObject({
      status: 'completed',
      answer: 'all done',
    });
    expect(await bench.oracle.arrivals('once')).toHaveLength(1);
  });
});
