/**
 * What the recorded histories show: one small run for each shape that replayed code takes. Changing a scenario changes only
 * what is recorded next; histories of released shapes stay as they are.
 */
import type { Engine, RunHandle } from '../support/engine.js';
import type { Model } from '../../src/models/model.js';
import { scriptedModel, type ScriptedTurn } from '../../src/models/scripted-model.js';
import { perdureOf } from '../support/perdure-of.js';
import { asks, byRequest, refusesKey } from '../support/recording-model.js';
import { agentAsTool } from '../../src/tools/agent-tool.js';
import { backendTool, backendTools } from '../support/backend-tools.js';

/** The server suggests continue-as-new after this many events, so that recordings stay small. */
export const eventsUntilSuggestion = 40;
/** Recorded on a server with its default, 4,096 events. */
export const longScenarios = ['agent-long', 'agent-long-in-two'];

interface Recorded {
  workflowId: string;
  firstRunId: string;
}

export type Scenario = (engine: Engine) => Promise<Recorded>;

const agent =
  (turns: ScriptedTurn[], prepare: (engine: Engine) => void = () => undefined, limits = {}): Scenario =>
  async (engine) => {
    prepare(engine);
    const run = await startAgent(engine, scriptedModel({ turns }), limits);
    await run.result().catch(() => undefined);
    return recorded(run.workflow);
  };

const own =
  (type: string, args: unknown[]): Scenario =>
  async (engine) => {
    const worker = await engine.worker({ tools: backendTools(engine.backend.url) });
    const workflow = await engine.startWorkflow(type, { taskQueue: worker.taskQueue, args });
    await workflow.result().catch(() => undefined);
    return recorded(workflow);
  };

const refund = (n: number) => ({ tool: 'refund', input: { n } });

export const scenarios: Record<string, Scenario> = {
  'agent-parallel-and-once': agent([
    {
      calls: [
        { tool: 'look_up' },
        { tool: 'print_label' },
        { tool: 'look_up', input: { q: 2 } },
        { tool: 'print_label', input: { n: 2 } },
      ],
    },
    { text: 'done' },
  ]),
  // Agents, calls one after another and calls side by side, whose ends meet in one workflow task.
  'agent-crowded': agent([
    {
      calls: [
        ...['a', 'b', 'c'].map((task) => ({ tool: 'clerk', input: { task } })),
        ...[1, 2, 3, 4].map((n) => ({ tool: 'print_label', input: { n } })),
        ...[1, 2, 3].flatMap((n) => [refund(n), { tool: 'look_up', input: { n } }]),
      ],
    },
    { text: 'done' },
  ]),
  'agent-retry': agent([{ calls: [refund(1)] }, { text: 'done' }], ({ backend }) =>
    backend.script('refund', [{ status: 503, headers: { 'retry-after': '0' } }]),
  ),
  'agent-failures': agent(
    [
      { calls: [{ tool: 'nope' }, refund(1), { tool: 'print_label' }, { tool: 'print_label', input: { n: 2 } }] },
      { text: 'done' },
    ],
    ({ backend }) => {
      backend.script('refund', [{ status: 409, body: { error: 'already refunded' } }]);
      backend.script('print_label', [{ hangUp: true }]);
    },
  ),
  'agent-capped': agent([{ calls: [refund(1), refund(2)] }, { text: 'so far' }], undefined, { calls: 1 }),
  'agent-empty-turns': agent([{}, {}]),
  'agent-model-failed': agent([{ fail: { status: 401 } }]),
  'agent-loop': agent([
    ...Array.from({ length: 4 }, () => ({ calls: [{ tool: 'look_up' }] })),
    { text: 'round and round' },
  ]),
  'agent-same-answers': agent([
    ...Array.from({ length: 8 }, (_, n) => ({ calls: [{ tool: 'browse', input: { page: n } }] })),
    { text: 'the same page again' },
  ]),
  'agent-no-progress': agent([
    ...Array.from({ length: 3 }, (_, n) => ({ calls: [refund(n), { tool: 'run_tests', input: { n } }] })),
    { text: 'no further' },
  ]),
  'agent-children': agent([
    { calls: ['a', 'b'].map((task) => ({ tool: 'clerk', input: { task } })) },
    { calls: [{ tool: 'clerk', input: { task: 'c' } }] },
    { text: 'all noted' },
  ]),
  'agent-continue-as-new': agent([...Array.from({ length: 6 }, (_, n) => ({ calls: [refund(n)] })), { text: 'done' }]),
  // Before runs continued as new at 2,048 events on their own, and since.
  'agent-long': longAgent(185),
  'agent-long-in-two': longAgent(185),
  'agent-cancelled': async (engine) => {
    engine.backend.script('refund', [{ status: 429, headers: { 'retry-after': '60' } }]);
    const run = await startAgent(engine, scriptedModel({ turns: [{ calls: [refund(1), { tool: 'look_up' }] }] }), {});
    // Cancelled in the wait between two attempts, not while the first is just ending.
    await failedAttempt(run);
    await run.workflow.cancel();
    await run.result().catch(() => undefined);
    return recorded(run.workflow);
  },
  'agent-resumed': async (engine) => {
    engine.backend.script('refund', [{ status: 403, body: { error: 'not yet' } }]);
    const worker = await engine.worker({
      model: byRequest(asks(['look_up', {}], ['refund', { n: 1 }]), refusesKey, asks(['refund', { n: 2 }]), {
        text: 'done',
      }),
      tools: backendTools(engine.backend.url),
    });
    const run = await engine.start(worker.taskQueue, {});
    await run.result().catch(() => undefined);
    const perdure = perdureOf(engine);
    const handle = await perdure.get(run.runKey);
    await perdure.retry(handle);
    await handle.result();
    const { runId } = await engine.client.workflow.getHandle(run.workflow.workflowId).describe();
    return { workflowId: run.workflow.workflowId, firstRunId: runId };
  },
  'executor-calls': own('ownCalls', [
    {
      groups: [
        [
          { tool: 'look_up', args: {} },
          { tool: 'print_label', args: {} },
        ],
        [{ tool: 'nope', args: {} }],
      ],
    },
  ]),
  'executor-continue-as-new': own('ownRounds', [{ rounds: 2 }]),
  'executor-without-state': own('forgetsItsState', []),
};

