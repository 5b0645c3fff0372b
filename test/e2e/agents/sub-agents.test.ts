import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { resetWorkflow } from '../../support/reset-workflow.js';
import { temporalClient, temporalServer } from '../../support/temporal-server.js';
import type { PerdureConfig } from '../../../src/config/config.js';
import { endlessScript, openTestBed, scriptedModel, type ScriptedTurn } from '../../../src/testing/index.js';
import { agentAsTool, type AgentToolOptions } from '../../../src/tools/agent-tool.js';
import { defineTool } from '../../../src/tools/define-tool.js';
import { ToolError } from '../../../src/tools/tool-error.js';

const input = { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] };
const usage = { inputTokens: 100, outputTokens: 10 };

/** An agent that looks up what its task names, and answers with what it found. */
const agentScript: ScriptedTurn[] = [
  ({ task }) => ({ calls: [{ tool: 'look_up', input: { id: task } }], usage }),
  (conversation) => ({ text: `found ${JSON.stringify(conversation.lastResults()[0])}`, usage }),
];

function agent(options: Partial<AgentToolOptions<{ task: string }>> = {}) {
  return agentAsTool({
    name: 'researcher',
    description: 'Finds things out.',
    tools: ['look_up'],
    model: scriptedModel({ name: 'child', turns: agentScript }),
    ...options,
  });
}

const lookUp = (execute: (id: string, signal: AbortSignal) => unknown = (id) => ({ id })) =>
  defineTool({
    name: 'look_up',
    description: 'Look up.',
    effect: { idempotent: 'key' },
    input,
    execute: ({ id }, ctx) => execute(id as string, ctx.signal),
  });

/** A run whose first turn calls the researcher once for each task. */
const parentOf = (tasks: string[], more: ScriptedTurn[] = [{ text: 'Done.', usage }]) =>
  scriptedModel({
    name: 'parent',
    turns: [{ calls: tasks.map((task) => ({ tool: 'researcher', input: { task } })), usage }, ...more],
  });

const open = (config: PerdureConfig) => openTestBed(config, { server: temporalServer() });

