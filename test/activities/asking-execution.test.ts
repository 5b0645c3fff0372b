import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ApplicationFailure, WorkflowNotFoundError } from '@temporalio/common';
import type { Client } from '@temporalio/client';
import { MockActivityEnvironment } from '@temporalio/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { asLatest } from '../../src/activities/asking-execution.js';
import { openSqliteStore } from '../../src/store/sqlite-store.js';
import type { Store } from '../../src/store/store.js';
import { endOf, runOf } from '../store/store-samples.js';
import '../support/quiet-runtime.js';

const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

let rootDir: string;
let store: Store;
beforeEach(async () => {
  rootDir = await mkdtemp(join(tmpdir(), 'perdure-asking-'));
  store = await openSqliteStore({ path: join(rootDir, 'store.db') });
  await store.createRun({ ...runOf('r1'), by: { runId: 'first' } });
});
afterEach(async () => {
  await store.close();
  await rm(rootDir, { recursive: true });
});

/** Has an activity of this execution end the run; `describe` is the server's word on the execution. */
async function end(runId: string, describe: () => Promise<{ closeTime?: Date }>): Promise<void> {
  const asked: unknown[] = [];
  const client = {
    withDeadline: (_deadline: number, ask: () => Promise<unknown>) => ask(),
    withAbortSignal: (_signal: AbortSignal, ask: () => Promise<unknown>) => ask(),
    workflow: {
      getHandle: (...execution: unknown[]) => {
        asked.push(execution);
        return { describe };
      },
    },
  } as unknown as Client;
  const environment = new MockActivityEnvironment({ workflowExecution: { workflowId: 'w1', runId } }, { client });
  const services = { store, log: quiet, heartbeatTimeoutMs: 1_000 };
  const result = endOf('completed', `says ${runId}`);
  await environment.run(() => asLatest(services, 'r1', (by) => store.finishRun('r1', result, { ...(by && { by }) })));
  if (asked.length > 0) expect(asked).toEqual([['w1', runId]]);
}

const isOpen = () => Promise.resolve({});
const isClosed = () => Promise.resolve({ closeTime: new Date() });
const never = () => Promise.reject(new Error('the server is not to be asked'));

async function refusal(ended: Promise<void>): Promise<ApplicationFailure> {
  const error: unknown = await ended.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ApplicationFailure)) throw new Error(`expected a failure, got ${String(error)}`);
  expect(error).toMatchObject({ type: 'NotReady', nonRetryable: false });
  return error;
}

describe('what only the run’s execution may ask for', () => {
  it('asks no server where the execution has the run', async () => {
    await end('first', never);
    expect(await store.getRun('r1')).toMatchObject({ status: 'completed', endedBy: 'first' });
  });

  it('takes the run over for an open execution, once', async () => {
    await end('second', isOpen);
    expect(await store.getRun('r1')).toMatchObject({ execution: 'second', endedBy: 'second' });
    await end('second', never);
  });

  it.each([
    { name: 'is over', describe: isClosed },
    { name: 'is forgotten', describe: () => Promise.reject(new WorkflowNotFoundError('gone', 'w1', 'second')) },
  ])('changes nothing for an execution that $name', async ({ describe: word }) => {
    expect((await refusal(end('second', word))).message).toContain('this execution is over');
    expect(await store.getRun('r1')).toMatchObject({ execution: 'first', status: 'running' });
  });

  it('takes nothing where somebody else took the run after the server was asked', async () => {
    const stalls = async () => {
      await store.takeOver('r1', { runId: 'third', after: 'first' });
      return {};
    };
    expect((await refusal(end('second', stalls))).message).toContain('in the same moment');
    expect(await store.getRun('r1')).toMatchObject({ execution: 'third', status: 'running' });
  });

  it('asks again soon where the server did not answer', async () => {
    const failure = await refusal(end('second', () => Promise.reject(new Error('unavailable'))));
    expect(failure).toMatchObject({ nextRetryDelay: 1_000 });
    expect(failure.message).toContain('did not say whether this execution goes on: unavailable');
    expect(await store.getRun('r1')).toMatchObject({ execution: 'first', status: 'running' });
  });
});
