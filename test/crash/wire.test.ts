import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { CrashBench, until } from './support/crash-bench.js';
import { callEnd, callEnds, ending } from './support/endings.js';
import { TcpProxy } from './support/tcp-proxy.js';

/** A bench with wires of its own: one worker's to the server, and to the backend. */
async function openWired(): Promise<{ bench: CrashBench; toServer: TcpProxy; toBackend: TcpProxy } & AsyncDisposable> {
  await using opening = new AsyncDisposableStack();
  const bench = opening.use(await CrashBench.open());
  const toServer = opening.use(await TcpProxy.open(Number(bench.server.address.split(':')[1])));
  const toBackend = opening.use(await TcpProxy.open(bench.oracle.port));
  const resources = opening.move();
  return { bench, toServer, toBackend, [Symbol.asyncDispose]: () => resources.disposeAsync() };
}

/** Longer than another worker takes to start on a machine that is busy. */
const patient = { toolTimeoutMs: 30_000 };

const address = (wire: TcpProxy): string => `127.0.0.1:${wire.port}`;

describe.concurrent('a wire that fails', { timeout: 120_000 }, () => {
  it.each(['keyed', 'once'])('a %s call is completed, and the acknowledgement is lost: it ran once', async (tool) => {
    await using wired = await openWired();
    const { bench, toServer } = wired;
    await bench.oracle.mode(tool, { type: 'hold' });
    const worker = await bench.worker([], { ...patient, address: address(toServer) });
    const run = await bench.runCalls(tool);
    await until(async () => (await bench.oracle.held()) === 1, 'the backend holds the call');
    toServer.set('no-replies');
    await bench.oracle.release();
    await until(async () => isCompleted(run, 'c1.0'), 'the server has the completion');
    await sleep(300);
    toServer.set('pass');
    expect(await run.result()).toMatchObject({ status: 'completed' });
    expect(worker.isAlive).toBe(true);
    expect(toServer.swallowedReplies).toBeGreaterThan(0);
    expect(await callEnd(run)).toEqual(ending('succeeded', 1));
    expect(await bench.oracle.arrivals(tool)).toHaveLength(1);
  });

  it.each([
    { tool: 'keyed', weather: 'cut' },
    { tool: 'once', weather: 'cut' },
    { tool: 'keyed', weather: 'silent' },
    { tool: 'once', weather: 'silent' },
  ] as const)('worker and server apart ($weather) while a $tool body runs: its end is taken over', async (the) => {
    await using wired = await openWired();
    const { bench, toServer } = wired;
    await bench.oracle.mode(the.tool, { type: 'commit-then-hold' });
    const apart = await bench.worker([], { ...patient, address: address(toServer) });
    const run = await bench.runCalls(the.tool);
    await until(async () => (await bench.oracle.held()) === 1, 'the backend holds the call');
    // Ready before the wire fails: after the heartbeat timeout and 5 s more the SDK tells the body to stop.
    await bench.worker([], patient);
    toServer.set(the.weather);
    // Past the heartbeat timeout: the server offers the call to the other, whom the claim keeps off.
    await sleep(4_000);
    await bench.oracle.release();
    expect(await run.result()).toMatchObject({ status: 'completed' });
    toServer.set('pass');
    expect(apart.isAlive).toBe(true);
    expect(await callEnd(run)).toEqual(ending('succeeded', 1));
    expect(await bench.oracle.arrivals(the.tool)).toHaveLength(1);
  });

  it.each([
    { tool: 'read', ended: 'succeeded', starts: 2, arrivals: 2, effects: 2 },
    { tool: 'keyed', ended: 'succeeded', starts: 2, arrivals: 2, effects: 1 },
    { tool: 'once', ended: 'outcome_unknown', starts: 1, arrivals: 1, effects: 1 },
    { tool: 'once_found', ended: 'succeeded', starts: 1, arrivals: 1, effects: 1 },
  ])('the reply of a $tool call is lost on its way: $ended with $effects effects', async (expected) => {
    const { tool, ended, starts, arrivals, effects } = expected;
    await using wired = await openWired();
    const { bench, toBackend } = wired;
    toBackend.set('no-replies');
    await bench.worker([], { oracleUrl: `http://${address(toBackend)}` });
    const run = await bench.runCalls(tool);
    await until(async () => (await bench.oracle.arrivals(tool)).length === 1, 'the backend did it');
    toBackend.set('pass');
    expect(await run.result()).toMatchObject({ status: 'completed' });
    expect(await callEnd(run)).toEqual(ending(ended, starts));
    const seen = { arrivals: (await bench.oracle.arrivals(tool)).length, effects: await bench.oracle.effects(tool) };
    expect(seen).toEqual({ arrivals, effects });
  });
});

describe.concurrent('a worker killed', { timeout: 120_000 }, () => {
  it('when the backend has done two of five calls made at once: each effect happens once', async () => {
    await using bench = await CrashBench.open();
    await bench.oracle.mode('keyed', { type: 'hold', after: 2 });
    const doomed = await bench.worker([], patient);
    const run = await bench.runCalls('keyed', 'keyed', 'keyed', 'keyed', 'keyed');
    await until(async () => (await bench.oracle.held()) === 3, 'the backend holds three of five');
    doomed.signal('SIGKILL');
    await doomed.ended();
    await bench.oracle.release();
    await bench.worker();
    expect(await run.result()).toMatchObject({ status: 'completed', counters: { calls: 5 } });
    expect((await callEnds(run)).map(({ ended }) => ended)).toEqual(Array.from({ length: 5 }, () => 'succeeded'));
    expect(await bench.oracle.effects('keyed')).toBe(5);
  });

  it.each(['workflow-task', 'workflow-task-done'] as const)(
    'in workflow tasks (%s) of many runs, with a cache of two workflows: every call runs once',
    async (at) => {
      await using bench = await CrashBench.open();
      const tiny = { maxCachedWorkflows: 2 };
      const runs = await Promise.all(Array.from({ length: 5 }, () => bench.runCalls('once', 'keyed')));
      for (const after of [3, 6, 9]) await (await bench.worker([{ at, action: 'kill', after }], tiny)).ended();
      await bench.worker([], tiny);
      for (const run of runs) {
        expect(await run.result()).toMatchObject({ status: 'completed', counters: { steps: 2, calls: 2 } });
        expect(new Set((await run.calls()).map(({ row }) => row.key)).size).toBe(2);
      }
      expect(await bench.oracle.effects('keyed')).toBe(5);
      const once = await bench.oracle.arrivals('once');
      expect(new Set(once.map(({ key }) => key)).size).toBe(once.length);
    },
  );
});

async function isCompleted(
  run: { handle: { fetchHistory(): Promise<{ events?: unknown }> } },
  activityId: string,
): Promise<boolean> {
  const { events } = (await run.handle.fetchHistory()) as {
    events: {
      eventId: unknown;
      activityTaskScheduledEventAttributes?: { activityId: string };
      activityTaskCompletedEventAttributes?: { scheduledEventId: unknown };
    }[];
  };
  const scheduled = events.find((event) => event.activityTaskScheduledEventAttributes?.activityId === activityId);
  return events.some(
    ({ activityTaskCompletedEventAttributes: completed }) =>
      completed && String(completed.scheduledEventId) === String(scheduled?.eventId),
  );
}
