/** A run that is collected between a person's question and the worker that takes the retry up. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { collectGarbage } from '../../../src/store/collect-garbage.js';
import { openUpkeep } from '../../../src/store/upkeep-database.js';
import { openEngine, type Engine } from '../../support/engine.js';
import { perdureOf } from '../../support/perdure-of.js';
import { script } from '../../support/recording-model.js';
import { temporalServer } from '../../support/temporal-server.js';

let engine: Engine;
beforeEach(async () => {
  engine = await openEngine(temporalServer());
});
afterEach(() => engine[Symbol.asyncDispose]());

it('ends at once and says so, and the model is not asked', async () => {
  const model = script({ fail: { status: 401 } });
  const worker = await engine.worker({ model, tools: [] });
  const run = await engine.start(worker.taskQueue, {});
  await expect(run.result()).rejects.toThrow();
  await worker[Symbol.asyncDispose]();

  const perdure = perdureOf(engine);
  const handle = await perdure.get(run.runKey);
  await perdure.retry(handle);
  const upkeep = await openUpkeep(engine.storeChoice);
  const { runs } = await collectGarbage(upkeep, { closedRunsMs: 0, graceMs: 0 });
  await upkeep.close();
  expect(runs).toMatchObject([{ runKey: run.runKey }]);

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
