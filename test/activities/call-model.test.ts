import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MockActivityEnvironment } from '@temporalio/testing';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createActivities } from '../../src/activities/index.js';
import { resolveConfig } from '../../src/config/resolve-config.js';
import type { CallModelInput, CallModelResult } from '../../src/contract/activities.js';
import type { TranscriptMessage } from '../../src/contract/transcript.js';
import type { Model } from '../../src/models/model.js';
import { openWorkerServices } from '../../src/worker/worker-services.js';
import '../support/quiet-runtime.js';

let rootDir: string;
beforeEach(async () => {
  rootDir = await mkdtemp(join(tmpdir(), 'perdure-call-model-'));
});
afterEach(() => rm(rootDir, { recursive: true }));

const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

function asActivity<T>(run: () => Promise<T>): Promise<T> {
  return new MockActivityEnvironment().run<[], T, () => Promise<T>>(run);
}

/** A worker on the test's store whose model says what `answer` gives. */
async function workerOf(answer: (messages: readonly TranscriptMessage[]) => string | Promise<string>) {
  const model: Model = {
    name: 'test',
    takesImages: false,
    complete: async ({ messages }) => ({ text: await answer(messages), calls: [], finishReason: 'stop' }),
  };
  const config = await resolveConfig(
    { model, tools: [], store: { path: join(rootDir, 'store.db') } },
    { rootDir, env: {} },
  );
  const opened = await openWorkerServices(config, quiet);
  const activities = createActivities({ ...opened.services, searchAttributes: false });
  return {
    store: opened.store,
    callModel: (input: CallModelInput) => asActivity(() => activities.callModel(input)),
    startRun: () => asActivity(() => activities.startRun({ runKey: 'r1', workflowId: 'w1', task: 'Say something.' })),
    [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose](),
  };
}

it('a worker whose answer came second goes on with the conversation that is stored, not with its own', async () => {
  const asked: TranscriptMessage[][] = [];
  await using quick = await workerOf(() => 'the first answer');
  const turn: { input?: CallModelInput; answer?: CallModelResult } = {};
  await using slow = await workerOf(async (messages) => {
    asked.push(structuredClone([...messages]));
    // While this one is asked, the other worker is asked the same, and answers.
    turn.answer ??= await quick.callModel(turn.input as CallModelInput);
    return 'the second answer';
  });
  const { manifest } = await slow.startRun();
  const root = (await slow.store.getRun('r1'))?.head ?? '';
  const input: CallModelInput = {
    runKey: 'r1',
    storeId: slow.store.storeId,
    step: 1,
    take: 0,
    head: root,
    manifestHash: manifest.hash,
    answered: [],
  };
  turn.input = input;
  const told = await slow.callModel(input);
  expect(told).toEqual(turn.answer);
  expect(told.text).toBe('the first answer');

  await slow.callModel({ ...input, step: 2, head: told.head });
  const stored = (await slow.store.getChain(told.head)).map(({ message }) => message);
  expect(asked[1]).toEqual(stored);
});
