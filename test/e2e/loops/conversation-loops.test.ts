/** Models that go round in circles, through `agentRun` on a real server: all of them at once, on one worker. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Json } from '../../../src/contract/json.js';
import type { AgentRunResult } from '../../../src/contract/run.js';
import { endlessScript } from '../../../src/models/scripted-model.js';
import { openEngine, type Engine, type RunHandle } from '../../support/engine.js';
import { temporalServer } from '../../support/temporal-server.js';
import { circles, conversationTools, honest, loopPolicy, type Conversation } from './conversations.js';

interface Played {
  result: AgentRunResult;
  /** Failure class or status of each call, in order. */
  ends: string[];
  /** Bodies that ran. */
  ran: number;
}

const conversations = new Map<string, Conversation>([...circles, ...honest].map((each) => [each.way, each]));
const played = new Map<string, Played>();
let engine: Engine;

beforeAll(async () => {
  engine = await openEngine(temporalServer());
  const bodies = new Map<string, number>();
  const wayOf = new Map<string, string>();
  const tools = conversationTools((asked, runId): Json => {
    const run = (bodies.get(runId) ?? 0) + 1;
    bodies.set(runId, run);
    return conversations.get(wayOf.get(runId) ?? '')?.body?.({ ...asked, run }) ?? { items: [] };
  });
  const model = endlessScript((turn, { task, tools: offered }) => {
    const calls = offered.length === 0 ? [] : (conversations.get(task)?.turn(turn) ?? []);
    return calls.length === 0 ? { text: 'That is all.' } : { calls };
  });
  // The breaker is shared by all runs of a tool: here each run is looked at by itself.
  const worker = await engine.worker({
    model,
    tools: tools.map((tool) => ({
      ...tool,
      definition: { ...tool.definition, policy: { ...tool.definition.policy, breaker: null } },
    })),
    loop: loopPolicy,
  });
  const play = async (way: string): Promise<void> => {
    const runKey = `loop-${way.replaceAll(/\W+/g, '-')}`;
    const run: RunHandle = await engine.start(worker.taskQueue, { task: way, runKey, limits: { steps: null } });
    wayOf.set(run.workflow.workflowId, way);
    const result = await run.result();
    const ends = (await run.calls()).map(({ row }) => {
      const { outcome } = row;
      if (!outcome) throw new Error(`${way}: ${row.callId} has no outcome`);
      return 'failure' in outcome ? outcome.failure.class : outcome.status;
    });
    played.set(way, { result, ends, ran: bodies.get(run.workflow.workflowId) ?? 0 });
  };
  await Promise.all([...conversations.keys()].map(play));
}, 110_000);
afterAll(() => engine[Symbol.asyncDispose]());

function playedOf(way: string): Played {
  const found = played.get(way);
  if (!found) throw new Error(`${way} was not played`);
  return found;
}

const isRefusal = (end: string) => end === 'repeated_call_blocked' || end === 'tool_temporarily_disabled';

describe('a model that goes round in circles', () => {
  it('does so in twenty ways and more', () => {
    expect(circles.length).toBeGreaterThanOrEqual(20);
  });

  it.each(circles)('by $way, is stopped', ({ way, most }) => {
    const { result, ran } = playedOf(way);
    expect(result).toMatchObject({
      status: 'capped',
      answer: 'That is all.',
      termination: { reason: 'loop_detected' },
    });
    expect(ran).toBeLessThanOrEqual(most);
  });
});

describe('a model that works honestly', () => {
  it.each(honest)('with $way, goes on to its end, and no call is refused', ({ way }) => {
    const { result, ends } = playedOf(way);
    expect(ends.filter(isRefusal)).toEqual([]);
    expect(result).toMatchObject({ status: 'completed', answer: 'That is all.' });
  });
});

/** The table of docs/loop-defence.md. */
afterAll(() => {
  const rows = circles.map(({ way }) => {
    const { result, ends, ran } = playedOf(way);
    const refused = ends.findIndex(isRefusal);
    return `| ${way} | ${ran} | ${refused < 0 ? 'own answer' : refused} | ${result.counters.steps} |`;
  });
  const harmed = honest.filter(({ way }) => playedOf(way).ends.some(isRefusal)).length;
  const asked = honest.reduce((sum, { way }) => sum + playedOf(way).ends.length, 0);
  console.log(
    [
      '| the model repeats itself by | bodies run | calls before a refusal | turns in all |',
      '| --- | --- | --- | --- |',
      ...rows,
    ].join('\n'),
  );
  console.log(`honest runs that were refused a call: ${harmed} of ${honest.length} (${asked} calls)`);
});
