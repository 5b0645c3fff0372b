import { CancelledFailure } from '@temporalio/common';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { backendTool, backendTools } from '../../support/backend-tools.js';
import { temporalServer } from '../../support/temporal-server.js';
import { openEngine, type Engine, type RunHandle } from '../../support/engine.js';
import { byRequest, script } from '../../support/recording-model.js';

let engine: Engine;
beforeEach(async () => {
  engine = await openEngine(temporalServer());
});
afterEach(() => engine[Symbol.asyncDispose]());

async function cancelled(run: RunHandle): Promise<number> {
  const askedAt = Date.now();
  await run.workflow.cancel();
  await expect(run.result()).rejects.toMatchObject({ cause: expect.any(CancelledFailure) });
  expect((await run.workflow.describe()).status.name).toBe('CANCELLED');
  expect(await engine.store.getRun(run.runKey)).toMatchObject({
    status: 'cancelled',
    result: { termination: { reason: 'cancelled' } },
  });
  return Date.now() - askedAt;
}

describe('cancelling a run', () => {
  it('tells a running body through its signal, and records what became of each call', async () => {
    const told: unknown[] = [];
    const slow = backendTool(engine.backend.url, 'slow', {
      execute: async (_args, ctx) => {
        await fetch(`${engine.backend.url}/slow`, { method: 'POST', body: '{}' });
        await new Promise((_, reject) => {
          ctx.signal.addEventListener('abort', () => {
            told.push((ctx.signal.reason as Error).name);
            reject(ctx.signal.reason as Error);
          });
        });
      },
    });
    const model = script({ calls: [{ tool: 'slow' }, { tool: 'slow', input: { n: 2 } }, { tool: 'look_up' }] });
    const worker = await engine.worker({
      model,
      tools: [...backendTools(engine.backend.url), slow],
      heartbeatTimeoutMs: 1_500,
    });
    const run = await engine.start(worker.taskQueue, {});
    await engine.backend.arrival('slow');
    await cancelled(run);

    expect(told).toEqual(['AbortError']);
    expect(engine.backend.effectsOf('slow')).toHaveLength(1);
    const calls = await run.calls();
    expect(calls.map(({ row }) => [row.callId, row.outcome?.status, row.starts])).toEqual([
      ['c1.0', 'aborted', 1],
      ['c1.1', 'aborted', 0],
      ['c1.2', 'succeeded', 1],
    ]);
    expect(calls[0]?.row.outcome).toMatchObject({ failure: { class: 'cancelled', effectState: 'unknown' } });
    expect(calls[1]?.row.outcome).toMatchObject({ failure: { class: 'cancelled', effectState: 'none' } });
  });

  it('settles a call that waits for its next attempt at once', async () => {
    engine.backend.script('refund', [{ status: 429, headers: { 'retry-after': '60' } }]);
    const model = script({ calls: [{ tool: 'refund' }] });
    const worker = await engine.worker({ model, tools: backendTools(engine.backend.url) });
    const run = await engine.start(worker.taskQueue, {});
    await expect
      .poll(
        async () =>
          (await run.workflow.describe()).raw.pendingActivities?.[0]?.lastFailure?.applicationFailureInfo?.type,
      )
      .toBe('rate_limit');
    expect(await cancelled(run)).toBeLessThan(5_000);
    const [call] = await run.calls();
    expect(call?.row).toMatchObject({
      state: 'sealed',
      outcome: { status: 'aborted', failure: { class: 'cancelled' } },
    });
    expect(engine.backend.effectsOf('refund')).toHaveLength(1);
  });

  it('stops asking the model', async () => {
    let aborted = false;
    const asked = Promise.withResolvers<void>();
    const quiet = byRequest();
    const model = {
      ...quiet,
      complete: ({ signal }: Parameters<typeof quiet.complete>[0]) =>
        new Promise<never>((_, reject) => {
          asked.resolve();
          signal.addEventListener('abort', () => {
            aborted = true;
            reject(signal.reason as Error);
          });
        }),
    };
    const worker = await engine.worker({ model, tools: [], heartbeatTimeoutMs: 1_500 });
    const run = await engine.start(worker.taskQueue, {});
    await asked.promise;
    await cancelled(run);
    expect(aborted).toBe(true);
  });
});
