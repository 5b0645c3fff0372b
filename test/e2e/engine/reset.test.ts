import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { backendTools } from '../../support/backend-tools.js';
import { openEngine, type Engine } from '../../support/engine.js';
import { perdureOf } from '../../support/perdure-of.js';
import { asks, byRequest, script } from '../../support/recording-model.js';
import { resetWorkflow } from '../../support/reset-workflow.js';
import { temporalServer } from '../../support/temporal-server.js';

let engine: Engine;
beforeEach(async () => {
  engine = await openEngine(temporalServer());
});
afterEach(() => engine[Symbol.asyncDispose]());

describe('a run that is reset to its very beginning', () => {
  it('gives the recorded answers and outcomes again: no model is asked, nothing happens twice', async () => {
    const model = script(
      { calls: [{ tool: 'refund' }, { tool: 'print_label' }] },
      { calls: [{ tool: 'refund', input: { n: 2 } }] },
      { text: 'done' },
    );
    const worker = await engine.worker({ model, tools: backendTools(engine.backend.url) });
    const run = await engine.start(worker.taskQueue, {});
    const first = await run.result();
    const before = await run.transcript();
    const effects = engine.backend.journal.length;

    const runId = await resetWorkflow(engine.client, run.workflow.workflowId, 'start');
    expect(await engine.client.workflow.getHandle(run.workflow.workflowId, runId).result()).toEqual(first);
    expect(model.requests).toHaveLength(3);
    expect(engine.backend.journal).toHaveLength(effects);
    expect(await run.transcript()).toEqual(before);
  });
});

describe('a run that a retry has led elsewhere, and whose former execution is reset', () => {
  it.each(['finishRun', 'turn-2'])('to %s shows the conversation that its result is of', async (to) => {
    const model = byRequest(asks(['refund', { n: 1 }]), { text: 'first' }, { text: 'second' });
    const worker = await engine.worker({ model, tools: backendTools(engine.backend.url) });
    const run = await engine.start(worker.taskQueue, {});
    const first = await run.result();
    const before = await run.transcript();
    const perdure = perdureOf(engine);
    const handle = await perdure.get(run.runKey);
    await perdure.retry(handle, { askAgain: true });
    expect(await handle.result()).toMatchObject({ answer: 'second' });

    const { workflowId, firstExecutionRunId } = run.workflow;
    const runId = await resetWorkflow(engine.client, { workflowId, runId: firstExecutionRunId }, to);
    expect(await engine.client.workflow.getHandle(workflowId, runId).result()).toEqual(first);
    expect(await perdure.describe(handle)).toMatchObject({ state: 'completed', result: { answer: 'first' } });
    expect(await run.transcript()).toEqual(before);
    expect((await perdure.transcript(handle)).map(({ message }) => message)).toEqual(before);
    expect(model.requests).toHaveLength(3);
  });
});

describe('a run that ended at its cap, and is reset after a retry', () => {
  it('shows the last words that its result is of', async () => {
    const limits = { steps: 1, calls: null, tokens: null, costUsd: null, wallTimeMs: null, failures: null };
    const model = byRequest(asks(['refund', { n: 1 }]), { text: 'no more steps' }, { text: 'done' });
    const worker = await engine.worker({ model, tools: backendTools(engine.backend.url), limits });
    const run = await engine.start(worker.taskQueue, {});
    const first = await run.result();
    expect(first).toMatchObject({ status: 'capped', answer: 'no more steps' });
    const before = await run.transcript();
    const perdure = perdureOf(engine);
    const handle = await perdure.get(run.runKey);
    await perdure.retry(handle, { limits: { steps: 5 } });
    expect(await handle.result()).toMatchObject({ status: 'completed', answer: 'done' });

    const { workflowId, firstExecutionRunId } = run.workflow;
    const runId = await resetWorkflow(engine.client, { workflowId, runId: firstExecutionRunId }, 'finishRun');
    expect(await engine.client.workflow.getHandle(workflowId, runId).result()).toEqual(first);
    expect(await perdure.describe(handle)).toMatchObject({ state: 'capped', result: { answer: 'no more steps' } });
    expect(await run.transcript()).toEqual(before);
  });
});
