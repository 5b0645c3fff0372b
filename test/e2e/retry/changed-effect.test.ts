/** A tool that is deployed with another effect than the one under which a call of it was started. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ToolOptions } from '../../../src/tools/tool.js';
import { backendTool } from '../../support/backend-tools.js';
import { openEngine, type Engine, type RunHandle } from '../../support/engine.js';
import { perdureOf } from '../../support/perdure-of.js';
import { asks, byRequest } from '../../support/recording-model.js';
import { temporalServer } from '../../support/temporal-server.js';

let engine: Engine;
beforeEach(async () => {
  engine = await openEngine(temporalServer());
});
afterEach(() => engine[Symbol.asyncDispose]());

type Declared = Pick<ToolOptions<object, unknown>, 'effect' | 'reconcile'>;

const heartbeatTimeoutMs = 2_000;
const print = (declared: Declared) => [backendTool(engine.backend.url, 'print', declared)];

/** A run that was terminated, and its worker stopped, in the middle of a call; the call's row has no end. */
async function leftInItsCall(declared: Declared): Promise<RunHandle> {
  engine.backend.script('print', [{ hold: true }]);
  const model = byRequest(asks(['print', { n: 1 }]));
  const worker = await engine.worker({ model, tools: print(declared), heartbeatTimeoutMs });
  const run = await engine.start(worker.taskQueue, {});
  await engine.backend.arrival('print');
  await run.workflow.terminate('the test wants it');
  await worker[Symbol.asyncDispose]();
  const [call] = await run.calls();
  expect(call?.row).toMatchObject({ begun: true, starts: 1, effect: { kind: declared.effect ?? 'once' } });
  expect(call?.row).not.toHaveProperty('outcome');
  return run;
}

/** The run, retried with the tool as it is declared now. */
async function retriedWith(run: RunHandle, declared: Declared) {
  await engine.worker({ model: byRequest({ text: 'done' }), tools: print(declared), heartbeatTimeoutMs });
  const perdure = perdureOf(engine);
  const handle = await perdure.get(run.runKey);
  await perdure.retry(handle);
  expect(await handle.result()).toMatchObject({ status: 'completed', answer: 'done' });
  return (await run.told())['c1.0'];
}

describe('a call that was started as once, and lost', () => {
  it.each<Declared>([{ effect: { idempotent: 'key' } }, { effect: { idempotent: 'nature' } }, { effect: 'read' }])(
    'is not started again as %j: nobody knows whether it happened',
    async (declared) => {
      const run = await leftInItsCall({});
      const told = await retriedWith(run, declared);
      expect(told).toMatchObject({ error_type: 'outcome_unknown', effect_state: 'unknown' });
      expect(engine.backend.effectsOf('print')).toHaveLength(1);
    },
    30_000,
  );

  it('is asked about, where the tool can tell', async () => {
    const run = await leftInItsCall({});
    const declared: Declared = { effect: { idempotent: 'key' }, reconcile: () => ({ done: true, result: 'L-7' }) };
    expect(await retriedWith(run, declared)).toMatchObject({ status: 'succeeded', data: 'L-7' });
    expect(engine.backend.effectsOf('print')).toHaveLength(1);
  }, 30_000);

  it('runs where its backend was fenced', async () => {
    const run = await leftInItsCall({});
    const declared: Declared = { effect: { idempotent: 'key' }, reconcile: () => ({ none: true, fenced: true }) };
    expect(await retriedWith(run, declared)).toMatchObject({ status: 'succeeded' });
    expect((await run.calls())[0]?.row).toMatchObject({ starts: 2 });
  }, 30_000);
});

it('a call that was started as a read, and lost, runs as what its tool is now', async () => {
  const run = await leftInItsCall({ effect: 'read' });
  expect(await retriedWith(run, {})).toMatchObject({ status: 'succeeded' });
  expect((await run.calls())[0]?.row).toMatchObject({ starts: 2, effect: { kind: 'once' } });
}, 30_000);
