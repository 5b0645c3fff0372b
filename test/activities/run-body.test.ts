import { MockActivityEnvironment } from '@temporalio/testing';
import { describe, expect, it } from 'vitest';
import { runBody, type BodyEnd } from '../../src/activities/run-body.js';

type Options = Parameters<typeof runBody>[0];

async function run(options: Partial<Options>, environment = new MockActivityEnvironment()): Promise<BodyEnd> {
  return await environment.run(() =>
    runBody({
      body: async () => 'result',
      deadlineMs: 10_000,
      superseded: new AbortController().signal,
      onLate: (end) => {
        throw new Error(`unexpected late end: ${end.kind}`);
      },
      ...options,
    }),
  );
}

/** A body that ends as soon as it is told to, with the signal's reason. */
const obedient = (signal: AbortSignal) =>
  new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });

describe('a body', () => {
  it('that returns or throws ends so, even where it throws before its first await', async () => {
    expect(await run({})).toEqual({ kind: 'returned', value: 'result' });
    const thrown = { odd: true };
    expect(await run({ body: () => Promise.reject(thrown as never) })).toEqual({ kind: 'threw', thrown });
    const sync = () => {
      throw new TypeError('at once');
    };
    expect(await run({ body: sync })).toEqual({ kind: 'threw', thrown: new TypeError('at once') });
  });

  it('is told of its deadline with a TimeoutError', async () => {
    expect(await run({ body: obedient, deadlineMs: 20 })).toMatchObject({
      kind: 'threw',
      thrown: { name: 'TimeoutError' },
      interruption: 'deadline',
    });
  });

  it('is told that another attempt took over with an AbortError', async () => {
    const controller = new AbortController();
    const end = run({ body: obedient, superseded: controller.signal });
    controller.abort();
    expect(await end).toMatchObject({ kind: 'threw', thrown: { name: 'AbortError' }, interruption: 'superseded' });
  });

  it('is told of the cancellation of its run', async () => {
    const environment = new MockActivityEnvironment();
    const end = run({ body: obedient }, environment);
    environment.cancel();
    expect(await end).toMatchObject({ kind: 'threw', thrown: { name: 'AbortError' }, interruption: 'cancelled' });
  });

  it('is told at once where it was taken over before it began', async () => {
    expect(await run({ body: obedient, superseded: AbortSignal.abort() })).toMatchObject({
      interruption: 'superseded',
    });
  });

  it('that ends well although it was told to stop has its result kept', async () => {
    const body = (signal: AbortSignal) =>
      new Promise((resolve) => signal.addEventListener('abort', () => resolve('just done'), { once: true }));
    expect(await run({ body, deadlineMs: 20 })).toEqual({
      kind: 'returned',
      value: 'just done',
      interruption: 'deadline',
    });
  });

  it('that does not stop is left behind, and its late end is reported', async () => {
    const late = Promise.withResolvers<unknown>();
    const done = Promise.withResolvers<unknown>();
    const end = await run({ body: () => done.promise, deadlineMs: 20, onLate: late.resolve });
    expect(end).toEqual({ kind: 'running', interruption: 'deadline' });
    done.resolve('too late');
    expect(await late.promise).toEqual({ kind: 'returned', value: 'too late' });
  });
});
