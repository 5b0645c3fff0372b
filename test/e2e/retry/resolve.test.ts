import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Perdure } from '../../../src/client/perdure-client.js';
import { backendTools } from '../../support/backend-tools.js';
import { openEngine, type Engine, type RunHandle } from '../../support/engine.js';
import { perdureOf } from '../../support/perdure-of.js';
import { asks, byRequest, refusesKey } from '../../support/recording-model.js';
import { temporalServer } from '../../support/temporal-server.js';

let engine: Engine;
let perdure: Perdure;
beforeEach(async () => {
  engine = await openEngine(temporalServer());
  perdure = perdureOf(engine);
});
afterEach(() => engine[Symbol.asyncDispose]());

async function resolve(run: RunHandle, callId: string, options: Parameters<Perdure['resolve']>[2]) {
  return await perdure.resolve(await perdure.get(run.runKey), callId, options);
}

async function retry(run: RunHandle, options?: Parameters<Perdure['retry']>[1]) {
  const handle = await perdure.get(run.runKey);
  await perdure.retry(handle, options);
  return await handle.result();
}

/** A run whose `print_label` lost its answer, and whose model then could not be asked. */
async function lostLabel(...more: Parameters<typeof byRequest>) {
  engine.backend.script('print_label', [{ hangUp: true }]);
  const model = byRequest(asks(['print_label', { n: 1 }]), refusesKey, ...more);
  const worker = await engine.worker({ model, tools: backendTools(engine.backend.url) });
  const run = await engine.start(worker.taskQueue, {});
  await expect(run.result()).rejects.toThrow();
  expect((await run.calls())[0]?.row.outcome).toMatchObject({ failure: { class: 'outcome_unknown' } });
  return { run, model };
}

describe('a person who settles an unknown outcome of an ended run', () => {
  it('by "it did not happen" has the retry run the call, once', async () => {
    const { run } = await lostLabel({ text: 'printed' });
    expect(await resolve(run, 'c1.0', { happened: false, note: 'the printer was off' })).toMatchObject({
      status: 'failed',
      failure: { class: 'skipped', effectState: 'none', message: expect.stringContaining('the printer was off') },
    });
    expect(await retry(run)).toMatchObject({ status: 'completed', answer: 'printed' });
    expect(engine.backend.effectsOf('print_label')).toHaveLength(2);
    expect((await run.told())['c1.0']).toMatchObject({ status: 'succeeded' });
    expect((await run.transcript()).filter(({ role }) => role === 'user')).toHaveLength(1);
  });

  it('by "it happened" has the model read the result in the place of the call, and nothing run', async () => {
    const { run } = await lostLabel({ text: 'printed' });
    await resolve(run, 'c1.0', { happened: true, result: { label: 'L-7' }, note: 'it lies in the tray', by: 'ada' });
    expect(await retry(run)).toMatchObject({ status: 'completed', answer: 'printed' });
    expect(engine.backend.effectsOf('print_label')).toHaveLength(1);
    expect((await run.told())['c1.0']).toMatchObject({
      status: 'succeeded',
      data: { label: 'L-7' },
      notes: [expect.stringContaining('it lies in the tray')],
    });
    expect((await engine.store.listInterventions(run.runKey))[0]).toMatchObject({
      kind: 'resolution',
      by: 'ada',
      callId: 'c1.0',
      happened: true,
      former: { failure: { class: 'outcome_unknown' } },
    });
  });

  it('without a result says that it is not known', async () => {
    const { run } = await lostLabel({ text: 'printed' });
    await resolve(run, 'c1.0', { happened: true });
    await retry(run);
    expect((await run.told())['c1.0']).toMatchObject({
      status: 'succeeded',
      data: null,
      empty_reason: 'result_not_known',
    });
  });

  it('which the model has read already is told in its next turn, once', async () => {
    const { run, model } = await lostLabel(asks(['refund', { n: 1 }]), refusesKey, refusesKey, { text: 'printed' });
    await expect(retry(run)).resolves.toMatchObject({ status: 'failed' });
    await resolve(run, 'c1.0', { happened: true, note: 'it lies in the tray' });
    expect(await retry(run)).toMatchObject({ status: 'failed' });
    expect(await retry(run)).toMatchObject({ answer: 'printed' });
    const notes = model.requests.map(({ messages }) =>
      messages.filter((message) => message.role === 'user' && message.intervention !== undefined),
    );
    expect(notes.map(({ length }) => length)).toEqual([0, 0, 0, 0, 1, 1]);
    expect(notes[4]?.[0]).toMatchObject({ text: expect.stringContaining('print_label (c1.0)') });
    expect(notes[4]?.[0]).toMatchObject({ text: expect.stringContaining('it lies in the tray') });
    expect((await run.told())['c1.0']).toMatchObject({ error_type: 'outcome_unknown' });
    expect(engine.backend.effectsOf('print_label')).toHaveLength(1);
  });

  it('need not do so before the model is asked for another answer', async () => {
    const { run } = await lostLabel({ text: 'perhaps printed' }, { text: 'look into the tray' });
    expect(await retry(run)).toMatchObject({ answer: 'perhaps printed' });
    expect(await retry(run, { askAgain: true })).toMatchObject({ answer: 'look into the tray' });
    expect((await run.told())['c1.0']).toMatchObject({ error_type: 'outcome_unknown' });
    expect(engine.backend.effectsOf('print_label')).toHaveLength(1);
  });

  it('reads in the place of the call where the turn that had read it is set aside', async () => {
    const { run } = await lostLabel({ text: 'perhaps printed' }, { text: 'printed' });
    expect(await retry(run)).toMatchObject({ answer: 'perhaps printed' });
    await resolve(run, 'c1.0', { happened: true });
    expect(await retry(run, { askAgain: true })).toMatchObject({ answer: 'printed' });
    expect((await run.told())['c1.0']).toMatchObject({ status: 'succeeded' });
    expect((await run.transcript()).filter(({ role }) => role === 'user')).toHaveLength(1);
  });
});

