import type { Client } from '@temporalio/client';
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { describe, expect, it } from 'vitest';
import { confirmAttempt } from '../../src/activities/confirm-attempt.js';
import type { Effect } from '../../src/contract/effect.js';
import '../support/quiet-runtime.js';

const keyed: Effect = { kind: 'idempotent', by: 'key', keyTtlMs: 86_400_000 };
const natural: Effect = { kind: 'idempotent', by: 'nature' };
const once: Effect = { kind: 'once' };

interface Answer {
  cancelRequested?: boolean;
  activityPaused?: boolean;
}

/** Confirms an attempt that was scheduled so long ago, by the server's clock; resolves with how often it was asked. */
async function confirm(
  effect: Effect,
  { ageMs = 20, waitedMs = 0 }: { ageMs?: number; waitedMs?: number } = {},
  answer: () => Promise<Answer> = () => Promise.resolve({}),
): Promise<number> {
  let asked = 0;
  const client = {
    withDeadline: (_deadline: number, ask: () => Promise<unknown>) => ask(),
    withAbortSignal: (_signal: AbortSignal, ask: () => Promise<unknown>) => ask(),
    workflowService: {
      recordActivityTaskHeartbeat: () => {
        asked += 1;
        return answer();
      },
    },
  } as unknown as Client;
  const currentAttemptScheduledTimestampMs = Date.now() - ageMs;
  const environment = new MockActivityEnvironment({ currentAttemptScheduledTimestampMs }, { client });
  await environment.run(() => confirmAttempt(effect, { enteredAtMs: performance.now() - waitedMs, deadlineMs: 1_000 }));
  return asked;
}

describe('the server’s word on an attempt', () => {
  it('is not asked for where it has just handed out a keyed call', async () => {
    expect(await confirm(keyed)).toBe(0);
  });

  it.each([
    { name: 'a keyed call that was long on its way', effect: keyed, age: { ageMs: 2_000 } },
    { name: 'a keyed call that has waited here', effect: keyed, age: { waitedMs: 2_000 } },
    { name: 'a keyed call where the clocks differ', effect: keyed, age: { ageMs: -2_000 } },
    { name: 'a call whose second start would undo a later one', effect: natural, age: {} },
    { name: 'a call that must not run twice', effect: once, age: {} },
  ])('is asked for before $name', async ({ effect, age }) => {
    expect(await confirm(effect, age)).toBe(1);
  });

  it('keeps a cancelled run’s call from being started', async () => {
    const cancelled = confirm(once, {}, () => Promise.resolve({ cancelRequested: true }));
    await expect(cancelled).rejects.toBeInstanceOf(CancelledFailure);
  });

  it.each([
    { name: 'the activity is paused', answer: () => Promise.resolve({ activityPaused: true }), says: 'paused' },
    { name: 'there is none', answer: () => Promise.reject(new Error('no route')), says: 'no route' },
  ])('has the attempt offered again where $name', async ({ answer, says }) => {
    const refused: unknown = await confirm(once, {}, answer).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(ApplicationFailure);
    expect(refused).toMatchObject({ type: 'NotReady', nonRetryable: false });
    expect(String(refused)).toContain(says);
  });

  it('is not needed where the attempt was told to stop', async () => {
    const environment = new MockActivityEnvironment({ currentAttemptScheduledTimestampMs: Date.now() });
    environment.cancel();
    await expect(
      environment.run(() => confirmAttempt(keyed, { enteredAtMs: performance.now(), deadlineMs: 1_000 })),
    ).rejects.toBeInstanceOf(CancelledFailure);
  });
});