function longAgent(steps: number): Scenario {
  const lookUps = Array.from({ length: steps }, (_, q) => ({ calls: [{ tool: 'look_up', input: { q } }] }));
  return agent([...lookUps, { text: 'done' }], undefined, { steps: 2 * steps });
}

async function startAgent(engine: Engine, model: Model, limits: object): Promise<RunHandle> {
  const { url } = engine.backend;
  const page = { items: Array.from({ length: 12 }, (_, n) => ({ id: `A-${n}`, title: `Item number ${n}` })) };
  const clerk = agentAsTool({
    name: 'clerk',
    description: 'Notes its task.',
    tools: ['refund'],
    model: scriptedModel({
      name: 'clerk',
      turns: [({ task }) => ({ calls: [{ tool: 'refund', input: { task } }] }), { text: 'noted' }],
    }),
  });
  const tools = [
    ...backendTools(url),
    backendTool(url, 'browse', { effect: 'read', execute: () => page }),
    backendTool(url, 'run_tests', { effect: 'read', execute: ({ n }) => ({ round: n, failed: 5 }), progress: () => 5 }),
    clerk,
  ];
  const worker = await engine.worker({ model, tools });
  return await engine.start(worker.taskQueue, { limits });
}

async function failedAttempt(run: RunHandle): Promise<void> {
  for (let tries = 0; tries < 100; tries += 1) {
    const { raw } = await run.workflow.describe();
    const pending = raw.pendingActivities ?? [];
    if (pending.length === 1 && pending[0]?.lastFailure) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error('no attempt failed within 10 s');
}

function recorded(workflow: { workflowId: string; firstExecutionRunId: string }): Recorded {
  return { workflowId: workflow.workflowId, firstRunId: workflow.firstExecutionRunId };
}
