/** What Temporal's own commands do to a run that is reset as a whole; single calls are in test/crash/reset.test.ts. */
import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { perdureOf } from '../../support/perdure-of.js';
import { backendTools } from '../../support/backend-tools.js';
import { openEngine, type Engine, type RunHandle } from '../../support/engine.js';
import { asks, byRequest, refusesKey } from '../../support/recording-model.js';
import { resetWorkflow } from '../../support/reset-workflow.js';
import { temporalServer } from '../../support/temporal-server.js';

let engine: Engine;
beforeEach(async () => {
  engine = await openEngine(temporalServer());
});
afterEach(() => engine[Symbol.asyncDispose]());

const reset = (run: RunHandle, to: string) => resetWorkflow(engine.client, run.workflow.workflowId, to);

const resultOf = (run: RunHandle, runId: string) =>
  engine.client.workflow.getHandle(run.workflow.workflowId, runId).result();
const statusOf = async (run: RunHandle) => (await engine.store.getRun(run.runKey))?.status;

describe('temporal workflow reset', () => {
  it('of a run that failed for its model asks the model again, and the run is running meanwhile', async () => {
    let answer = (): void => undefined;
    const asked = new Promise<void>((resolve) => (answer = resolve));
    const model = byRequest(asks(['refund', { n: 1 }]), refusesKey, async () => {
      await asked;
      return { text: 'done' };
    });
    const worker = await engine.worker({ model, tools: backendTools(engine.backend.url) });
    const run = await engine.start(worker.taskQueue, {});
    await expect(run.result()).rejects.toThrow();
    expect(await statusOf(run)).toBe('failed');
    const runId = await reset(run, 'turn-2');
    const perdure = perdureOf(engine);
    await expect.poll(() => statusOf(run)).toBe('running');
    const shown = await perdure.describe(await perdure.get(run.runKey));
    expect(shown).toMatchObject({ state: 'running' });
    expect(shown).not.toHaveProperty('result');
    answer();
    expect(await resultOf(run, runId)).toMatchObject({ status: 'completed', answer: 'done' });
    expect(await statusOf(run)).toBe('completed');
    expect(engine.backend.effectsOf('refund')).toHaveLength(1);
  });

  it('of an open run to its start gives the recorded turns and outcomes again, and goes on', async () => {
    engine.backend.script('print_label', [{ hold: true }]);
    const model = byRequest(asks(['refund', { n: 1 }]), asks(['print_label', { n: 1 }]), { text: 'unsure' });
    const worker = await engine.worker({
      model,
      tools: backendTools(engine.backend.url),
      heartbeatTimeoutMs: 2_000,
    });
    const run = await engine.start(worker.taskQueue, {});
    await engine.backend.arrival('print_label');
    const runId = await reset(run, 'start');
    expect(await resultOf(run, runId)).toMatchObject({ status: 'completed', answer: 'unsure' });
    expect(model.requests).toHaveLength(3);
    expect(engine.backend.effectsOf('refund')).toHaveLength(1);
    expect(engine.backend.effectsOf('print_label')).toHaveLength(1);
    expect((await run.told())['c2.0']).toMatchObject({ error_type: 'outcome_unknown' });
  });

  it('to the start keeps the limits that the run was started with, whatever is deployed now', async () => {
    const turns = [asks(['refund', { n: 1 }]), asks(['refund', { n: 2 }]), { text: 'done' }];
    const limits = { steps: 25, calls: null, tokens: null, costUsd: null, wallTimeMs: null, failures: null };
    const before = await engine.worker({ model: byRequest(...turns), tools: backendTools(engine.backend.url), limits });
    const run = await engine.start(before.taskQueue, {});
    expect(await run.result()).toMatchObject({ status: 'completed' });
    await before[Symbol.asyncDispose]();
    await engine.worker({
      model: byRequest(),
      tools: backendTools(engine.backend.url),
      limits: { ...limits, steps: 1 },
    });
    const runId = await reset(run, 'start');
    expect(await resultOf(run, runId)).toMatchObject({ status: 'completed', answer: 'done', counters: { steps: 3 } });
    expect(engine.backend.effectsOf('refund')).toHaveLength(2);
  });

  it('of a retried run to its start goes on as the retry did, and runs nothing again', async () => {
    const model = byRequest(asks(['refund', { n: 1 }]), refusesKey, { text: 'done' });
    engine.backend.script('refund', [{ status: 403, body: { error: 'no' } }]);
    const worker = await engine.worker({ model, tools: backendTools(engine.backend.url) });
    const run = await engine.start(worker.taskQueue, {});
    await expect(run.result()).rejects.toThrow();
    const perdure = perdureOf(engine);
    const handle = await perdure.get(run.runKey);
    await perdure.retry(handle);
    const ended = await handle.result();
    expect(ended).toMatchObject({ status: 'completed', answer: 'done' });
    const runId = await reset(run, 'start');
    expect(await resultOf(run, runId)).toEqual(ended);
    expect(model.requests).toHaveLength(3);
    expect(engine.backend.effectsOf('refund')).toHaveLength(2);
    expect(await engine.store.listInterventions(run.runKey)).toHaveLength(1);
  });
});

describe('a Temporal retry policy on the workflow', () => {
  it('is refused in words before anything runs', async () => {
    const worker = await engine.worker({ model: byRequest(), tools: [] });
    const workflow = await engine.client.workflow.start('agentRun', {
      taskQueue: worker.taskQueue,
      workflowId: `retry-policy-${randomUUID()}`,
      args: [{ task: 'do it' }],
      retry: { maximumAttempts: 3 },
    });
    await expect(workflow.result()).rejects.toMatchObject({
      cause: { type: 'ConfigError', message: expect.stringContaining('perdure retry RUN') },
    });
    expect((await workflow.describe()).historyLength).toBeLessThan(8);
  });
});
