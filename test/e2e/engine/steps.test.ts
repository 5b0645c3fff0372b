import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { backendTool, backendTools } from '../../support/backend-tools.js';
import { temporalServer } from '../../support/temporal-server.js';
import { openEngine, type Engine } from '../../support/engine.js';
import { script } from '../../support/recording-model.js';

let engine: Engine;
beforeEach(async () => {
  engine = await openEngine(temporalServer());
});
afterEach(() => engine[Symbol.asyncDispose]());

const url = () => engine.backend.url;

describe('a step of agentRun', () => {
  it('runs reads side by side, and once calls one after another in the order of the model', async () => {
    const model = script(
      {
        calls: [
          { tool: 'print_label', input: { n: 1 } },
          { tool: 'look_up', input: { q: 'a' } },
          { tool: 'print_label', input: { n: 2 } },
          { tool: 'look_up', input: { q: 'b' } },
          { tool: 'print_label', input: { n: 3 } },
        ],
      },
      { text: 'done' },
    );
    engine.backend.script('look_up', [{ hold: true }, { hold: true }]);
    engine.backend.script('print_label', [{ hold: true }, { delayMs: 50 }, {}]);
    const worker = await engine.worker({ model, tools: backendTools(url()) });
    const run = await engine.start(worker.taskQueue, {});

    await Promise.all([engine.backend.arrival('look_up', 2), engine.backend.arrival('print_label')]);
    expect(engine.backend.journal).toHaveLength(3);
    engine.backend.release('look_up');
    engine.backend.release('print_label');
    expect(await run.result()).toMatchObject({ status: 'completed', answer: 'done', counters: { steps: 2, calls: 5 } });

    const labels = engine.backend.effectsOf('print_label');
    expect(labels.map(({ args }) => args)).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
    // Each was answered before the next one arrived.
    const order = labels.flatMap(({ arrived, answered }) => [arrived, answered ?? 0]);
    expect(order).toEqual([...order].sort((a, b) => a - b));
  });

  it('answers every call id once, in the order of the model, before the next turn', async () => {
    const model = script(
      {
        calls: [
          { tool: 'look_up', input: { q: 'a' }, id: 'x' },
          { tool: 'no_such_tool', id: '' },
          { tool: 'strict', input: { n: 'many' }, id: 'x' },
          { tool: 'strict', rawArguments: '{"n": 1', id: null },
          { tool: 'refund', input: { cents: 5 } },
          { tool: 'find', input: { q: 'gone' } },
        ],
      },
      { text: 'done' },
    );
    engine.backend.script('look_up', [{ delayMs: 60 }]);
    engine.backend.script('find', [{ status: 404, body: { error: 'no such customer' } }]);
    engine.backend.script('refund', [{ status: 503, headers: { 'retry-after': '0' } }]);
    const strict = backendTool(url(), 'strict', {
      effect: 'read',
      input: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'], additionalProperties: false },
    });
    const find = backendTool(url(), 'find', { effect: 'read' });
    const worker = await engine.worker({ model, tools: [...backendTools(url()), strict, find] });
    const run = await engine.start(worker.taskQueue, {});
    await run.result();

    const [, asked, ...rest] = await run.transcript();
    const results = rest.slice(0, 6);
    expect(results.map((message) => message.role === 'tool' && message.callId)).toEqual([
      'c1.0',
      'c1.1',
      'c1.2',
      'c1.3',
      'c1.4',
      'c1.5',
    ]);
    expect(rest[6]).toMatchObject({ role: 'assistant', text: 'done' });
    const providerIds = asked?.role === 'assistant' ? asked.calls.map((call) => call.providerCallId) : [];
    expect(new Set(providerIds).size).toBe(6);
    expect(results.map((message) => message.role === 'tool' && message.providerCallId)).toEqual(providerIds);

    const told = await run.told();
    expect(told['c1.0']).toMatchObject({ status: 'succeeded' });
    expect(told['c1.1']).toMatchObject({ status: 'failed', error_type: 'unknown_tool' });
    expect(told['c1.2']).toMatchObject({ status: 'failed', error_type: 'validation_error' });
    expect(told['c1.3']).toMatchObject({ status: 'failed', error_type: 'validation_error' });
    expect(told['c1.4']).toMatchObject({ status: 'succeeded' });
    expect(told['c1.5']).toMatchObject({ status: 'failed', error_type: 'not_found' });
    expect(engine.backend.effectsOf('strict')).toEqual([]);
    expect(engine.backend.effectsOf('refund').map(({ key }) => key)).toHaveLength(2);
    expect(new Set(engine.backend.effectsOf('refund').map(({ key }) => key)).size).toBe(1);

    // One outcome for each in the ledger, too.
    const calls = await run.calls();
    expect(calls.map(({ row }) => [row.callId, row.outcome?.status, row.starts])).toEqual([
      ['c1.0', 'succeeded', 1],
      ['c1.1', 'failed', 0],
      ['c1.2', 'failed', 0],
      ['c1.3', 'failed', 0],
      ['c1.4', 'succeeded', 2],
      ['c1.5', 'failed', 1],
    ]);
  });

  it('skips the once calls after one whose outcome is unknown, and runs the reads all the same', async () => {
    const model = script(
      {
        calls: [
          { tool: 'print_label', input: { n: 1 } },
          { tool: 'print_label', input: { n: 2 } },
          { tool: 'look_up' },
          { tool: 'print_label', input: { n: 3 } },
        ],
      },
      { calls: [{ tool: 'print_label', input: { n: 4 } }] },
      { text: 'done' },
    );
    engine.backend.script('print_label', [{ hangUp: true }]);
    const worker = await engine.worker({ model, tools: backendTools(url()) });
    const run = await engine.start(worker.taskQueue, {});
    expect(await run.result()).toMatchObject({ status: 'completed', counters: { calls: 5, failures: 3 } });

    const told = await run.told();
    expect(told['c1.0']).toMatchObject({ error_type: 'outcome_unknown', effect_state: 'unknown', retryable: false });
    expect(told['c1.1']).toMatchObject({ error_type: 'skipped' });
    expect(told['c1.2']).toMatchObject({ status: 'succeeded' });
    expect(told['c1.3']).toMatchObject({ error_type: 'skipped' });
    expect(told['c2.0']).toMatchObject({ status: 'succeeded' });
    expect(engine.backend.effectsOf('print_label').map(({ args }) => args)).toEqual([{ n: 1 }, { n: 4 }]);
  });

  it.each([
    [{ status: 401 }, 'auth_failed'],
    [{ status: 403 }, 'permission_denied'],
    [{ status: 409, body: { error: 'already shipped' } }, 'business_rule_violation'],
    [{ status: 422, body: { error: 'amount' } }, 'validation_error'],
    [{ status: 402 }, 'quota_exhausted'],
  ])('tells the model of %o as %s, after one start', async (answer, failureClass) => {
    const model = script({ calls: [{ tool: 'refund' }] }, { text: 'done' });
    engine.backend.script('refund', [answer]);
    const worker = await engine.worker({ model, tools: backendTools(url()) });
    const run = await engine.start(worker.taskQueue, {});
    expect(await run.result()).toMatchObject({ status: 'completed', counters: { failures: 1 } });
    expect((await run.told())['c1.0']).toMatchObject({ error_type: failureClass });
    expect(engine.backend.effectsOf('refund')).toHaveLength(1);
  });

  it('shows each call in the history as an activity of its own name with the failure that the model saw', async () => {
    const model = script({ calls: [{ tool: 'refund', input: { cents: 7 } }] }, { text: 'done' });
    engine.backend.script('refund', [{ status: 409, body: { error: 'already refunded' } }]);
    const worker = await engine.worker({ model, tools: backendTools(url()) });
    const run = await engine.start(worker.taskQueue, {});
    await run.result();
    const { events } = await run.workflow.fetchHistory();
    const scheduled = events?.flatMap(({ activityTaskScheduledEventAttributes: it, userMetadata }) =>
      it ? [{ id: it.activityId, summary: Buffer.from(userMetadata?.summary?.data ?? '').toString() }] : [],
    );
    expect(scheduled).toContainEqual({ id: 'c1.0', summary: JSON.stringify('refund {"cents":7}') });
    const failure = events?.find((event) => event.activityTaskFailedEventAttributes)?.activityTaskFailedEventAttributes
      ?.failure;
    expect(failure?.applicationFailureInfo?.type).toBe('business_rule_violation');
    expect(failure?.message).toBe((await run.told())['c1.0']?.['message']);
  });
});
