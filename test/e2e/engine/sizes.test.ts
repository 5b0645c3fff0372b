import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { backendTool, backendTools } from '../../support/backend-tools.js';
import { temporalServer } from '../../support/temporal-server.js';
import { openEngine, type Engine, type RunHandle } from '../../support/engine.js';
import { script } from '../../support/recording-model.js';

let engine: Engine;
beforeEach(async () => {
  engine = await openEngine(temporalServer());
});
afterEach(() => engine[Symbol.asyncDispose]());

const tools = () => backendTools(engine.backend.url);

/** Size of the largest event, and whether a workflow task ever failed. */
async function historyOf(run: RunHandle): Promise<{ largestEvent: number; failedTasks: number }> {
  const { events = [] } = await run.workflow.fetchHistory();
  return {
    largestEvent: Math.max(...(events ?? []).map((event) => JSON.stringify(event).length)),
    failedTasks: (events ?? []).filter((event) => event.workflowTaskFailedEventAttributes).length,
  };
}

describe('arguments', () => {
  it('of more than 4 KB go by reference, and reach the tool whole', async () => {
    const text = 'päper '.repeat(20_000);
    const model = script({ calls: [{ tool: 'refund', input: { text } }] }, { text: 'done' });
    const worker = await engine.worker({ model, tools: tools() });
    const run = await engine.start(worker.taskQueue, {});
    await run.result();
    expect(engine.backend.effectsOf('refund').map(({ args }) => args)).toEqual([{ text }]);
    const { largestEvent, failedTasks } = await historyOf(run);
    expect(largestEvent).toBeLessThan(10_000);
    expect(failedTasks).toBe(0);
  });

  it('of more than 1 MB are refused with the limit, and the run goes on', async () => {
    const rawArguments = JSON.stringify({ text: 'x'.repeat(1_200_000) });
    const model = script({ calls: [{ tool: 'refund', rawArguments }] }, { text: 'done' });
    const worker = await engine.worker({ model, tools: tools() });
    const run = await engine.start(worker.taskQueue, {});
    expect(await run.result()).toMatchObject({ status: 'completed', counters: { failures: 1 } });
    expect((await run.told())['c1.0']).toMatchObject({
      error_type: 'input_too_large',
      message: expect.stringContaining('at most 1048576 are accepted'),
    });
    expect(engine.backend.journal).toEqual([]);
    expect((await historyOf(run)).failedTasks).toBe(0);
  });

  it('of letters that take three bytes each make no summary that the server refuses', async () => {
    const model = script({ calls: [{ tool: 'refund', input: { text: '漢'.repeat(300) } }] }, { text: 'done' });
    const worker = await engine.worker({ model, tools: tools() });
    const run = await engine.start(worker.taskQueue, {});
    expect(await run.result()).toMatchObject({ status: 'completed' });
    expect((await historyOf(run)).failedTasks).toBe(0);
  });
});

describe('names', () => {
  it('that a model makes up, of any length, fail no workflow task', async () => {
    const made = ['x'.repeat(3_000_000), 'y'.repeat(3_000), ...Array.from({ length: 60 }, (_, n) => `made_up_${n}`)];
    const model = script({ calls: made.map((tool) => ({ tool })) }, { text: 'done' });
    const worker = await engine.worker({ model, tools: tools() });
    const run = await engine.start(worker.taskQueue, {});
    expect(await run.result()).toMatchObject({ status: 'completed', counters: { failures: 62 } });
    const { failedTasks } = await historyOf(run);
    expect(failedTasks).toBe(0);
    expect((await run.told())['c1.0']).toMatchObject({ error_type: 'unknown_tool' });
  });

  it('of very many tools do not overflow the search attribute', async () => {
    const names = Array.from({ length: 45 }, (_, n) => `tool_${String(n).padStart(2, '0')}_${'n'.repeat(55)}`);
    const model = script({ calls: names.map((tool) => ({ tool })) }, { text: 'done' });
    const many = names.map((name) => backendTool(engine.backend.url, name, { effect: 'read' }));
    const worker = await engine.worker({ model, tools: many });
    const run = await engine.start(worker.taskQueue, {});
    expect(await run.result()).toMatchObject({ status: 'completed', counters: { calls: 45, failures: 0 } });
    expect((await historyOf(run)).failedTasks).toBe(0);
    const { searchAttributes } = await run.workflow.describe();
    const listed = searchAttributes['PerdureTools'] as string[];
    expect(listed.length).toBeGreaterThan(20);
    expect(listed).toEqual(names.slice(0, listed.length));
  });
});

describe('a large result', () => {
  it('is cut for the model, stays out of the history, and is read whole through read_artifact', async () => {
    const lines = Array.from({ length: 5_000 }, (_, n) => `line ${n + 1}: ${'data '.repeat(8)}`).join('\n');
    const model = script(
      { calls: [{ tool: 'report' }] },
      (conversation) => {
        const { truncated } = conversation.result('c1.0') as { truncated: { artifact_id: string } };
        return {
          calls: [
            { tool: 'read_artifact', input: { artifact_id: truncated.artifact_id, search: 'line 4321:' } },
            { tool: 'read_artifact', input: { artifact_id: 'no-such-artifact' } },
          ],
        };
      },
      { text: 'done' },
    );
    const report = backendTool(engine.backend.url, 'report', { effect: 'read', execute: () => lines });
    const worker = await engine.worker({ model, tools: [report] });
    const run = await engine.start(worker.taskQueue, {});
    expect(await run.result()).toMatchObject({ status: 'completed' });

    const told = await run.told();
    expect(told['c1.0']).toMatchObject({ status: 'succeeded', truncated: { total: expect.any(Number) } });
    expect(JSON.stringify(told['c1.0']).length).toBeLessThan(40_000);
    expect(JSON.stringify(told['c2.0'])).toContain('line 4321:');
    expect(told['c2.1']).toMatchObject({ status: 'failed' });
    expect((await historyOf(run)).largestEvent).toBeLessThan(10_000);
    const [call] = await run.calls();
    expect(call?.row.outcome).toMatchObject({ result: { bytes: JSON.stringify(lines).length } });
  });
});
