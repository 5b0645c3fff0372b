import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Perdure } from '../../../src/client/perdure-client.js';
import type { Tool } from '../../../src/tools/tool.js';
import { ToolError } from '../../../src/tools/tool-error.js';
import { backendTool, backendTools } from '../../support/backend-tools.js';
import { openEngine, type Engine, type RunHandle } from '../../support/engine.js';
import { perdureOf } from '../../support/perdure-of.js';
import { asks, byRequest, refusesKey, script } from '../../support/recording-model.js';
import { temporalServer } from '../../support/temporal-server.js';

let engine: Engine;
let perdure: Perdure;
beforeEach(async () => {
  engine = await openEngine(temporalServer());
  perdure = perdureOf(engine);
});
afterEach(() => engine[Symbol.asyncDispose]());

const url = () => engine.backend.url;

/** A tool whose code is wrong in one line, after or before its request. */
function brokenRefund(bug: 'before' | 'after' = 'before'): Tool {
  return backendTool(url(), 'refund', {
    effect: { idempotent: 'key' },
    execute: async (args, ctx) => {
      const nothing = undefined as unknown as { amount: number };
      if (bug === 'before') return { amount: nothing.amount };
      await fetch(`${url()}/refund`, {
        method: 'POST',
        headers: { 'idempotency-key': ctx.idempotencyKey },
        body: JSON.stringify(args),
      });
      return { amount: nothing.amount };
    },
  });
}

const withRefund = (refund: Tool) => [
  ...backendTools(url()).filter((tool) => tool.definition.name !== 'refund'),
  refund,
];

async function retried(run: RunHandle, options?: Parameters<Perdure['retry']>[1]) {
  const handle = await perdure.get(run.runKey);
  const plan = await perdure.retry(handle, options);
  return { plan, result: await handle.result() };
}

describe('a run whose tool was broken', () => {
  it('goes on after the fix: the call runs again under its key, what was done is not done again', async () => {
    const broken = await engine.worker({
      model: script({ calls: [{ tool: 'print_label' }, { tool: 'refund' }] }, { fail: { status: 401 } }),
      tools: withRefund(brokenRefund()),
    });
    const run = await engine.start(broken.taskQueue, {});
    await expect(run.result()).rejects.toThrow();
    await broken[Symbol.asyncDispose]();
    expect((await run.calls()).map(({ row }) => row.outcome)).toMatchObject([
      { status: 'succeeded' },
      { failure: { class: 'tool_bug' } },
    ]);

    const model = byRequest({ text: 'both done' });
    const repaired = await engine.worker({ model, tools: backendTools(url()) });
    const { plan, result } = await retried(run);
    expect(plan).toEqual({ rerun: [{ callId: 'c1.1', tool: 'refund', former: 'tool_bug' }], unresolved: [] });
    expect(result).toMatchObject({ status: 'completed', answer: 'both done', counters: { steps: 2, calls: 2 } });
    expect(engine.backend.effectsOf('print_label')).toHaveLength(1);
    expect(engine.backend.effectsOf('refund')).toHaveLength(1);
    const told = await run.told();
    expect(told['c1.1']).toMatchObject({ status: 'succeeded' });
    expect(model.requests).toHaveLength(1);
    expect((await run.calls())[1]?.row).toMatchObject({ starts: 2, startsBefore: 1 });
    const shown = await perdure.describe(await perdure.get(run.runKey));
    expect(shown.state).toBe('completed');
    expect(shown.steps.map(({ step }) => step)).toEqual([1, 2]);
    await repaired[Symbol.asyncDispose]();
  });

  it('is recorded with who, why, and what was taken back', async () => {
    const broken = await engine.worker({
      model: script({ calls: [{ tool: 'refund' }] }, { fail: { status: 401 } }),
      tools: withRefund(brokenRefund('after')),
    });
    const run = await engine.start(broken.taskQueue, {});
    await expect(run.result()).rejects.toThrow();
    await broken[Symbol.asyncDispose]();
    await engine.worker({
      model: byRequest({ text: 'done' }),
      tools: [backendTool(url(), 'refund', { effect: { idempotent: 'key' }, timeoutMs: 5_000 })],
    });
    await retried(run, { by: 'ada', note: 'the amount was read from nowhere' });
    const [retry] = await engine.store.listInterventions(run.runKey);
    expect(retry).toMatchObject({
      kind: 'retry',
      by: 'ada',
      note: 'the amount was read from nowhere',
      former: { status: 'failed', result: { termination: { reason: 'model_failed' } } },
      reopened: [{ callId: 'c1.0', outcome: { failure: { class: 'tool_bug' } } }],
      manifest: { from: expect.any(String), to: (await engine.store.getRun(run.runKey))?.manifestHash },
    });
    // The tool had sent its request before it broke: the backend saw the same key twice, which is one effect.
    const keys = engine.backend.effectsOf('refund').map(({ key }) => key);
    expect(keys).toHaveLength(2);
    expect(new Set(keys).size).toBe(1);
  });

  it('does not run a `once` call again that may have happened, and says so', async () => {
    const broken = await engine.worker({
      model: script({ calls: [{ tool: 'print_label' }] }, { fail: { status: 401 } }),
      tools: [
        backendTool(url(), 'print_label', {
          execute: () => {
            throw new TypeError('x is not a function');
          },
        }),
      ],
    });
    const run = await engine.start(broken.taskQueue, {});
    await expect(run.result()).rejects.toThrow();
    await broken[Symbol.asyncDispose]();
    await engine.worker({ model: byRequest({ text: 'sorry' }), tools: backendTools(url()) });
    const { plan, result } = await retried(run);
    expect(plan).toEqual({ rerun: [], unresolved: [{ callId: 'c1.0', tool: 'print_label' }] });
    expect(result).toMatchObject({ status: 'completed', answer: 'sorry' });
    expect(engine.backend.effectsOf('print_label')).toHaveLength(0);
    expect((await run.told())['c1.0']).toMatchObject({ error_type: 'tool_bug', effect_state: 'unknown' });
  });
});