describe('an agent as a tool', () => {
  it('runs as a child run, and its answer is the call’s result', async () => {
    await using bed = await open({ tools: [agent(), lookUp()], model: parentOf(['a']) });
    const { result, calls, description } = await bed.run();
    expect(calls.map(({ sees }) => sees)).toEqual([
      { status: 'succeeded', data: 'found {"status":"succeeded","data":{"id":"a"}}' },
    ]);
    const child = await (await bed.client.get(`${description.id}/c1.0`)).describe();
    expect(child.result?.answer).toContain('found');
    // Two turns of its own and two of the child; one call of its own and one of the child.
    expect(result.counters).toMatchObject({ steps: 2, calls: 2, inputTokens: 400, outputTokens: 40, failures: 0 });
  });

  it('is told its own instructions and offered its own tools only', async () => {
    const offered: { tools: string[]; system: string }[] = [];
    const model = {
      ...scriptedModel({ turns: agentScript }),
      complete: (request: Parameters<ReturnType<typeof scriptedModel>['complete']>[0]) => {
        offered.push({ tools: request.tools.map(({ modelName }) => modelName), system: request.system });
        return scriptedModel({ turns: agentScript }).complete(request);
      },
    };
    const other = defineTool({ name: 'other', description: 'Other.', input, execute: () => 1 });
    await using bed = await open({
      tools: [agent({ model, instructions: 'You research.' }), lookUp(), other],
      instructions: 'You lead.',
      model: parentOf(['a']),
    });
    await bed.run();
    expect(offered.map(({ tools }) => tools)).toEqual([
      ['look_up', 'read_artifact'],
      ['look_up', 'read_artifact'],
    ]);
    expect(offered[0]?.system.startsWith('You research.')).toBe(true);
    expect(offered[0]?.system).not.toContain('You lead.');
  });

  it('runs several at once, and no more than it may', async () => {
    let running = 0;
    let most = 0;
    const slow = lookUp(async (id) => {
      running += 1;
      most = Math.max(most, running);
      await sleep(400);
      running -= 1;
      return { id };
    });
    const tasks = ['a', 'b', 'c', 'd'];
    await using bed = await open({ tools: [agent({ maxConcurrent: 2 }), slow], model: parentOf(tasks) });
    const { calls } = await bed.run();
    expect(calls.map(({ state }) => state)).toEqual(['succeeded', 'succeeded', 'succeeded', 'succeeded']);
    expect(calls.map(({ sees }) => sees['data'])).toEqual(
      tasks.map((id) => expect.stringContaining(`"${id}"`) as string),
    );
    expect(most).toBe(2);
  });

  it('that had a failed call comes back as partial, with its errors and low confidence', async () => {
    const refusing = lookUp(() => {
      throw new ToolError({ class: 'permission_denied', effect: 'none', publicMessage: 'The archive is closed.' });
    });
    await using bed = await open({ tools: [agent(), refusing], model: parentOf(['a']) });
    const { calls } = await bed.run();
    expect(calls[0]?.sees).toMatchObject({
      status: 'partial',
      confidence: 'low',
      succeeded: [expect.stringContaining('found')],
      failed: [
        { tool: 'look_up', error_type: 'permission_denied', message: expect.stringContaining('archive is closed') },
      ],
    });
  });

  it('that fails is no failure of its parent', async () => {
    const model = scriptedModel({ turns: [] });
    await using bed = await open({ tools: [agent({ model }), lookUp()], model: parentOf(['a']) });
    const { result, calls } = await bed.run();
    expect(result.status).toBe('completed');
    expect(calls[0]?.sees).toMatchObject({
      status: 'partial',
      confidence: 'low',
      succeeded: [],
      failed: [{ agent: 'researcher', ended: 'model_failed' }],
    });
  });

  it('uses no more than its part of what its parent has left', async () => {
    const model = endlessScript((turn) => ({
      calls: [{ tool: 'look_up', input: { id: `x${turn}` } }],
      text: 'so far',
      usage,
    }));
    await using bed = await open({
      tools: [agent({ model }), lookUp()],
      model: parentOf(['a', 'b']),
      limits: { calls: 8 },
    });
    const { result, calls } = await bed.run();
    // Two calls of the parent leave six: three for each child.
    expect(calls.map(({ sees }) => sees['failed'])).toEqual([
      [expect.objectContaining({ ended: 'calls_cap' }), expect.objectContaining({ error_type: 'skipped' })],
      [expect.objectContaining({ ended: 'calls_cap' }), expect.objectContaining({ error_type: 'skipped' })],
    ]);
    expect(result.counters.calls).toBe(8);
    expect(result.termination.reason).toBe('calls_cap');
    // What the agent asked for in its last turn, against the rules, was not run and is not left open.
    const child = (await bed.client.list()).find(({ id }) => id.endsWith('/c1.0'));
    const last = (await (await bed.client.get(child?.id ?? '')).describe()).steps.at(-1);
    expect(last?.calls.map(({ failure }) => failure?.class)).toEqual(['skipped']);
  });

  it('is not offered deeper than it may be, and calls itself until then', async () => {
    const digging = scriptedModel({
      turns: [
        ({ tools }) =>
          tools.includes('researcher')
            ? { calls: [{ tool: 'researcher', input: { task: 'dig' } }] }
            : { text: 'bottom' },
        { text: 'up' },
      ],
    });
    await using bed = await open({
      tools: [agent({ tools: ['researcher'], model: digging, maxDepth: 2 })],
      model: parentOf(['dig']),
    });
    const { description } = await bed.run();
    const runs = (await bed.client.list()).map(({ id, result }) => [id, result?.answer]);
    expect(Object.fromEntries(runs)).toEqual({
      [description.id]: 'Done.',
      [`${description.id}/c1.0`]: 'up',
      [`${description.id}/c1.0/c1.0`]: 'bottom',
    });
  });

  it('whose task cannot be worded fails as a bug, and no child is started', async () => {
    const task = () => {
      throw new Error('no words');
    };
    await using bed = await open({ tools: [agent({ task }), lookUp()], model: parentOf(['a']) });
    const { calls } = await bed.run();
    expect(calls[0]?.sees).toMatchObject({ status: 'failed', error_type: 'tool_bug' });
    expect(await bed.client.list()).toHaveLength(1);
  });

  it('that still runs when its parent is cancelled is cancelled and waited for', async () => {
    const told: unknown[] = [];
    const started = Promise.withResolvers<void>();
    const waiting = lookUp((_id, signal) => {
      started.resolve();
      return new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          told.push(signal.reason);
          reject(signal.reason as Error);
        });
      });
    });
    await using bed = await open({ tools: [agent(), waiting], model: parentOf(['a']) });
    const run = await bed.client.start('Do it.');
    await started.promise;
    await run.cancel();
    expect((await run.result()).status).toBe('cancelled');
    expect(told).toHaveLength(1);
    const child = await bed.client.get(`${run.runId}/c1.0`);
    expect((await child.describe()).state).toBe('cancelled');
    const [call] = (await run.describe()).steps.flatMap(({ calls }) => calls);
    expect(call?.failure).toMatchObject({ class: 'cancelled', effectState: 'unknown' });
  });

  it('is started again with the same keys after a reset of its parent, and its effects happen once', async () => {
    const effects: string[] = [];
    const release = Promise.withResolvers<void>();
    const second = Promise.withResolvers<void>();
    const noting = defineTool({
      name: 'look_up',
      description: 'Look up.',
      effect: { idempotent: 'key' },
      input,
      execute: async ({ id }, ctx) => {
        if (!effects.includes(ctx.idempotencyKey)) effects.push(ctx.idempotencyKey);
        if (id === 'second') {
          second.resolve();
          await Promise.race([
            release.promise,
            new Promise((resolve) => ctx.signal.addEventListener('abort', resolve)),
          ]);
        }
        return { id };
      },
    });
    const twoSteps = scriptedModel({
      turns: [
        { calls: [{ tool: 'look_up', input: { id: 'first' } }] },
        { calls: [{ tool: 'look_up', input: { id: 'second' } }] },
        { text: 'both' },
      ],
    });
    await using bed = await open({ tools: [agent({ model: twoSteps }), noting], model: parentOf(['a']) });
    await using temporal = await temporalClient();
    const run = await bed.client.start('Do it.');
    await second.promise;
    // Before the agent was started.
    await resetWorkflow(temporal.client, run.runId, 'turn-1');
    // The former child is ended by then, or being ended.
    await sleep(1_000);
    release.resolve();
    expect((await run.result()).status).toBe('completed');
    expect(effects).toHaveLength(2);
    const calls = (await run.describe()).steps.flatMap((step) => step.calls);
    expect(calls.map(({ modelSees }) => modelSees)).toEqual(['{"status":"succeeded","data":"both"}']);
    const ended = bed.log.find(({ message }) => message === 'the agent of an earlier course of the run is cancelled');
    expect(ended?.fields).toEqual({ workflow_id: `${run.runId}/c1.0` });
  });
});

