/** A run that is collected before a worker takes up what a person asked of it. */
import { rootCause } from '@temporalio/common';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { collectGarbage } from '../../../src/store/collect-garbage.js';
import { openUpkeep } from '../../../src/store/upkeep-database.js';
import { openEngine, type Engine } from '../../support/engine.js';
import { perdureOf } from '../../support/perdure-of.js';
import { script } from '../../support/recording-model.js';
import { resetWorkflow } from '../../support/reset-workflow.js';
import { temporalServer } from '../../support/temporal-server.js';

let engine: Engine;
beforeEach(async () => {
  engine = await openEngine(temporalServer());
});
afterEach(() => engine[Symbol.asyncDispose]());

async function collect(runKey: string): Promise<void> {
  const upkeep = await openUpkeep(engine.storeChoice);
  const { runs } = await collectGarbage(upkeep, { closedRunsMs: 0, graceMs: 0 });
  await upkeep.close();
  expect(runs).toMatchObject([{ runKey }]);
}

it('ends a retry at once and says so, and the model is not asked', async () => {
  const model = script({ fail: { status: 401 } });
  const worker = await engine.worker({ model, tools: [] });
  const run = await engine.start(worker.taskQueue, {});
  await expect(run.result()).rejects.toThrow();
  await worker[Symbol.asyncDispose]();

  const perdure = perdureOf(engine);
  const handle = await perdure.get(run.runKey);
  await perdure.retry(handle);
  await collect(run.runKey);

  const unasked = script();
  await engine.worker({ model: unasked, tools: [] });
  await expect(handle.result()).rejects.toMatchObject({
    code: 'no_result',
    message: expect.stringMatching(/it failed.*was collected on 20.*nothing of it can run again/s) as string,
  });
  expect(unasked.requests).toEqual([]);
  await expect(perdure.retry(handle)).rejects.toMatchObject({
    code: 'run_not_found',
    message: expect.stringContaining('was collected on 20') as string,
  });
});

it.each(['start', 'callModel'])('ends a reset (%s) at once and says so', async (to) => {
  const model = script({ text: 'done' });
  const worker = await engine.worker({ model, tools: [] });
  const run = await engine.start(worker.taskQueue, {});
  await run.result();
  await collect(run.runKey);

  const { workflowId } = run.workflow;
  const runId = await resetWorkflow(engine.client, workflowId, to);
  const failed: unknown = await engine.client.workflow
    .getHandle(workflowId, runId)
    .result()
    .catch((error: unknown) => error);
  expect(rootCause((failed as Error).cause)).toContain('was collected on 20');
  expect(model.requests).toHaveLength(1);
});
