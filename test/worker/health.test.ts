import type { NativeConnection, Worker } from '@temporalio/worker';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { startHealthEndpoint } from '../../src/server/health-endpoint.js';
import type { WorkerStore } from '../../src/store/shared-state.js';
import { checkHealth } from '../../src/worker/health.js';

const workerThat = (status: { runState: string; activityPollerState: string }) =>
  ({ getStatus: () => status }) as unknown as Worker;
const polling = workerThat({ runState: 'RUNNING', activityPollerState: 'POLLING' });
const connectionThat = (getSystemInfo: () => Promise<unknown>) =>
  ({
    withDeadline: (_deadline: number, ask: () => Promise<unknown>) => ask(),
    workflowService: { getSystemInfo },
  }) as unknown as NativeConnection;
const reached = connectionThat(() => Promise.resolve({}));
const storeThat = (now: () => Promise<number>) => ({ now }) as unknown as WorkerStore;
const open = storeThat(() => Promise.resolve(1));

describe("a worker's health", () => {
  afterEach(() => vi.useRealTimers());

  it('is ready while it polls, and server and store answer', async () => {
    const health = await checkHealth({ workers: [polling], connection: reached, store: open });
    expect(health).toEqual({ ready: true, problems: {} });
  });

  it('names everything that is wrong', async () => {
    const health = await checkHealth({
      workers: [polling, workerThat({ runState: 'STOPPING', activityPollerState: 'SHUTDOWN' })],
      connection: connectionThat(() => Promise.reject(new Error('14 UNAVAILABLE'))),
      store: storeThat(() => Promise.reject(new Error('store runs: it is closed'))),
    });
    expect(health).toEqual({
      ready: false,
      problems: { worker: 'is stopping', server: '14 UNAVAILABLE', store: 'store runs: it is closed' },
    });
  });

  it('is not ready where one of its pollers has failed', async () => {
    const workers = [workerThat({ runState: 'RUNNING', activityPollerState: 'FAILED' })];
    const { problems } = await checkHealth({ workers, connection: reached, store: open });
    expect(problems).toEqual({ worker: 'does not poll (failed)' });
  });

  it('does not wait for a store that never answers', async () => {
    vi.useFakeTimers();
    const asked = checkHealth({
      workers: [polling],
      connection: reached,
      store: storeThat(() => new Promise(() => 1)),
    });
    await vi.advanceTimersByTimeAsync(2_000);
    expect(await asked).toEqual({ ready: false, problems: { store: 'did not answer within 2 s' } });
  });
});

describe('the health endpoint', () => {
  it('answers 503 with the reasons while it lives and is not ready', async () => {
    const problems = { store: 'is away' };
    const endpoint = await startHealthEndpoint({
      port: 0,
      host: '127.0.0.1',
      check: () => Promise.resolve({ ready: false, problems }),
    });
    const ready = await fetch(`${endpoint.url}/readyz?verbose`);
    expect([ready.status, await ready.json()]).toEqual([503, { ready: false, problems }]);
    expect((await fetch(`${endpoint.url}/healthz`)).status).toBe(200);
    await expect(
      startHealthEndpoint({
        port: Number(new URL(endpoint.url).port),
        host: '127.0.0.1',
        check: async () => ({ ready: true }),
      }),
    ).rejects.toThrow('EADDRINUSE');
    await endpoint.close();
  });
});
