/** Retries of runs whose former execution was more, or worse, than one workflow that ended. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { startDevServer } from '../../../src/server/dev-server.js';
import { agentAsTool } from '../../../src/tools/agent-tool.js';
import { backendTools } from '../../support/backend-tools.js';
import { openEngine } from '../../support/engine.js';
import { perdureOf } from '../../support/perdure-of.js';
import { asks, byRequest, refusesKey, script } from '../../support/recording-model.js';
import { historiesOf } from '../../support/run-chain.js';
import { temporalServer } from '../../support/temporal-server.js';
import { bundleWorkflows } from '../../support/workflow-bundle.js';

it('a run that had continued as new goes on from its last step', async () => {
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
    const perdure = perdureOf(engine);
    const handle = await perdure.get(run.runKey);
    await perdure.retry(handle);
    expect(await handle.result()).toMatchObject({ status: 'completed', counters: { steps: 10, calls: 9 } });
    expect(engine.backend.effectsOf('refund').map(({ args }) => args)).toEqual(
      Array.from({ length: 9 }, (_, n) => ({ n })),
    );
    expect((await perdure.describe(handle)).steps.map(({ step }) => step)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  } finally {
    await server.stop();
    await rm(rootDir, { recursive: true, force: true });
  }
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