describe('a run that was terminated', () => {
  it('in the middle of a keyed call goes on with that call, and the backend sees one key', async () => {
    engine.backend.script('refund', [{ hold: true }]);
    const worker = await engine.worker({
      model: script({ calls: [{ tool: 'look_up' }, { tool: 'refund' }] }, { text: 'refunded' }),
      tools: backendTools(url()),
      heartbeatTimeoutMs: 2_000,
    });
    const run = await engine.start(worker.taskQueue, {});
    await engine.backend.arrival('refund');
    await engine.backend.arrival('look_up');
    await expect.poll(async () => (await run.calls()).filter(({ row }) => row.outcome).length).toBe(1);
    await run.workflow.terminate('the test wants it');
    const { result } = await retried(run);
    expect(result).toMatchObject({ status: 'completed', answer: 'refunded', counters: { steps: 2, calls: 2 } });
    expect(new Set(engine.backend.effectsOf('refund').map(({ key }) => key)).size).toBe(1);
    expect(engine.backend.effectsOf('look_up')).toHaveLength(1);
    expect(await engine.store.getRun(run.runKey)).toMatchObject({ status: 'completed' });
  });

  it('in the middle of a `once` call ends that call as unknown, and never runs it again', async () => {
    engine.backend.script('print_label', [{ hold: true }]);
    const worker = await engine.worker({
      model: script({ calls: [{ tool: 'print_label' }, { tool: 'print_label', input: { n: 2 } }] }, { text: 'unsure' }),
      tools: backendTools(url()),
      heartbeatTimeoutMs: 2_000,
    });
    const run = await engine.start(worker.taskQueue, {});
    await engine.backend.arrival('print_label');
    await run.workflow.terminate('the test wants it');
    const { result } = await retried(run);
    expect(result).toMatchObject({ status: 'completed', answer: 'unsure' });
    expect(engine.backend.effectsOf('print_label')).toHaveLength(1);
    const told = await run.told();
    expect(told['c1.0']).toMatchObject({ error_type: 'outcome_unknown' });
    expect(told['c1.1']).toMatchObject({ error_type: 'skipped' });
  });
});

describe('a run that a limit ended', () => {
  it('goes on with a raised limit, before its last words', async () => {
    const model = byRequest(asks(['refund', { n: 1 }]), { text: 'so far' }, asks(['refund', { n: 2 }]), {
      text: 'all done',
    });
    const worker = await engine.worker({ model, tools: backendTools(url()) });
    const run = await engine.start(worker.taskQueue, { limits: { steps: 1 } });
    expect(await run.result()).toMatchObject({ status: 'capped', answer: 'so far' });
    const handle = await perdure.get(run.runKey);
    await expect(perdure.retry(handle)).rejects.toMatchObject({
      code: 'usage',
      message: expect.stringContaining("the run's limit of 1 step is used up"),
      next: expect.stringContaining('--max-steps'),
    });
    const { result } = await retried(run, { limits: { steps: 5 } });
    expect(result).toMatchObject({ status: 'completed', answer: 'all done', counters: { steps: 3, calls: 2 } });
    expect((await run.transcript()).filter(({ role }) => role === 'assistant')).toHaveLength(3);
    expect(JSON.stringify(await run.transcript())).not.toContain('so far');
    expect((await engine.store.getRun(run.runKey))?.pinned?.limits.steps).toBe(5);
  });

  it('of calls runs the refused ones when there is room for them', async () => {
    const model = script({ calls: [1, 2, 3].map((n) => ({ tool: 'refund', input: { n } })) }, { text: 'done' });
    const worker = await engine.worker({ model, tools: backendTools(url()) });
    const run = await engine.start(worker.taskQueue, { limits: { calls: 2 } });
    expect(await run.result()).toMatchObject({ status: 'capped', counters: { calls: 2 } });
    const { plan, result } = await retried(run, { limits: { calls: null } });
    expect(plan.rerun).toEqual([{ callId: 'c1.2', tool: 'refund', former: 'budget_exhausted' }]);
    expect(result).toMatchObject({ status: 'completed', counters: { calls: 3 } });
    expect(engine.backend.effectsOf('refund').map(({ args }) => args)).toEqual(
      expect.arrayContaining([{ n: 1 }, { n: 2 }, { n: 3 }]),
    );
    expect(engine.backend.effectsOf('refund')).toHaveLength(3);
  });
});

