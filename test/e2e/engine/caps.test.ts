import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { backendTool, backendTools } from '../../support/backend-tools.js';
import { temporalServer } from '../../support/temporal-server.js';
import { openEngine, type Engine } from '../../support/engine.js';
import { byRequest, script } from '../../support/recording-model.js';

let engine: Engine;
beforeEach(async () => {
  engine = await openEngine(temporalServer());
});
afterEach(() => engine[Symbol.asyncDispose]());

const url = () => engine.backend.url;
const lookUp = (n: number) => ({ tool: 'look_up', input: { n } });

describe('a cap of agentRun', () => {
  it('of 3 calls runs exactly 3 of 5 that are asked for at once, and answers all 5', async () => {
    const model = script({ calls: [1, 2, 3, 4, 5].map(lookUp) }, { text: 'what I know' });
    const worker = await engine.worker({ model, tools: backendTools(url()) });
    const run = await engine.start(worker.taskQueue, { limits: { calls: 3 } });
    expect(await run.result()).toEqual({
      status: 'capped',
      answer: 'what I know',
      termination: { reason: 'calls_cap', summary: "the run's limit of 3 tool calls is used up" },
      counters: expect.objectContaining({ steps: 1, calls: 3, failures: 2 }),
    });
    // Reads run side by side, so they arrive in any order.
    expect(new Set(engine.backend.journal.map(({ args }) => args))).toEqual(new Set([{ n: 1 }, { n: 2 }, { n: 3 }]));
    const told = await run.told();
    expect(Object.keys(told)).toEqual(['c1.0', 'c1.1', 'c1.2', 'c1.3', 'c1.4']);
    expect(told['c1.3']).toMatchObject({ status: 'failed', error_type: 'budget_exhausted' });
    expect(told['c1.4']).toMatchObject({ status: 'failed', error_type: 'budget_exhausted' });
    expect((await run.calls()).map(({ row }) => row.starts)).toEqual([1, 1, 1, 0, 0]);
    // The last turn was told why, and offered no tools.
    expect(model.requests).toHaveLength(2);
    expect(model.requests[1]?.tools).toEqual([]);
    expect(model.requests[1]?.system).toContain("This is your last turn: the run's limit of 3 tool calls is used up");
  });

  it('of 0 calls runs none', async () => {
    const model = script({ text: 'I may do nothing' });
    const worker = await engine.worker({ model, tools: backendTools(url()) });
    const run = await engine.start(worker.taskQueue, { limits: { calls: 0 } });
    expect(await run.result()).toMatchObject({
      termination: { reason: 'calls_cap' },
      counters: { steps: 0, calls: 0 },
    });
    expect(model.requests[0]?.tools).toEqual([]);
  });

  it('of 2 steps gives two turns with tools and a last one without', async () => {
    const model = script({ calls: [lookUp(1)] }, { calls: [lookUp(2)] }, { text: 'so far' });
    const worker = await engine.worker({ model, tools: backendTools(url()) });
    const run = await engine.start(worker.taskQueue, { limits: { steps: 2 } });
    expect(await run.result()).toMatchObject({
      status: 'capped',
      answer: 'so far',
      termination: { reason: 'steps_cap' },
      counters: { steps: 2, calls: 2 },
    });
    expect(model.requests.map(({ tools }) => tools.length > 0)).toEqual([true, true, false]);
  });

  it('of tokens ends a run once they are used', async () => {
    const usage = { inputTokens: 60, outputTokens: 50 };
    const model = script({ calls: [lookUp(1)], usage }, { text: 'so far', usage });
    const worker = await engine.worker({ model, tools: backendTools(url()) });
    const run = await engine.start(worker.taskQueue, { limits: { tokens: 100 } });
    expect(await run.result()).toMatchObject({
      termination: { reason: 'tokens_cap' },
      counters: { inputTokens: 120, outputTokens: 100 },
    });
  });

  it('of cost ends a run once it is spent', async () => {
    const usage = { inputTokens: 1_000_000, outputTokens: 100_000 };
    const turns = [
      { calls: [lookUp(1)], usage },
      { text: 'so far', usage },
    ];
    const model = { ...script(...turns), prices: { inputPerMillion: 1, outputPerMillion: 10 } };
    const worker = await engine.worker({ model, tools: backendTools(url()) });
    const run = await engine.start(worker.taskQueue, { limits: { costUsd: 1.5 } });
    expect(await run.result()).toMatchObject({ termination: { reason: 'cost_cap' }, counters: { costUsd: 4 } });
  });

  it('of wall time ends a run at the next step', async () => {
    const model = script({ calls: [lookUp(1)] }, { text: 'so far' });
    engine.backend.script('look_up', [{ delayMs: 400 }]);
    const worker = await engine.worker({ model, tools: backendTools(url()) });
    const run = await engine.start(worker.taskQueue, { limits: { wallTimeMs: 300 } });
    expect(await run.result()).toMatchObject({ termination: { reason: 'wall_time_cap' }, answer: 'so far' });
  });

  it('of failures ends a run at the failed calls', async () => {
    const model = script({ calls: [{ tool: 'nope' }, { tool: 'nope', input: { n: 2 } }] }, { text: 'so far' });
    const worker = await engine.worker({ model, tools: backendTools(url()) });
    const run = await engine.start(worker.taskQueue, { limits: { failures: 2 } });
    expect(await run.result()).toMatchObject({ termination: { reason: 'failures_cap' }, counters: { failures: 2 } });
  });

  it('says so where the last turn gives no answer', async () => {
    const model = byRequest({}, {});
    const worker = await engine.worker({ model, tools: backendTools(url()) });
    const run = await engine.start(worker.taskQueue, { limits: { steps: 0 } });
    expect(await run.result()).toMatchObject({
      status: 'capped',
      answer: '',
      termination: {
        reason: 'steps_cap',
        summary:
          "the run's limit of 0 steps is used up; no final answer: the model gave neither an answer nor a call, twice in a row",
      },
    });
  });

  it('never runs what the model asks for in its last turn', async () => {
    const model = script({ text: 'one more', calls: [lookUp(9)] });
    const worker = await engine.worker({ model, tools: backendTools(url()) });
    const run = await engine.start(worker.taskQueue, { limits: { steps: 0 } });
    expect(await run.result()).toMatchObject({ status: 'capped', answer: 'one more' });
    expect(engine.backend.journal).toEqual([]);
  });

  it('does not hide that a guard refused: a security violation ends the run as failed', async () => {
    const model = script({ calls: [{ tool: 'guarded' }] });
    const guarded = backendTool(url(), 'guarded', {
      isFailure: () => ({ class: 'security_violation', message: 'that path is outside' }),
    });
    const worker = await engine.worker({ model, tools: [guarded] });
    const run = await engine.start(worker.taskQueue, {});
    await expect(run.result()).rejects.toMatchObject({ cause: { type: 'RunFailed' } });
    expect(await engine.store.getRun(run.runKey)).toMatchObject({
      status: 'failed',
      result: { termination: { reason: 'security_violation' } },
    });
  });
});
