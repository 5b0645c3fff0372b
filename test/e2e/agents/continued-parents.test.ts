/** Agents called from a workflow of one's own, and by parents that are continued as new. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Outcome } from '../../../src/contract/call.js';
import { scriptedModel } from '../../../src/models/scripted-model.js';
import { startDevServer } from '../../../src/server/dev-server.js';
import { agentAsTool } from '../../../src/tools/agent-tool.js';
import { ToolError } from '../../../src/tools/tool-error.js';
import { backendTool } from '../../support/backend-tools.js';
import { openEngine, type Engine } from '../../support/engine.js';
import { historiesOf } from '../../support/run-chain.js';
import { temporalServer } from '../../support/temporal-server.js';

const usage = { inputTokens: 100, outputTokens: 10 };

/** An agent that notes its task once and says so; `refund` by name, since that is what the workflows of the tests call. */
const noting = (name: string) =>
  agentAsTool<{ round?: number; task?: string }>({
    name,
    description: 'Notes its task.',
    input: { type: 'object', properties: { round: { type: 'integer' }, task: { type: 'string' } } },
    task: (input) => JSON.stringify(input),
    tools: ['note'],
    model: scriptedModel({
      name: 'child',
      turns: [
        ({ task }) => ({ calls: [{ tool: 'note', input: { task } }], usage }),
        ({ task }) => ({ text: `noted ${task}`, usage }),
      ],
    }),
  });
const note = (engine: Engine) => backendTool(engine.backend.url, 'note', { effect: { idempotent: 'key' } });

describe('an agent called by toolExecutor()', () => {
  it('runs as a child, several side by side, each with an outcome of its own', async () => {
    await using engine = await openEngine(temporalServer());
    const closed = backendTool(engine.backend.url, 'note', {
      effect: { idempotent: 'key' },
      execute: ({ task }) => {
        if (JSON.stringify(task).includes('secret')) {
          throw new ToolError({ class: 'permission_denied', effect: 'none', publicMessage: 'The archive is closed.' });
        }
        return { ok: true };
      },
    });
    const worker = await engine.worker({ tools: [noting('clerk'), closed] });
    const call = (task: string) => ({ tool: 'clerk', args: { task } });
    const workflow = await engine.startWorkflow('ownCalls', {
      taskQueue: worker.taskQueue,
      args: [{ groups: [[call('a'), call('b'), call('secret')]] }],
    });
    const [outcomes = []] = (await workflow.result()) as Outcome[][];
    expect(outcomes).toMatchObject([
      { callId: 'c1.0', status: 'succeeded', result: { inline: 'noted {"task":"a"}' } },
      { callId: 'c1.1', status: 'succeeded', result: { inline: 'noted {"task":"b"}' } },
      {
        callId: 'c1.2',
        status: 'partial',
        confidence: 'low',
        result: { inline: { failed: [{ tool: 'note', error_type: 'permission_denied' }] } },
      },
    ]);
    const child = await engine.client.workflow.getHandle(`${workflow.workflowId}/c1.0`).describe();
    expect(child).toMatchObject({ type: 'agentRun', status: { name: 'COMPLETED' } });
  });

  it('has keys of its own in each run of a workflow that is continued as new', async () => {
    await using engine = await openEngine(temporalServer());
    const worker = await engine.worker({ tools: [noting('refund'), note(engine)] });
    const workflow = await engine.startWorkflow('ownRounds', { taskQueue: worker.taskQueue, args: [{ rounds: 2 }] });
    const { keys } = (await workflow.result()) as { keys: string[] };
    expect(keys.map((key) => key.split(' ')[0])).toEqual(['c1.0', 'c2.0', 'c3.0', 'c4.0']);
    expect(new Set(keys).size).toBe(4);
    const noted = engine.backend.effectsOf('note');
    expect(noted).toHaveLength(4);
    expect(new Set(noted.map(({ key }) => key)).size).toBe(4);
  });
});

describe('a parent that is continued as new', () => {
  it('calls its agents on, each once, and is charged for all of them', async () => {
    const rootDir = await mkdtemp(join(tmpdir(), 'perdure-parent-'));
    const server = await startDevServer({ rootDir, dynamicConfig: { 'limit.historyCount.suggestContinueAsNew': 60 } });
    try {
      await using engine = await openEngine({ ...temporalServer(), address: server.address });
      const turns = 6;
      const model = scriptedModel({
        name: 'parent',
        turns: ({ turn }) =>
          turn < turns
            ? { calls: ['a', 'b'].map((part) => ({ tool: 'clerk', input: { task: `${turn}${part}` } })), usage }
            : { text: 'all noted', usage },
      });
      const worker = await engine.worker({ model, tools: [noting('clerk'), note(engine)] });
      const run = await engine.start(worker.taskQueue, { limits: { calls: 100 } });
      expect(await run.result()).toMatchObject({
        status: 'completed',
        answer: 'all noted',
        // Two calls a turn, and one of each child; a turn costs 100 tokens in, a child two of them.
        counters: { calls: 4 * turns, inputTokens: 100 * (turns + 1) + 200 * 2 * turns },
      });
      const histories = await historiesOf(engine.client, run.workflow.workflowId, run.workflow.firstExecutionRunId);
      expect(histories.length).toBeGreaterThan(1);
      expect(engine.backend.effectsOf('note')).toHaveLength(2 * turns);
      expect(new Set(engine.backend.effectsOf('note').map(({ key }) => key)).size).toBe(2 * turns);
      expect((await run.calls()).map(({ row }) => row.outcome?.status)).toEqual(
        Array.from({ length: 2 * turns }, () => 'succeeded'),
      );
    } finally {
      await server.stop();
      await rm(rootDir, { recursive: true, force: true });
    }
  });
});
