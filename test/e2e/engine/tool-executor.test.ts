import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Outcome } from '../../../src/contract/call.js';
import type { ToolExecutorState } from '../../../src/workflows/index.js';
import { backendTool, backendTools } from '../../support/backend-tools.js';
import { temporalServer } from '../../support/temporal-server.js';
import { openEngine, type Engine } from '../../support/engine.js';
import { script } from '../../support/recording-model.js';

let engine: Engine;
beforeEach(async () => {
  engine = await openEngine(temporalServer());
});
afterEach(() => engine[Symbol.asyncDispose]());

const start = async (type: string, arg?: unknown, more: { cronSchedule?: string } = {}) => {
  const worker = await engine.worker({ tools: backendTools(engine.backend.url) });
  const args = arg === undefined ? [] : [arg];
  return await engine.startWorkflow(type, { taskQueue: worker.taskQueue, args, ...more });
};

/** How often a workflow task failed. In small pages, because a page of large events is more than a client takes. */
async function failedTasks(workflowId: string): Promise<number> {
  let failed = 0;
  let nextPageToken: Uint8Array | null | undefined;
  do {
    const page = await engine.client.workflowService.getWorkflowExecutionHistory({
      namespace: engine.server.namespace,
      execution: { workflowId },
      maximumPageSize: 3,
      nextPageToken: nextPageToken ?? null,
    });
    failed += page.history?.events?.filter((event) => event.workflowTaskFailedEventAttributes).length ?? 0;
    nextPageToken = page.nextPageToken;
  } while (nextPageToken && nextPageToken.length > 0);
  return failed;
}

