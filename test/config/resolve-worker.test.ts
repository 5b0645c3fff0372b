import { describe, expect, it } from 'vitest';
import { resolveWorker } from '../../src/config/resolve-worker.js';

describe('worker', () => {
  it('tells the server all it can by default, and little where that is to cost little', () => {
    expect(resolveWorker(undefined, {})).toEqual({ costs: 'full', heartbeatTimeoutMs: 10_000, maxConcurrentCalls: 50 });
    expect(resolveWorker({ costs: 'lean' }, {})).toMatchObject({ costs: 'lean', heartbeatTimeoutMs: 60_000 });
    expect(resolveWorker({ costs: 'lean', heartbeatTimeoutMs: '20s' }, {}).heartbeatTimeoutMs).toBe(20_000);
  });

  it('is a build of a deployment where the configuration says so, and that of the environment where that does', () => {
    const versioning = { deployment: 'agents', buildId: '1', behaviour: 'pinned' };
    expect(resolveWorker({ versioning }, {}).versioning).toEqual(versioning);
    const env = { TEMPORAL_DEPLOYMENT_NAME: 'agents', TEMPORAL_WORKER_BUILD_ID: '2' };
    expect(resolveWorker({ versioning }, env).versioning).toEqual({ ...versioning, buildId: '2' });
    expect(resolveWorker({}, env).versioning).toEqual({
      deployment: 'agents',
      buildId: '2',
      behaviour: 'auto-upgrade',
    });
  });

  it.each([
    [{ costs: 'none' }, {}, "worker.costs: expected 'full' or 'lean', got 'none'"],
    [{ versioning: { deployment: 'a' } }, {}, 'worker.versioning.buildId: expected text, got undefined'],
    [
      { versioning: { deployment: 'a.b', buildId: '1' } },
      {},
      'worker.versioning.deployment: expected a name without a point',
    ],
    [{}, { TEMPORAL_WORKER_BUILD_ID: '2' }, 'TEMPORAL_DEPLOYMENT_NAME: not set, though TEMPORAL_WORKER_BUILD_ID is'],
  ])('refuses %j with %j', (worker, env, message) => {
    expect(() => resolveWorker(worker, env)).toThrow(message);
  });
});