describe('a reset of the parent while its agent works', () => {
  /** A run whose agent reads and prints twice, reset while the first print waits; `stop` is how that print ends. */
  async function resetWhilePrinting(stop: (reason: unknown) => Error) {
    const ran: string[] = [];
    const printing = Promise.withResolvers<void>();
    let isReset = false;
    const untilStopped = (signal: AbortSignal, error: (reason: unknown) => Error) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          reject(error(signal.reason));
        });
      });
    const tool = (name: string, effect: 'read' | 'once', error: (reason: unknown) => Error) =>
      defineTool({
        name,
        description: name,
        effect,
        input,
        execute: ({ id }, ctx) => {
          ran.push(id as string);
          if (name === 'print') printing.resolve();
          return isReset ? { id } : untilStopped(ctx.signal, error);
        },
      });
    const looking = tool('look_up', 'read', (reason) => reason as Error);
    const calls = [
      { tool: 'look_up', input: { id: 'look' } },
      { tool: 'print', input: { id: 'first' } },
      { tool: 'print', input: { id: 'second' } },
    ];
    const model = scriptedModel({ turns: [{ calls }, { text: 'printed' }] });
    const tools = [agent({ model, tools: ['look_up', 'print'] }), looking, tool('print', 'once', stop)];
    await using bed = await open({ tools, model: parentOf(['a']) });
    await using temporal = await temporalClient();
    const run = await bed.client.start('Do it.');
    await printing.promise;
    await expect.poll(() => ran).toContain('look');
    isReset = true;
    // Before the agent was started.
    await resetWorkflow(temporal.client, run.runId, 'turn-1');
    expect((await run.result()).status).toBe('completed');
    const [call] = (await run.describe()).steps.flatMap((step) => step.calls);
    const child = await (await bed.client.get(`${run.runId}/c1.0`)).describe();
    const ends = child.steps.flatMap((step) => step.calls.map(({ state, failure }) => failure?.class ?? state));
    return { ran, sees: JSON.parse(call?.modelSees ?? '') as unknown, ends };
  }

  it('has the agent run what the reset stopped before it had an effect, and reads', async () => {
    const stopped = () => new ToolError({ class: 'external_service_unavailable', effect: 'none' });
    const { ran, sees, ends } = await resetWhilePrinting(stopped);
    expect(ends).toEqual(['succeeded', 'succeeded', 'succeeded']);
    expect(sees).toEqual({ status: 'succeeded', data: 'printed' });
    expect(ran.toSorted()).toEqual(['first', 'first', 'look', 'look', 'second']);
  });

  it('leaves what may have had its effect, and what rests on that, as it was stopped', async () => {
    const { ran, sees, ends } = await resetWhilePrinting((reason) => reason as Error);
    expect(ends).toEqual(['succeeded', 'cancelled', 'cancelled']);
    expect(sees).toMatchObject({ status: 'partial', succeeded: ['printed'] });
    expect(ran.toSorted()).toEqual(['first', 'look', 'look']);
  });
});