describe('retrying', () => {
  it('is refused while the run goes on, and for a completed run', async () => {
    engine.backend.script('refund', [{ hold: true }]);
    const worker = await engine.worker({
      model: script({ calls: [{ tool: 'refund' }] }, { text: 'done' }),
      tools: backendTools(url()),
    });
    const run = await engine.start(worker.taskQueue, {});
    await engine.backend.arrival('refund');
    const handle = await perdure.get(run.runKey);
    await expect(perdure.retry(handle)).rejects.toMatchObject({
      code: 'run_open',
      message: expect.stringContaining('has not ended'),
    });
    engine.backend.release('refund');
    await run.result();
    await expect(perdure.retry(handle)).rejects.toMatchObject({ next: expect.stringContaining('--ask-again') });
  });

  it('twice gives the call its attempts twice, and the run one history of steps', async () => {
    const first = await engine.worker({
      model: script({ calls: [{ tool: 'refund' }] }, { fail: { status: 401 } }),
      tools: withRefund(brokenRefund()),
    });
    const run = await engine.start(first.taskQueue, {});
    await expect(run.result()).rejects.toThrow();
    const again = await retried(run);
    expect(again.result).toMatchObject({ status: 'failed', termination: { reason: 'model_failed' } });
    await first[Symbol.asyncDispose]();
    await engine.worker({ model: byRequest({ text: 'done' }), tools: backendTools(url()) });
    expect((await retried(run)).result).toMatchObject({ status: 'completed', answer: 'done' });
    expect((await run.calls()).map(({ row }) => row)).toMatchObject([{ starts: 3, startsBefore: 2, state: 'done' }]);
    expect(await engine.store.listInterventions(run.runKey)).toHaveLength(2);
  });

  it('asks the model anew: an equal call gives its recorded outcome, another one runs', async () => {
    const model = byRequest(
      asks(['refund', { n: 1 }], ['print_label', { n: 1 }]),
      { text: 'a poor answer' },
      { text: 'a better answer' },
    );
    const worker = await engine.worker({ model, tools: backendTools(url()) });
    const run = await engine.start(worker.taskQueue, {});
    expect(await run.result()).toMatchObject({ status: 'completed', answer: 'a poor answer' });
    const { result } = await retried(run, { askAgain: true });
    expect(result).toMatchObject({ status: 'completed', answer: 'a better answer', counters: { steps: 2, calls: 2 } });
    expect(engine.backend.journal).toHaveLength(2);
  });

  it('asks anew for a turn with calls: what it did before is not done again, in whatever order it asks', async () => {
    const model = byRequest(
      asks(['print_label', { n: 1 }], ['refund', { n: 1 }]),
      refusesKey,
      asks(['refund', { n: 2 }], ['refund', { n: 1 }], ['print_label', { n: 1 }]),
      { text: 'done' },
    );
    const worker = await engine.worker({ model, tools: backendTools(url()) });
    const run = await engine.start(worker.taskQueue, {});
    await expect(run.result()).rejects.toThrow();
    const { result } = await retried(run, { askAgain: true });
    expect(result).toMatchObject({ status: 'completed', counters: { steps: 2, calls: 3 } });
    expect(engine.backend.effectsOf('print_label')).toHaveLength(1);
    expect(engine.backend.effectsOf('refund').map(({ args }) => args)).toEqual([{ n: 1 }, { n: 2 }]);
    const note = (await run.transcript()).find((message) => message.role === 'user' && message.intervention);
    expect(note).toMatchObject({ text: expect.stringContaining('print_label (c1.0), refund (c1.1)') });
  });

  it('asks anew for a turn with calls: what is not run again takes no place and counts as no other failure', async () => {
    const refused = backendTool(url(), 'refund', {
      execute: () => {
        throw new ToolError({ class: 'business_rule_violation', effect: 'none', publicMessage: 'It is paid out.' });
      },
    });
    const calls = asks(['print_label', { n: 1 }], ['refund', { n: 1 }]);
    const model = byRequest(calls, refusesKey, calls, { text: 'done' });
    const worker = await engine.worker({ model, tools: withRefund(refused) });
    const run = await engine.start(worker.taskQueue, { limits: { calls: 3, failures: 2 } });
    await expect(run.result()).rejects.toThrow();
    const { result } = await retried(run, { askAgain: true });
    expect(result).toMatchObject({
      status: 'completed',
      answer: 'done',
      counters: { steps: 2, calls: 2, failures: 1 },
    });
    expect(await run.told()).toMatchObject({
      'c1.0': { status: 'succeeded' },
      'c1.1': { error_type: 'business_rule_violation' },
    });
    expect(engine.backend.effectsOf('print_label')).toHaveLength(1);
  });
});