describe('toolExecutor in a workflow of one’s own', () => {
  it('gives one outcome for each call, as values, in order', async () => {
    engine.backend.script('refund', [{ status: 409, body: { error: 'already refunded' } }]);
    const workflow = await start('ownCalls', {
      groups: [
        [
          { tool: 'look_up', args: { q: 1 } },
          { tool: 'print_label', args: {} },
          { tool: 'nope', args: {} },
        ],
        [{ tool: 'refund', args: { cents: 5 } }],
      ],
    });
    const groups = (await workflow.result()) as Outcome[][];
    expect(groups.flat().map((outcome) => [outcome.callId, outcome.status])).toEqual([
      ['c1.0', 'succeeded'],
      ['c1.1', 'succeeded'],
      ['c1.2', 'failed'],
      ['c2.0', 'failed'],
    ]);
    expect(groups[0]?.[0]).toMatchObject({ result: { inline: { args: { q: 1 } } } });
    expect(groups[0]?.[2]).toMatchObject({ failure: { class: 'unknown_tool' } });
    expect(groups[1]?.[0]).toMatchObject({
      failure: { class: 'business_rule_violation', message: expect.stringContaining('already refunded') },
    });
  });

  it('checks arguments before the ledger is touched', async () => {
    const strict = backendTool(engine.backend.url, 'strict', {
      input: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] },
    });
    const worker = await engine.worker({ tools: [strict] });
    const workflow = await engine.startWorkflow('ownCalls', {
      taskQueue: worker.taskQueue,
      args: [
        {
          groups: [
            [
              { tool: 'strict', args: {} },
              { tool: 'strict', args: { n: 1 } },
            ],
          ],
        },
      ],
    });
    const [[refused, ran] = []] = (await workflow.result()) as Outcome[][];
    expect(refused).toMatchObject({ status: 'failed', attempts: 0, failure: { class: 'validation_error' } });
    expect(ran).toMatchObject({ status: 'succeeded', attempts: 1 });
    expect(engine.backend.journal.map(({ args }) => args)).toEqual([{ n: 1 }]);
  });

  it('counts calls per workflow, over two executors and over continue-as-new', async () => {
    const workflow = await start('ownRounds', { rounds: 3 });
    const { keys, state } = (await workflow.result()) as { keys: string[]; state: ToolExecutorState };
    expect(keys.map((key) => key.split(' ')[0])).toEqual(['c1.0', 'c2.0', 'c3.0', 'c4.0', 'c5.0', 'c6.0']);
    expect(new Set(keys.map((key) => key.split(' ')[1])).size).toBe(6);
    expect(state.steps).toBe(6);
    expect(engine.backend.effectsOf('refund').map(({ key }) => key)).toEqual(keys.map((key) => key.split(' ')[1]));
  });

  it('without its state after continue-as-new says what to pass, and runs nothing', async () => {
    const workflow = await start('forgetsItsState');
    await expect(workflow.result()).rejects.toMatchObject({
      cause: {
        type: 'ConfigError',
        message: expect.stringContaining('continueAsNew({ …, tools: tools.state() })'),
      },
    });
    expect(engine.backend.effectsOf('refund')).toHaveLength(1);
  });

  it('gives the outcome of a call during which the workflow was cancelled', async () => {
    engine.backend.script('refund', [{ status: 429, headers: { 'retry-after': '60' } }]);
    const workflow = await start('outlivesItsCancellation');
    await engine.backend.arrival('refund');
    await workflow.cancel();
    expect(await workflow.result()).toMatchObject({
      cancelled: true,
      outcome: { status: 'aborted', failure: { class: 'cancelled' } },
    });
  });

  it.each([
    ['of 400,000 letters of three bytes', { text: '漢', length: 400_000 }],
    ['of 1.1 million letters', { text: 'x', length: 1_100_000 }],
  ])('refuses arguments %s, and no workflow task fails', async (_name, size) => {
    const large = await start('ownLargeCalls', { ...size, times: 1 });
    expect(await large.result()).toEqual(['input_too_large']);
    const { events } = await large.fetchHistory();
    expect(events?.filter((event) => event.workflowTaskFailedEventAttributes)).toEqual([]);
    expect(engine.backend.journal).toEqual([]);
  });

  it('takes several large calls at once', async () => {
    const large = await start('ownLargeCalls', { text: 'x', length: 900_000, times: 6 });
    expect(await large.result()).toEqual(Array.from({ length: 6 }, () => 'succeeded'));
    expect(await failedTasks(large.workflowId)).toBe(0);
  });

  it('is bundled from the file that the configuration names', async () => {
    const worker = await engine.worker(
      {
        tools: backendTools(engine.backend.url),
        workflowsPath: fileURLToPath(new URL('../../support/own-workflows.ts', import.meta.url)),
      },
      { temporal: { workflowBundle: undefined } as never },
    );
    const args = [{ groups: [[{ tool: 'look_up', args: {} }]] }];
    const own = await engine.startWorkflow('ownCalls', { taskQueue: worker.taskQueue, args });
    expect(await own.result()).toMatchObject([[{ status: 'succeeded' }]]);
  });
});

describe('a cron workflow is refused', () => {
  const message =
    'perdure does not run as a cron workflow (cron schedule "@every 1s"): the runs of a cron workflow share one ' +
    'identity, so the second would be given the results of the first. Use a Temporal Schedule that starts a new workflow.';

  it.each([
    ['agentRun', { task: 'do it' }],
    ['ownCalls', { groups: [] }],
  ])('as %s, in its own words', async (type, input) => {
    const model = script({ text: 'never asked' });
    const worker = await engine.worker({ model, tools: backendTools(engine.backend.url) });
    const workflow = await engine.startWorkflow(type, {
      taskQueue: worker.taskQueue,
      args: [input],
      cronSchedule: '@every 1s',
    });
    // A cron workflow that failed is started again at its next time, under the same id.
    const first = engine.client.workflow.getHandle(workflow.workflowId, workflow.firstExecutionRunId);
    const failures = async () => {
      const { events } = await first.fetchHistory();
      return events?.flatMap((event) => event.workflowExecutionFailedEventAttributes?.failure?.message ?? []);
    };
    await expect.poll(failures, { timeout: 20_000 }).toEqual([message]);
    await engine.client.workflow.getHandle(workflow.workflowId).terminate('the test has seen its message');
    expect(model.requests).toEqual([]);
  });
});
