import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { backendTools } from '../../support/backend-tools.js';
import { startChildWorker } from '../../support/child-worker.js';
import { openEngine, type Engine } from '../../support/engine.js';
import { script } from '../../support/recording-model.js';
import { bareNamespace } from '../../support/bare-namespace.js';
import { temporalServer } from '../../support/temporal-server.js';

let engine: Engine;
beforeEach(async () => {
  engine = await openEngine(temporalServer());
});
afterEach(() => engine[Symbol.asyncDispose]());

const tools = () => backendTools(engine.backend.url);

describe('a worker with another store', () => {
  it('on the same task queue refuses, and the right one does it later', async () => {
    const taskQueue = `shared-${randomUUID()}`;
    const model = script({ calls: [{ tool: 'refund' }] }, { text: 'done' });
    // The call waits for its second attempt while the workers change.
    engine.backend.script('refund', [{ status: 429, headers: { 'retry-after': '3' } }]);
    const right = await engine.worker({ model, tools: tools() }, { taskQueue });
    const run = await engine.start(taskQueue, {});
    const lastFailure = async () => {
      const { raw } = await run.workflow.describe();
      return raw.pendingActivities?.[0]?.lastFailure;
    };
    await expect.poll(async () => (await lastFailure())?.applicationFailureInfo?.type).toBe('rate_limit');
    await right[Symbol.asyncDispose]();

    const store = { path: join(engine.rootDir, 'other.db') };
    const other = await engine.worker({ model, tools: tools(), store }, { taskQueue });
    await expect
      .poll(async () => (await lastFailure())?.message, { timeout: 20_000 })
      .toBe(
        `this worker's store (${other.storeId}) is not the run's (${right.storeId}). Nothing was run. ` +
          'Start the worker with the store that the run began with, or give it a task queue of its own.',
      );
    expect((await lastFailure())?.applicationFailureInfo).toMatchObject({ type: 'NotReady', nonRetryable: false });
    expect(engine.backend.effectsOf('refund')).toHaveLength(1);
    await other[Symbol.asyncDispose]();

    await engine.worker({ model, tools: tools() }, { taskQueue });
    expect(await run.result()).toMatchObject({ status: 'completed', answer: 'done' });
    expect(engine.backend.effectsOf('refund')).toHaveLength(2);
    expect(new Set(engine.backend.effectsOf('refund').map(({ key }) => key)).size).toBe(1);
  });
});

describe('a namespace without search attributes', () => {
  it('is warned about with the command that registers them, and runs go on without', async () => {
    const namespace = await bareNamespace();
    await using bare = await openEngine({ ...temporalServer(), namespace });
    const worker = await bare.worker({
      model: script({ calls: [{ tool: 'look_up' }] }, { text: 'done' }),
      tools: backendTools(bare.backend.url),
    });
    const { address } = temporalServer();
    const [warning] = bare.log.filter(({ level }) => level === 'warn');
    expect(warning?.message).toBe(
      `namespace ${namespace} does not know the search attributes PerdureStatus, PerdureTools, PerdureFailureClasses; ` +
        'runs go on without them. To register them:\n' +
        [
          ['PerdureStatus', 'Keyword'],
          ['PerdureTools', 'KeywordList'],
          ['PerdureFailureClasses', 'KeywordList'],
        ]
          .map(
            ([name, type]) =>
              `temporal operator search-attribute create --address ${address} --namespace ${namespace} ` +
              `--name ${name} --type ${type}`,
          )
          .join('\n'),
    );
    const run = await bare.start(worker.taskQueue, {});
    expect(await run.result()).toMatchObject({ status: 'completed', answer: 'done' });
    const { events } = await run.workflow.fetchHistory();
    expect(events?.filter((event) => event.upsertWorkflowSearchAttributesEventAttributes)).toEqual([]);
  });
});

describe('a worker that is killed', () => {
  it('in the middle of a once call leaves an unknown outcome, a keyed call is run again, and nothing doubles', async () => {
    engine.backend.script('print_label', [{ hold: true }]);
    engine.backend.script('refund', [{ hold: true }]);
    const doomed = await startChildWorker(engine, { heartbeatTimeoutMs: 1_500 });
    const storeId = engine.store.storeId;
    const workflow = await engine.startWorkflow('ownCalls', {
      taskQueue: `perdure-${storeId.slice(0, 8)}`,
      args: [
        {
          groups: [
            [
              { tool: 'print_label', args: {} },
              { tool: 'refund', args: {} },
            ],
          ],
        },
      ],
    });
    await Promise.all([engine.backend.arrival('print_label'), engine.backend.arrival('refund')]);
    await doomed.kill();
    await using _next = await startChildWorker(engine, { heartbeatTimeoutMs: 1_500 });
    expect(await workflow.result()).toMatchObject([
      [
        { status: 'failed', failure: { class: 'outcome_unknown', effectState: 'unknown' }, attempts: 1 },
        { status: 'succeeded', attempts: 2 },
      ],
    ]);
    expect(engine.backend.effectsOf('print_label')).toHaveLength(1);
    expect(new Set(engine.backend.effectsOf('refund').map(({ key }) => key)).size).toBe(1);
  });
});
