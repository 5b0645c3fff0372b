import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { defineTool } from '../../../src/index.js';
import { openEngine, type Engine } from '../../support/engine.js';
import { script } from '../../support/recording-model.js';
import { temporalServer } from '../../support/temporal-server.js';

const look = defineTool({
  name: 'look',
  description: 'Look.',
  input: { type: 'object', properties: {}, additionalProperties: false },
  effect: 'read',
  execute: () => ({ seen: true }),
});

/** What docs/operations.md says of costs, counted in the history of a run with one step, one call and an answer. */
describe('what a run tells the server', () => {
  let engine: Engine;
  beforeAll(async () => {
    engine = await openEngine(temporalServer());
  });
  afterAll(() => engine[Symbol.asyncDispose]());

  async function countsWith(costs: 'full' | 'lean'): Promise<{ activities: number; upserts: number }> {
    await using worker = await engine.worker({
      costs,
      tools: [look],
      model: script({ calls: [{ tool: 'look', input: {} }] }, { text: 'Seen.' }),
    });
    const run = await engine.start(worker.taskQueue, {});
    expect((await run.result()).answer).toBe('Seen.');
    const { events } = await run.workflow.fetchHistory();
    const count = (
      attributes: 'activityTaskScheduledEventAttributes' | 'upsertWorkflowSearchAttributesEventAttributes',
    ) => (events ?? []).filter((event) => event[attributes]).length;
    return {
      activities: count('activityTaskScheduledEventAttributes'),
      upserts: count('upsertWorkflowSearchAttributesEventAttributes'),
    };
  }

  it('is two activities for the run, one a model turn and one a call, and search attributes', async () => {
    const { activities, upserts } = await countsWith('full');
    expect(activities).toBe(2 + 2 + 1);
    expect(upserts).toBeGreaterThan(0);
  });

  it('is no search attributes where it is to cost little', async () => {
    expect(await countsWith('lean')).toEqual({ activities: 5, upserts: 0 });
  });
});
