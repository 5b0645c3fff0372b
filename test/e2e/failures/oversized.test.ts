import { temporal } from '@temporalio/proto';
import { expect, it } from 'vitest';
import { defineTool } from '../../../src/index.js';
import { MOST_CALLS_OF_TURN } from '../../../src/arguments/prepare-calls.js';
import { playScene, type Scene } from '../../support/agent-scene.js';

const { WorkflowTaskFailedCause } = temporal.api.enums.v1;

const counts = defineTool({
  name: 'counts',
  description: 'd',
  input: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  effect: 'read',
  execute: ({ text }) => (text as string).length,
});
/**
 * Causes of workflow tasks that the server did not take, and would be offered for ever. Not among them: that it closes a task
 * itself, or has it made again, for the many results that arrived meanwhile on a busy machine.
 */
const failedTasks = ({ history }: Scene): string[] =>
  (history.events ?? []).flatMap(({ workflowTaskFailedEventAttributes: failed }) =>
    failed
      ? [WorkflowTaskFailedCause[failed.cause ?? 0] ?? `cause ${failed.cause}`].filter(
          (cause) => !isForNewEvents(cause),
        )
      : [],
  );

const isForNewEvents = (cause: string) => /_(FORCE_CLOSE|UNHANDLED)_COMMAND$/.test(cause);

it('O03: arguments above the limit are refused as a value, and large ones reach the tool', async () => {
  const scene = await playScene({
    config: { tools: [counts] },
    model: [
      {
        calls: [
          { tool: 'counts', input: { text: 'x'.repeat(2_300_000) } },
          ...Array.from({ length: 8 }, (_, index) => ({
            tool: 'counts',
            input: { text: `${index} ${'y'.repeat(900_000)}` },
          })),
        ],
      },
      { text: 'done' },
    ],
  });
  expect(scene.result?.status).toBe('completed');
  expect(scene.told['c1.0']).toMatchObject({
    error_type: 'input_too_large',
    message: expect.stringContaining('2300011 bytes') as string,
  });
  for (let index = 1; index <= 8; index += 1) expect(scene.told[`c1.${index}`]).toMatchObject({ data: 900_002 });
  expect(failedTasks(scene)).toEqual([]);
  expect(scene.historyText.length).toBeLessThan(100_000);
});

it('O03: a turn of thousands of calls, good and bad, ends: some are made, the others are told', async () => {
  const reply = Array.from({ length: 3_000 }, (_, index) =>
    index % 2 === 0
      ? { tool: 'counts', input: { nonsense: 'z'.repeat(3_000), index } }
      : { tool: 'counts', input: { text: `${index} ${'y'.repeat(3_000)}` } },
  );
  const scene = await playScene({ config: { tools: [counts] }, model: [{ calls: reply }, { text: 'done' }] });
  expect(scene.result).toMatchObject({ status: 'completed', counters: { calls: MOST_CALLS_OF_TURN } });
  expect(scene.told['c1.1']).toMatchObject({ data: 3_002 });
  expect(scene.told['c1.498']).toMatchObject({
    error_type: 'validation_error',
    message: expect.stringContaining('text: is missing') as string,
  });
  expect(scene.told['c1.499']).toMatchObject({
    error_type: 'budget_exhausted',
    message: expect.stringContaining('the 2500 after this one') as string,
  });
  expect(failedTasks(scene)).toEqual([]);
  const asked = scene.requests[1]?.messages.flatMap((message) => (message.role === 'assistant' ? message.calls : []));
  expect(asked).toHaveLength(MOST_CALLS_OF_TURN);
});

it('O03: a workflow of one’s own may ask for more than one request holds', async () => {
  const scene = await playScene({
    config: { tools: [counts] },
    model: [],
    workflow: { type: 'manyLargeCalls', input: { calls: 9, bytes: 900_000 } },
  });
  expect(scene.returned).toEqual(Array<number>(9).fill(900_002));
  expect(failedTasks(scene)).toEqual([]);
});

it('a workflow of one’s own is told of arguments above the limit', async () => {
  const scene = await playScene({
    config: { tools: [counts] },
    model: [],
    workflow: { type: 'manyLargeCalls', input: { calls: 2, bytes: 1_100_000 } },
  });
  expect(scene.returned).toEqual(['input_too_large', 'input_too_large']);
});
