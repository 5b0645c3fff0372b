import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { backendTools } from '../../support/backend-tools.js';
import { openEngine, type Engine } from '../../support/engine.js';
import { script } from '../../support/recording-model.js';
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
