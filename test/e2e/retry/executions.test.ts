/** Retries of runs whose former execution was more, or worse, than one workflow that ended. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { startDevServer } from '../../../src/server/dev-server.js';
import { agentAsTool } from '../../../src/tools/agent-tool.js';
import { backendTools } from '../../support/backend-tools.js';
import { openEngine, type Engine, type RunHandle } from '../../support/engine.js';
import { perdureOf } from '../../support/perdure-of.js';
import { asks, byRequest, refusesKey, script } from '../../support/recording-model.js';
import { resetWorkflow } from '../../support/reset-workflow.js';
import { historiesOf } from '../../support/run-chain.js';
import { temporalServer } from '../../support/temporal-server.js';
import { bundleWorkflows } from '../../support/workflow-bundle.js';

/** A run of nine refunds whose model is refused its key after the eighth, over several executions. */
async function withContinuedRun(
  use: (engine: Engine, run: RunHandle, model: ReturnType<typeof byRequest>) => Promise<void>,
): Promise<void> {
  const rootDir = await mkdtemp(join(tmpdir(), 'perdure-chain-'));
  const server = await startDevServer({ rootDir, dynamicConfig: { 'limit.historyCount.suggestContinueAsNew': 40 } });
  try {
    await using engine = await openEngine({ ...temporalServer(), address: server.address });
    const refunds = Array.from({ length: 8 }, (_, n) => asks(['refund', { n }]));
    const model = byRequest(...refunds, refusesKey, asks(['refund', { n: 8 }]), { text: 'done' });
    const worker = await engine.worker({ model, tools: backendTools(engine.backend.url) });
    const run = await engine.start(worker.taskQueue, {});
    await expect(run.result()).rejects.toThrow();
    const { workflowId, firstExecutionRunId } = run.workflow;
    expect((await historiesOf(engine.client, workflowId, firstExecutionRunId)).length).toBeGreaterThan(1);
    await use(engine, run, model);
    expect(engine.backend.effectsOf('refund').map(({ args }) => args)).toEqual(
      Array.from({ length: 9 }, (_, n) => ({ n })),
    );
  } finally {
    await server.stop();
    await rm(rootDir, { recursive: true, force: true });
  }
}

