import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { endlessScript } from '../../../src/models/scripted-model.js';
import { ToolError } from '../../../src/tools/tool-error.js';
import { backendTool, backendTools } from '../../support/backend-tools.js';
import { temporalServer } from '../../support/temporal-server.js';
import { openEngine, type Engine } from '../../support/engine.js';
import { recording, script } from '../../support/recording-model.js';

let engine: Engine;
beforeEach(async () => {
  engine = await openEngine(temporalServer());
});
afterEach(() => engine[Symbol.asyncDispose]());

const url = () => engine.backend.url;
const emphasised = 'Important: a tool keeps failing.';

describe('a model that repeats itself', () => {
  it('is told at the second equal call, refused at the third, and ended when it goes on', async () => {
    const spellings = [{ q: 'Red Shoes' }, { q: 'red  shoes' }, { q: 'red shoes!' }, { q: 'RED SHOES' }];
    const model = recording(
      endlessScript((turn, { tools }) =>
        tools.length === 0
          ? { text: 'I was going round' }
          : { calls: [{ tool: 'look_up', input: spellings[turn % 4] ?? {} }] },
      ),
    );
    const lookUp = backendTool(url(), 'look_up', { effect: 'read', execute: () => ({ found: 'nothing new' }) });
    const worker = await engine.worker({ model, tools: [lookUp] });
    const run = await engine.start(worker.taskQueue, { limits: { steps: null } });
    expect(await run.result()).toMatchObject({
      status: 'capped',
      answer: 'I was going round',
      termination: { reason: 'loop_detected' },
      counters: { steps: 4, failures: 2 },
    });
    expect((await run.calls()).map(({ row }) => row.starts)).toEqual([1, 1, 0, 0]);
    const told = await run.told();
    expect(told['c1.0']).not.toHaveProperty('suggested_action');
    expect(told['c2.0']).toMatchObject({
      status: 'succeeded',
      suggested_action: expect.stringContaining('This same call was made before in this run'),
    });
    expect(told['c3.0']).toMatchObject({ error_type: 'repeated_call_blocked', retryable: false });
    expect(told['c4.0']).toMatchObject({ error_type: 'repeated_call_blocked' });
  });

  it('may do so with a tool that is made for it, and after an effect of another tool', async () => {
    const repeat = (tool: string) => ({ calls: [{ tool }] });
    const model = script(
      ...[repeat('poll'), repeat('poll'), repeat('poll'), repeat('poll')],
      ...[repeat('state'), repeat('state'), repeat('refund'), repeat('state'), repeat('state')],
      { text: 'done' },
    );
    const same = { effect: 'read', execute: () => ({ state: 'open' }) } as const;
    const worker = await engine.worker({
      model,
      tools: [
        ...backendTools(url()),
        backendTool(url(), 'poll', { ...same, polling: true }),
        backendTool(url(), 'state', same),
      ],
    });
    const run = await engine.start(worker.taskQueue, {});
    expect(await run.result()).toMatchObject({ status: 'completed', counters: { calls: 9, failures: 0 } });
  });
});

