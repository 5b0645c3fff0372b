import { WorkflowFailedError } from '@temporalio/client';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readRunFailure } from '../../../src/temporal/failure-mapper.js';
import { backendTools } from '../../support/backend-tools.js';
import { temporalServer } from '../../support/temporal-server.js';
import { openEngine, type Engine, type RunHandle } from '../../support/engine.js';
import { byRequest, script } from '../../support/recording-model.js';

let engine: Engine;
beforeEach(async () => {
  engine = await openEngine(temporalServer());
});
afterEach(() => engine[Symbol.asyncDispose]());

const tools = () => backendTools(engine.backend.url);

async function failureOf(run: RunHandle) {
  const error = await run.result().then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(WorkflowFailedError);
  return readRunFailure(error);
}

describe('a model turn', () => {
  it('is asked for again after a 429, not before its Retry-After', async () => {
    const model = script({ text: 'at last', failFirst: [{ status: 429, headers: { 'retry-after': '1' } }] });
    const worker = await engine.worker({ model, tools: tools() });
    const askedAt = Date.now();
    const run = await engine.start(worker.taskQueue, {});
    expect(await run.result()).toMatchObject({ status: 'completed', answer: 'at last', counters: { steps: 1 } });
    expect(Date.now() - askedAt).toBeGreaterThanOrEqual(1_000);
    expect(model.requests).toHaveLength(2);
  });

  it('that the provider refuses for its key ends the run as failed, with the result in the details', async () => {
    const model = script({ calls: [{ tool: 'look_up' }] }, { fail: { status: 401, message: 'wrong api key' } });
    const worker = await engine.worker({ model, tools: tools() });
    const run = await engine.start(worker.taskQueue, {});
    const result = await failureOf(run);
    expect(result).toMatchObject({
      status: 'failed',
      answer: '',
      termination: { reason: 'model_failed', summary: expect.stringMatching(/^the model could not answer: /) },
      counters: { steps: 2, calls: 1 },
    });
    expect(await engine.store.getRun(run.runKey)).toMatchObject({ status: 'failed', result });
    expect(model.requests).toHaveLength(2);
  });

  it('that a script has no reply for ends the run as failed, and says so', async () => {
    const model = script({ calls: [{ tool: 'look_up' }] });
    const worker = await engine.worker({ model, tools: tools() });
    const run = await engine.start(worker.taskQueue, {});
    expect((await failureOf(run))?.termination).toEqual({
      reason: 'model_failed',
      summary: expect.stringContaining('has 1 turn and was asked for another'),
    });
  });

  it('is ended in words where the worker has no model', async () => {
    const worker = await engine.worker({ tools: tools() });
    const run = await engine.start(worker.taskQueue, {});
    expect((await failureOf(run))?.termination.summary).toContain('set `model` in perdure.config.ts');
  });

  it('that is empty is asked for once more, with a word on it', async () => {
    const model = byRequest({ finishReason: 'tool-calls' }, { text: 'now I answer' });
    const worker = await engine.worker({ model, tools: tools() });
    const run = await engine.start(worker.taskQueue, {});
    expect(await run.result()).toMatchObject({ status: 'completed', answer: 'now I answer', counters: { steps: 1 } });
    expect(model.requests.map(({ system }) => system.includes('Your last reply was empty'))).toEqual([false, true]);
    // The empty take is no part of the conversation.
    expect(await run.transcript()).toHaveLength(2);
    expect((await engine.store.listTurns(run.runKey)).map(({ turn }) => turn.take)).toEqual([0, 1]);
  });

  it('that is empty twice ends the run with a named reason', async () => {
    const model = byRequest({}, { text: '  ' });
    const worker = await engine.worker({ model, tools: tools() });
    const run = await engine.start(worker.taskQueue, {});
    expect((await failureOf(run))?.termination).toEqual({
      reason: 'empty_turns',
      summary: 'the model gave neither an answer nor a call, twice in a row',
    });
  });

  it('that writes a call as text never runs it, and is told to make it', async () => {
    const written = { text: '{"name": "print_label", "arguments": {"n": 1}}' };
    const made = { calls: [{ providerCallId: 'x', modelName: 'print_label', rawArguments: '{"n":2}' }] };
    const model = byRequest(written, made, { text: 'done' });
    const worker = await engine.worker({ model, tools: tools() });
    const run = await engine.start(worker.taskQueue, {});
    expect(await run.result()).toMatchObject({ status: 'completed', answer: 'done' });
    expect(engine.backend.journal.map(({ args }) => args)).toEqual([{ n: 2 }]);
    expect(model.requests[1]?.system).toContain('a tool call written as text, which nobody runs');
  });

  it('that writes a call as text twice is taken for an answer, and still nothing runs', async () => {
    const written = { text: '{"name": "print_label", "arguments": {"n": 1}}' };
    const model = byRequest(written, written);
    const worker = await engine.worker({ model, tools: tools() });
    const run = await engine.start(worker.taskQueue, {});
    expect(await run.result()).toMatchObject({ status: 'completed', answer: written.text });
    expect(engine.backend.journal).toEqual([]);
  });
});