it('a run that had continued as new goes on from its last step', async () => {
  await withContinuedRun(async (engine, run) => {
    const perdure = perdureOf(engine);
    const handle = await perdure.get(run.runKey);
    await perdure.retry(handle);
    expect(await handle.result()).toMatchObject({ status: 'completed', counters: { steps: 10, calls: 9 } });
    expect((await perdure.describe(handle)).steps.map(({ step }) => step)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  });
});

it('a reset to the middle of the last execution of a run that had continued as new does nothing twice', async () => {
  await withContinuedRun(async (engine, run, model) => {
    const { workflowId } = run.workflow;
    const asked = model.requests.length;
    const runId = await resetWorkflow(engine.client, workflowId, 'turn-8');
    expect(await engine.client.workflow.getHandle(workflowId, runId).result()).toMatchObject({
      status: 'completed',
      answer: 'done',
      counters: { steps: 10, calls: 9 },
    });
    // The recorded turns are not asked for again: only the one that had failed, and the one after it.
    expect(model.requests.length - asked).toBe(2);
    expect((await engine.store.getRun(run.runKey))?.status).toBe('completed');
  });
});

it('a run that was cancelled in mid-call goes on with what the cancellation had stopped', async () => {
  await using engine = await openEngine(temporalServer());
  engine.backend.script('look_up', [{ hold: true }]);
  engine.backend.script('print_label', [{ hold: true }]);
  const worker = await engine.worker({
    model: byRequest(asks(['look_up', {}], ['print_label', { n: 1 }], ['print_label', { n: 2 }]), { text: 'done' }),
    tools: backendTools(engine.backend.url),
  });
  const run = await engine.start(worker.taskQueue, {});
  await Promise.all([engine.backend.arrival('look_up'), engine.backend.arrival('print_label')]);
  await run.workflow.cancel();
  await expect(run.result()).rejects.toThrow();
  const perdure = perdureOf(engine);
  const handle = await perdure.get(run.runKey);
  expect((await perdure.describe(handle)).state).toBe('cancelled');
  const plan = await perdure.retry(handle);
  expect(plan).toEqual({
    rerun: [{ callId: 'c1.0', tool: 'look_up', former: 'cancelled' }],
    unresolved: [{ callId: 'c1.1', tool: 'print_label' }],
  });
  expect(await handle.result()).toMatchObject({ status: 'completed', answer: 'done' });
  expect(await run.told()).toMatchObject({
    'c1.0': { status: 'succeeded' },
    'c1.1': { status: 'aborted', error_type: 'cancelled', effect_state: 'unknown' },
    'c1.2': { error_type: 'cancelled' },
  });
  expect(engine.backend.effectsOf('print_label').length).toBeLessThan(2);
});

it('an agent that was cancelled with its run goes on with it', async () => {
  await using engine = await openEngine(temporalServer());
  engine.backend.script('refund', [{ hold: true }]);
  const child = script({ calls: [{ tool: 'refund', input: { n: 1 } }] }, { text: 'refunded' });
  const agent = agentAsTool({ name: 'clerk', description: 'Refunds.', tools: ['refund'], model: child });
  const worker = await engine.worker({
    model: script({ calls: [{ tool: 'clerk', input: { task: 'refund' } }] }, { text: 'done' }),
    tools: [...backendTools(engine.backend.url), agent],
  });
  const run = await engine.start(worker.taskQueue, {});
  await engine.backend.arrival('refund');
  await run.workflow.cancel();
  await expect(run.result()).rejects.toThrow();
  const perdure = perdureOf(engine);
  const handle = await perdure.get(run.runKey);
  expect(await perdure.retry(handle)).toEqual({
    rerun: [{ callId: 'c1.0', tool: 'clerk', former: 'cancelled' }],
    unresolved: [],
  });
  expect(await handle.result()).toMatchObject({
    status: 'completed',
    answer: 'done',
    // The agent's own call is charged once, although the agent was charged for when it was cancelled.
    counters: { steps: 2, calls: 2 },
  });
  expect((await run.told())['c1.0']).toMatchObject({ status: 'succeeded', data: 'refunded' });
  expect(new Set(engine.backend.effectsOf('refund').map(({ key }) => key)).size).toBe(1);
});

describe('an agent whose turn is set aside and asked for again', () => {
  const usage = { inputTokens: 100, outputTokens: 10 };
  const clerkOf = (more: Partial<Parameters<typeof agentAsTool>[0]> = {}) =>
    agentAsTool({
      name: 'clerk',
      description: 'Refunds.',
      tools: ['refund'],
      model: script({ calls: [{ tool: 'refund', input: { n: 1 } }], usage }, { text: 'refunded', usage }),
      ...more,
    });
  const asksClerk = { ...asks(['clerk', { task: 'refund' }]), usage };

  it('is charged once, and takes its place once', async () => {
    await using engine = await openEngine(temporalServer());
    const worker = await engine.worker({
      model: byRequest(asksClerk, refusesKey, asksClerk, { text: 'done', usage }),
      tools: [...backendTools(engine.backend.url), clerkOf()],
    });
    const run = await engine.start(worker.taskQueue, {});
    await expect(run.result()).rejects.toThrow();
    const perdure = perdureOf(engine);
    const handle = await perdure.get(run.runKey);
    await perdure.retry(handle, { askAgain: true });
    expect(await handle.result()).toMatchObject({
      answer: 'done',
      // Three turns of its own, the one that was set aside included, and the agent's two; a call of its own and the agent's.
      counters: { steps: 2, calls: 2, inputTokens: 500, outputTokens: 50 },
    });
  });

  it('is charged with all that it used, once, where it was cancelled and is to begin again', async () => {
    await using engine = await openEngine(temporalServer());
    engine.backend.script('refund', [{ hold: true }]);
    const worker = await engine.worker({
      model: byRequest(asksClerk, asksClerk, { text: 'done', usage }),
      tools: [...backendTools(engine.backend.url), clerkOf()],
    });
    const run = await engine.start(worker.taskQueue, {});
    await engine.backend.arrival('refund');
    await run.workflow.cancel();
    await expect(run.result()).rejects.toThrow();
    const perdure = perdureOf(engine);
    const handle = await perdure.get(run.runKey);
    await perdure.resolve(handle, 'c1.0', { happened: false });
    await perdure.retry(handle, { askAgain: true });
    expect(await handle.result()).toMatchObject({
      status: 'completed',
      answer: 'done',
      counters: { steps: 2, calls: 2, inputTokens: 500, outputTokens: 50 },
    });
    expect((await run.told())['c1.0']).toMatchObject({ status: 'succeeded', data: 'refunded' });
  });

  it('stays charged where the model asks for another one', async () => {
    await using engine = await openEngine(temporalServer());
    const other = { ...asks(['clerk', { task: 'refund more' }]), usage };
    const worker = await engine.worker({
      model: byRequest(asksClerk, refusesKey, other, { text: 'done', usage }),
      tools: [...backendTools(engine.backend.url), clerkOf()],
    });
    const run = await engine.start(worker.taskQueue, {});
    await expect(run.result()).rejects.toThrow();
    const perdure = perdureOf(engine);
    const handle = await perdure.get(run.runKey);
    await perdure.retry(handle, { askAgain: true });
    expect(await handle.result()).toMatchObject({
      counters: { steps: 2, calls: 4, inputTokens: 700, outputTokens: 70 },
    });
  });
});

it('the agent of a run that was terminated goes on with its parent, under its own keys', async () => {
  await using engine = await openEngine(temporalServer());
  engine.backend.script('refund', [{}, { hold: true }]);
  const child = script(
    { calls: [{ tool: 'refund', input: { n: 1 } }] },
    { calls: [{ tool: 'refund', input: { n: 2 } }] },
    { text: 'refunded both' },
  );
  const agent = agentAsTool({ name: 'clerk', description: 'Refunds.', tools: ['refund'], model: child });
  const worker = await engine.worker({
    model: script({ calls: [{ tool: 'clerk', input: { task: 'refund' } }] }, { text: 'done' }),
    tools: [...backendTools(engine.backend.url), agent],
    heartbeatTimeoutMs: 2_000,
  });
  const run = await engine.start(worker.taskQueue, {});
  await engine.backend.arrival('refund', 2);
  await run.workflow.terminate('the test wants it');
  const perdure = perdureOf(engine);
  const handle = await perdure.get(run.runKey);
  expect(await perdure.retry(handle)).toMatchObject({ rerun: [{ callId: 'c1.0', tool: 'clerk' }] });
  expect(await handle.result()).toMatchObject({
    status: 'completed',
    answer: 'done',
    counters: { steps: 2, calls: 3 },
  });
  expect((await run.told())['c1.0']).toMatchObject({ status: 'succeeded', data: 'refunded both' });
  const effects = engine.backend.effectsOf('refund');
  expect(effects.filter(({ args }) => (args as { n: number }).n === 1)).toHaveLength(1);
  expect(new Set(effects.map(({ key }) => key)).size).toBe(2);
  const clerk = await perdure.get(`${run.workflow.workflowId}/c1.0`);
  await expect(perdure.retry(clerk)).rejects.toMatchObject({
    code: 'usage',
    next: `It goes on with that run: perdure retry ${run.workflow.workflowId}`,
  });
});

it('a run that is stuck on changed workflow code is ended first, on demand, and goes on under the new code', async () => {
  await using engine = await openEngine(temporalServer());
  engine.backend.script('refund', [{ hold: true }]);
  const model = script({ calls: [{ tool: 'look_up' }, { tool: 'refund' }] }, { text: 'done' });
  const options = { model, tools: backendTools(engine.backend.url), heartbeatTimeoutMs: 2_000 };
  const before = await engine.worker(options);
  const run = await engine.start(before.taskQueue, {});
  await engine.backend.arrival('refund');
  await engine.backend.arrival('look_up');
  const stopped = before[Symbol.asyncDispose]();
  engine.backend.release('refund');
  await stopped;
  const code = await bundleWorkflows(fileURLToPath(new URL('../../support/changed-workflows.ts', import.meta.url)));
  await engine.worker(options, { temporal: { workflowBundle: { code } } });
  const perdure = perdureOf(engine);
  const handle = await perdure.get(run.runKey);
  await expect
    .poll(
      () =>
        perdure.retry(handle).then(
          () => 'retried',
          ({ message }: Error) => message,
        ),
      {
        timeout: 40_000,
        interval: 500,
      },
    )
    .toMatch(/is stuck: its workflow task failed \d+ times: .*[Nn]ondeterminism/);
  await perdure.retry(handle, { endStuck: true });
  expect(await handle.result()).toMatchObject({ status: 'completed', answer: 'done' });
  expect(engine.backend.effectsOf('look_up')).toHaveLength(1);
  expect(new Set(engine.backend.effectsOf('refund').map(({ key }) => key)).size).toBe(1);
  const first = engine.client.workflow.getHandle(run.workflow.workflowId, run.workflow.firstExecutionRunId);
  expect((await first.describe()).status.name).toBe('TERMINATED');
});
