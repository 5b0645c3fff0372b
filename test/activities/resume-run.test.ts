import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Client } from '@temporalio/client';
import { MockActivityEnvironment } from '@temporalio/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createActivities } from '../../src/activities/index.js';
import { resolveConfig } from '../../src/config/resolve-config.js';
import type { CallModelResult } from '../../src/contract/activities.js';
import type { ResumedRun } from '../../src/contract/intervention.js';
import { scriptedModel, type ScriptedTurn } from '../../src/models/scripted-model.js';
import type { WorkerStore } from '../../src/store/shared-state.js';
import { defineTool } from '../../src/tools/define-tool.js';
import { openWorkerServices } from '../../src/worker/worker-services.js';
import '../support/quiet-runtime.js';

let rootDir: string;
beforeEach(async () => {
  rootDir = await mkdtemp(join(tmpdir(), 'perdure-resume-run-'));
});
afterEach(() => rm(rootDir, { recursive: true }));

const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

/** The server says of every execution that it is open. */
const client = {
  withDeadline: (_deadline: number, ask: () => Promise<unknown>) => ask(),
  withAbortSignal: (_signal: AbortSignal, ask: () => Promise<unknown>) => ask(),
  workflow: { getHandle: () => ({ describe: () => Promise.resolve({}) }) },
} as unknown as Client;

function asExecution<T>(runId: string, run: () => Promise<T>): Promise<T> {
  const environment = new MockActivityEnvironment({ workflowExecution: { workflowId: 'w1', runId } }, { client });
  return environment.run<[], T, () => Promise<T>>(run);
}

/** A run that its first execution has begun, and which a second one is asked to take up. */
async function begunRun(turn: ScriptedTurn) {
  const label = defineTool({
    name: 'print_label',
    description: 'Prints a label.',
    effect: 'once',
    input: { type: 'object' },
    execute: () => 'printed',
  });
  const config = await resolveConfig(
    { model: scriptedModel({ turns: [turn] }), tools: [label], store: { path: join(rootDir, 'store.db') } },
    { rootDir, env: {} },
  );
  const opened = await openWorkerServices(config, quiet);
  const activitiesOn = (store: WorkerStore) => createActivities({ ...opened.services, store, searchAttributes: false });
  const { store } = opened;
  const first = activitiesOn(store);
  const { manifest, head } = await asExecution('first', () =>
    first.startRun({ runKey: 'r1', workflowId: 'w1', task: 'Print a label.' }),
  );
  const input = { runKey: 'r1', storeId: store.storeId, step: 1, take: 0, head, manifestHash: manifest.hash };
  return {
    store,
    answer: () => asExecution('first', () => first.callModel({ ...input, answered: [] })),
    resume: (askAgain: { askAgain?: true }, on = store): Promise<ResumedRun> =>
      asExecution('second', () =>
        activitiesOn(on).resumeRun({
          runKey: 'r1',
          workflowId: 'w1',
          resume: { id: 'i1', by: 'somebody', ...askAgain },
        }),
      ),
    [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose](),
  };
}

/** Does something once, just after the store was first asked for the run. */
function afterFirstLook(store: WorkerStore, act: () => Promise<unknown>): WorkerStore {
  let looked = false;
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      if (name !== 'getRun') return value.bind(target) as unknown;
      return async (runKey: string) => {
        const run = await target.getRun(runKey);
        if (!looked) {
          looked = true;
          await act();
        }
        return run;
      };
    },
  });
}

describe('a run that is taken up', () => {
  it('goes on after the turn that its former execution committed at the last moment', async () => {
    await using run = await begunRun({ text: 'nothing to print' });
    let turn: CallModelResult | undefined;
    const store = afterFirstLook(run.store, async () => {
      turn = await run.answer();
    });
    const resumed = await run.resume({}, store);
    expect(turn?.text).toBe('nothing to print');
    expect(resumed).toMatchObject({
      answer: 'nothing to print',
      carried: { head: turn?.head, counters: { steps: 1 } },
    });
  });

  it('does not ask its model again where a call of the turn has begun since that was asked for', async () => {
    await using run = await begunRun({ calls: [{ tool: 'print_label' }] });
    const { calls } = await run.answer();
    const [asked] = calls;
    if (asked?.status !== 'ready') throw new Error('no call was asked for');
    const { callId, tool, key, digest } = asked.call;
    const call = { runKey: 'r1', callId, tool, digest, effect: { kind: 'once' } } as const;
    await run.store.applyLedger(key, { type: 'claim', call, token: 't1', leaseMs: 60_000, graceMs: 0 });
    await run.store.applyLedger(key, { type: 'begin', call, token: 't1', leaseMs: 60_000 });
    const resumed = await run.resume({ askAgain: true });
    expect(resumed.carried.nextTurn).toBeUndefined();
    expect(resumed.calls).toMatchObject([{ status: 'open', call: { callId } }]);
    expect((await run.store.listInterventions('r1')).map((each) => each.kind)).toEqual(['retry']);
  });
});