describe('a person who settles an unknown outcome', () => {
  it('of a run that goes on has its model read it in the next turn', async () => {
    engine.backend.script('print_label', [{ hangUp: true }]);
    engine.backend.script('refund', [{ hold: true }]);
    const model = byRequest(asks(['print_label', { n: 1 }]), asks(['refund', { n: 1 }]), { text: 'done' });
    const worker = await engine.worker({ model, tools: backendTools(engine.backend.url) });
    const run = await engine.start(worker.taskQueue, {});
    await engine.backend.arrival('refund');
    await resolve(run, 'c1.0', { happened: false });
    engine.backend.release('refund');
    expect(await run.result()).toMatchObject({ status: 'completed', answer: 'done' });
    const last = model.requests.at(-1)?.messages.at(-1);
    expect(last).toMatchObject({ role: 'user', text: expect.stringContaining('it did not happen') });
  });

  it('of a call in whose middle the run was terminated waits for the worker, and then has it run again', async () => {
    engine.backend.script('print_label', [{ hold: true }]);
    const model = byRequest(asks(['print_label', { n: 1 }]), { text: 'printed' });
    const worker = await engine.worker({ model, tools: backendTools(engine.backend.url), heartbeatTimeoutMs: 2_000 });
    const run = await engine.start(worker.taskQueue, {});
    await engine.backend.arrival('print_label');
    await run.workflow.terminate('the test wants it');
    await expect(resolve(run, 'c1.0', { happened: false })).rejects.toMatchObject({
      message: expect.stringContaining('may still be running'),
    });
    await expect
      .poll(
        () =>
          resolve(run, 'c1.0', { happened: false }).then(
            ({ status }) => status,
            () => 'refused',
          ),
        {
          timeout: 10_000,
          interval: 500,
        },
      )
      .toBe('failed');
    expect(await retry(run)).toMatchObject({ status: 'completed', answer: 'printed' });
    expect(engine.backend.effectsOf('print_label')).toHaveLength(2);
  });

  it('is refused where the outcome is known, and where there is no such call', async () => {
    const model = byRequest(asks(['print_label', { n: 1 }]), { text: 'printed' });
    const worker = await engine.worker({ model, tools: backendTools(engine.backend.url) });
    const run = await engine.start(worker.taskQueue, {});
    await run.result();
    await expect(resolve(run, 'c1.0', { happened: true })).rejects.toMatchObject({
      message: 'What became of c1.0 (print_label) is no open question: it ended as succeeded.',
    });
    await expect(resolve(run, 'c9.0', { happened: true })).rejects.toMatchObject({
      message: expect.stringContaining('has no call "c9.0"'),
    });
  });
});
