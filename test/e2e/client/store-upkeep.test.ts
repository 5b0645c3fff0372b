/** What `perdure store gc` learns from the server about runs that the store takes for running. */
import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openStoreUpkeep, type StoreUpkeep } from '../../../src/client/store-upkeep.js';
import { resolveConfig } from '../../../src/config/resolve-config.js';
import { agentAsTool } from '../../../src/tools/agent-tool.js';
import { backendTools } from '../../support/backend-tools.js';
import { openEngine, type Engine } from '../../support/engine.js';
import { script } from '../../support/recording-model.js';
import { resetWorkflow } from '../../support/reset-workflow.js';
import { temporalServer } from '../../support/temporal-server.js';
import { runOf } from '../../store/store-samples.js';

let engine: Engine;
beforeEach(async () => {
  engine = await openEngine(temporalServer());
});
afterEach(() => engine[Symbol.asyncDispose]());

/** What went, and what stayed in doubt, by name. */
async function collect(
  { closedRunsMs = 0, forgotten = false }: { closedRunsMs?: number; forgotten?: boolean } = {},
  env: Record<string, string> = {
    TEMPORAL_ADDRESS: engine.server.address,
    TEMPORAL_NAMESPACE: engine.server.namespace,
  },
): Promise<{ went: string[]; doubtful: string[]; warned: string[] }> {
  const warned: string[] = [];
  const config = await resolveConfig({ tools: [], store: engine.storeChoice }, { rootDir: engine.rootDir, env: {} });
  const upkeep: StoreUpkeep = await openStoreUpkeep(config, { env, warn: (text) => warned.push(text) });
  try {
    const { runs, doubtful } = await upkeep.collect({ closedRunsMs, graceMs: 0, dryRun: false, forgotten });
    return {
      went: runs.map(({ workflowId, closedAs }) => `${workflowId} ${closedAs}`),
      doubtful: doubtful.map(({ workflowId, why }) => `${workflowId} ${why}`),
      warned,
    };
  } finally {
    await upkeep.close();
  }
}

const nothing = { went: [], doubtful: [], warned: [] };

it('takes the run of a workflow of a person’s own once that has closed', async () => {
  engine.backend.script('refund', [{ hold: true }]);
  const worker = await engine.worker({ model: script(), tools: backendTools(engine.backend.url) });
  const args = [{ groups: [[{ tool: 'refund', args: {} }]] }];
  const workflow = await engine.startWorkflow('ownCalls', { taskQueue: worker.taskQueue, args });
  await engine.backend.arrival('refund');
  expect(await collect()).toEqual(nothing);
  engine.backend.release('refund');
  await workflow.result();
  expect(await collect({ closedRunsMs: 3_600_000 })).toEqual(nothing);
  expect(await collect()).toEqual({ ...nothing, went: [`${workflow.workflowId} completed`] });
});

it('takes a run that was terminated, with its agent, but not while it goes on by a reset or a retry', async () => {
  engine.backend.script('refund', [{ hold: true }]);
  const model = script({ calls: [{ tool: 'refund' }] }, { text: 'refunded' });
  const agent = agentAsTool({ name: 'clerk', description: 'Refunds.', tools: ['refund'], model });
  const worker = await engine.worker({
    model: script({ calls: [{ tool: 'clerk', input: { task: 'refund' } }] }, { text: 'done' }),
    tools: [...backendTools(engine.backend.url), agent],
    heartbeatTimeoutMs: 1_000,
  });
  const run = await engine.start(worker.taskQueue, {});
  const { workflowId } = run.workflow;
  await engine.backend.arrival('refund');
  await run.workflow.terminate('the test wants it');
  engine.backend.release('refund');
  const child = engine.client.workflow.getHandle(`${workflowId}/c1.0`);
  await expect(child.result()).rejects.toThrow();
  expect((await engine.store.getRun(run.runKey))?.status).toBe('running');

  await worker[Symbol.asyncDispose]();
  const reset = await resetWorkflow(engine.client, workflowId, 'start');
  const again = engine.client.workflow.getHandle(workflowId, reset);
  expect(await collect()).toEqual(nothing);
  await again.terminate('the test wants it again');
  expect(await collect({ closedRunsMs: 3_600_000 })).toEqual(nothing);
  // The agent's own run was cancelled with it, which it has written itself.
  const went: string[] = [];
  const collected = async (): Promise<string[]> => {
    went.push(...(await collect()).went);
    return went;
  };
  // As soon as the leases have lapsed that the terminated run had on its calls.
  await expect
    .poll(collected, { timeout: 15_000 })
    .toEqual([`${workflowId} terminated`, `${workflowId}/c1.0 undefined`]);
  expect(await engine.store.getTombstone(run.runKey)).toMatchObject({ workflowId });
});

it('keeps a run that the server knows no more, names it, and takes it on demand', async () => {
  // What the server says of it is what it says of a run that it has deleted after its retention: that there is none.
  const workflowId = `own-${randomUUID()}`;
  await engine.store.createRun({ ...runOf(workflowId), workflowId });
  expect(await collect()).toEqual({ ...nothing, doubtful: [`${workflowId} forgotten`] });
  const nowhere = { TEMPORAL_ADDRESS: '127.0.0.1:1' };
  expect(await collect({ forgotten: true }, nowhere)).toEqual({
    went: [],
    doubtful: [`${workflowId} unasked`],
    warned: [expect.stringMatching(/no Temporal server answers at 127\.0\.0\.1:1[^]*takes for running stay\./)],
  });
  expect(await collect({ forgotten: true })).toEqual({ ...nothing, went: [`${workflowId} forgotten`] });
});