describe('a tool that measures what is left to do', () => {
  /** A test runner whose rounds leave so many tests failing; the model edits in between, as honest models do. */
  const rounds = async (failing: number[]) => {
    const turns = failing.flatMap((_, n) => [
      { calls: [{ tool: 'edit', input: { n } }] },
      { calls: [{ tool: 'run_tests' }] },
    ]);
    const model = recording(
      endlessScript((turn, { tools }) => (tools.length === 0 ? { text: 'so far' } : (turns[turn] ?? { text: 'done' }))),
    );
    let round = 0;
    const runTests = backendTool(url(), 'run_tests', {
      effect: 'read',
      failureOutput: 'verbatim',
      progress: (answer) => Number(/(\d+) tests? failed/.exec(JSON.stringify(answer))?.[1] ?? 0),
      execute: () => {
        const left = failing[round++] ?? 0;
        if (left === 0) return { passed: true };
        throw new ToolError({
          class: 'tool_error',
          effect: 'none',
          publicMessage: `round ${round}: ${left} tests failed`,
        });
      },
    });
    const edit = backendTool(url(), 'edit', { effect: { idempotent: 'nature' }, execute: () => ({ ok: true }) });
    const worker = await engine.worker({ model, tools: [runTests, edit] });
    return await engine.start(worker.taskQueue, { limits: { steps: null } });
  };

  it('ends the run where that does not become less for two rounds', async () => {
    const run = await rounds([5, 5, 5, 5]);
    expect(await run.result()).toMatchObject({
      status: 'capped',
      answer: 'so far',
      termination: {
        reason: 'no_progress',
        summary: 'the work went on, but what is left to do did not become less',
      },
      counters: { calls: 6 },
    });
    expect(
      (await run.calls()).filter(({ row }) => row.tool === 'run_tests').map(({ row }) => row.outcome?.progress),
    ).toEqual([5, 5, 5]);
  });

  it('lets it go on while it becomes less', async () => {
    const run = await rounds([9, 8, 7, 5, 3, 0]);
    expect(await run.result()).toMatchObject({ status: 'completed', answer: 'done', counters: { calls: 12 } });
  });

  it('and cannot be measured is called all the same, and the operator is told', async () => {
    const tool = backendTool(url(), 'run_tests', {
      effect: 'read',
      execute: () => ({ passed: true }),
      progress: () => {
        throw new Error('no such report');
      },
    });
    const worker = await engine.worker({
      model: script({ calls: [{ tool: 'run_tests' }] }, { text: 'done' }),
      tools: [tool],
    });
    const run = await engine.start(worker.taskQueue, {});
    expect(await run.result()).toMatchObject({ status: 'completed' });
    expect(engine.log.find(({ message }) => message === 'progress could not be measured')?.fields).toMatchObject({
      tool: 'run_tests',
      call_id: 'c1.0',
      error: 'Error: no such report',
    });
  });
});

describe('a tool that fails three times in a row', () => {
  it('is pointed at in the system text once', async () => {
    const call = (n: number) => ({ calls: [{ tool: 'find', input: { n } }] });
    const model = script(call(1), call(2), call(3), call(4), call(5), { text: 'done' });
    const gone = { status: 404, body: { error: 'no such thing' } };
    engine.backend.script('find', [gone, gone, gone, gone, gone]);
    const worker = await engine.worker({ model, tools: [backendTool(url(), 'find', { effect: 'read' })] });
    const run = await engine.start(worker.taskQueue, {});
    expect(await run.result()).toMatchObject({ status: 'completed', counters: { failures: 5 } });
    expect(model.requests.map(({ system }) => system.includes(emphasised))).toEqual([
      false,
      false,
      false,
      true,
      false,
      false,
    ]);
    expect(model.requests[3]?.system).toContain('- find has failed 3 times in a row.');
    expect((await run.told())['c5.0']).toMatchObject({ context: { consecutive_failures: 5 } });
  });

  it('by its own fault is switched off for the run, and nothing runs', async () => {
    const call = (n: number) => ({ calls: [{ tool: 'broken', input: { n } }] });
    const model = script(call(1), call(2), call(3), call(4), { text: 'done' });
    let starts = 0;
    const broken = backendTool(url(), 'broken', {
      effect: 'read',
      execute: () => {
        starts += 1;
        throw new TypeError("Cannot read properties of undefined (reading 'id')");
      },
    });
    const worker = await engine.worker({ model, tools: [broken] });
    const run = await engine.start(worker.taskQueue, {});
    await run.result();
    expect(starts).toBe(3);
    const told = await run.told();
    expect(told['c3.0']).toMatchObject({ error_type: 'tool_bug' });
    expect(told['c4.0']).toMatchObject({
      error_type: 'tool_temporarily_disabled',
      retryable: false,
      action_required: 'switch_strategy',
    });
  });
});
