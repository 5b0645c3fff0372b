/** Where the conversation of a run ends, as its workflow says it with the run's end: only where a turn's words are its result. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { FinishRunInput } from '../../../src/contract/activities.js';
import { backendTools } from '../../support/backend-tools.js';
import { openEngine, type Engine, type RunHandle } from '../../support/engine.js';
import { asks, byRequest, refusesKey } from '../../support/recording-model.js';
import { temporalServer } from '../../support/temporal-server.js';

let engine: Engine;
beforeEach(async () => {
  engine = await openEngine(temporalServer());
});
afterEach(() => engine[Symbol.asyncDispose]());

const call = asks(['look_up', { n: 1 }]);
const start = async (steps: number | null, ...replies: Parameters<typeof byRequest>): Promise<RunHandle> => {
  const worker = await engine.worker({ model: byRequest(...replies), tools: backendTools(engine.backend.url) });
  return await engine.start(worker.taskQueue, { limits: { steps } });
};

/** What the workflow asked for when it ended, each time that it did. */
async function endsOf(run: RunHandle): Promise<FinishRunInput[]> {
  const { events } = await run.workflow.fetchHistory();
  return (events ?? []).flatMap(({ activityTaskScheduledEventAttributes: activity }) =>
    activity?.activityType?.name === 'finishRun'
      ? [JSON.parse(Buffer.from(activity.input?.payloads?.[0]?.data ?? []).toString()) as FinishRunInput]
      : [],
  );
}

it.each([
  { ends: 'an answer', steps: null, replies: [call, { text: 'done' }], reason: 'answered' },
  { ends: 'last words at a cap', steps: 1, replies: [call, { text: 'so far' }], reason: 'steps_cap' },
  { ends: 'last words at a cap that are but a call', steps: 1, replies: [call, call], reason: 'steps_cap' },
])('$ends says where', async ({ steps, replies, reason }) => {
  const run = await start(steps, ...replies);
  await run.result();
  const turns = await engine.store.listTurns(run.runKey);
  expect(await endsOf(run)).toMatchObject([{ result: { termination: { reason } }, head: turns.at(-1)?.result.head }]);
});

it.each([
  { ends: 'a cap without last words', steps: 1, replies: [call, {}, {}], reason: 'steps_cap' },
  { ends: 'a cap whose last turn failed', steps: 1, replies: [call, refusesKey], reason: 'steps_cap' },
  { ends: 'a model that fails', steps: null, replies: [call, refusesKey], reason: 'model_failed' },
  { ends: 'a model that says nothing', steps: null, replies: [call, {}, {}], reason: 'empty_turns' },
])('$ends does not', async ({ steps, replies, reason }) => {
  const run = await start(steps, ...replies);
  await run.result().catch(() => undefined);
  const ends = await endsOf(run);
  expect(ends).toMatchObject([{ result: { termination: { reason } } }]);
  expect(ends[0]).not.toHaveProperty('head');
});

it('a run that is cancelled while its model answers does not', async () => {
  let asked = (): void => undefined;
  const isAsked = new Promise<void>((resolve) => (asked = resolve));
  const run = await start(null, call, () => {
    asked();
    return new Promise(() => undefined);
  });
  await isAsked;
  await run.workflow.cancel();
  await expect(run.result()).rejects.toThrow();
  const ends = await endsOf(run);
  expect(ends).toMatchObject([{ result: { termination: { reason: 'cancelled' } } }]);
  expect(ends[0]).not.toHaveProperty('head');
});
