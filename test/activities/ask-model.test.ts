import { ApplicationFailure } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { expect, it } from 'vitest';
import { askModel } from '../../src/activities/ask-model.js';
import type { Services } from '../../src/activities/services.js';
import { Breakers } from '../../src/guards/breakers.js';
import { Limiters } from '../../src/guards/limiters.js';
import type { Model } from '../../src/models/model.js';
import { ProviderAnswerError } from '../../src/models/provider-error.js';
import { createRedactor } from '../../src/policy/redaction.js';
import { MemoryShared } from '../guards/memory-shared.js';

const hourMs = 3_600_000;
const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

/** A provider that refuses each request for its rate, and names the wait. */
const limited = (retryAfterSeconds: number): Model => ({
  name: 'limited',
  takesImages: false,
  complete: () =>
    Promise.reject(
      new ProviderAnswerError({
        status: 429,
        headers: { 'retry-after': String(retryAfterSeconds) },
        url: 'http://127.0.0.1',
        message: 'slow down',
        body: '',
      }),
    ),
});

function attempts(model: Model) {
  const shared = new MemoryShared();
  const services = {
    guards: { shared, breakers: new Breakers(shared), limiters: new Limiters(shared) },
    heartbeatTimeoutMs: 10_000,
    random: () => 0,
    redactor: createRedactor({ secrets: [] }),
    log: quiet,
    metrics: { modelAnswered: () => undefined },
  } as unknown as Services;
  let starts = 0;
  return async (): Promise<ApplicationFailure> => {
    // Scheduled a day ago, while there was no worker.
    const environment = new MockActivityEnvironment({ scheduledTimestampMs: Date.now() - 24 * hourMs });
    const failure: unknown = await environment
      .run(() =>
        askModel(services, {
          model,
          question: { system: '', messages: [], tools: [], loadBody: () => Promise.resolve(undefined) },
          turn: { runKey: 'run-1', step: 1, head: '', settings: '', take: 0 },
          countStart: () => Promise.resolve((starts += 1)),
        }),
      )
      .catch((error: unknown) => error);
    if (failure instanceof ApplicationFailure) return failure;
    throw new Error('expected a failure of Temporal', { cause: failure });
  };
}

it('a turn that waited a day for a worker still has its time for retries', async () => {
  const failure = await attempts(limited(60))();
  expect(failure).toMatchObject({ type: 'rate_limit', nonRetryable: false });
});

it('a turn ends once its attempts and the waits between them have used up its time', async () => {
  const attempt = attempts(limited(400));
  expect((await attempt()).nonRetryable).toBe(false);
  expect((await attempt()).nonRetryable).toBe(false);
  expect(await attempt()).toMatchObject({ type: 'rate_limit', nonRetryable: true });
});

it('a conversation that is too long for the model is called so', async () => {
  const full: Model = {
    name: 'small',
    takesImages: false,
    complete: () => {
      const message = "This model's maximum context length is 8192 tokens.";
      const data = { error: { code: 'context_length_exceeded', message } };
      const body = JSON.stringify(data);
      return Promise.reject(
        new ProviderAnswerError({ status: 400, headers: {}, url: 'http://127.0.0.1', message, body, data }),
      );
    },
  };
  expect(await attempts(full)()).toMatchObject({
    type: 'input_too_large',
    nonRetryable: true,
    message: "The conversation is too long for small: This model's maximum context length is 8192 tokens.",
  });
});
