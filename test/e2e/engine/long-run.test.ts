import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import proto from '@temporalio/proto';
import { expect, it } from 'vitest';
import { endlessScript } from '../../../src/models/scripted-model.js';
import { startDevServer } from '../../../src/server/dev-server.js';
import { backendTools } from '../../support/backend-tools.js';
import { temporalServer } from '../../support/temporal-server.js';
import { openEngine } from '../../support/engine.js';
import { historiesOf, type History } from '../../support/run-chain.js';
import { recording } from '../../support/recording-model.js';

const steps = 300;

it('a run of 300 steps costs the same at its end as at its beginning, over several continue-as-new', async () => {
  const rootDir = await mkdtemp(join(tmpdir(), 'perdure-long-'));
  const server = await startDevServer({ rootDir, dynamicConfig: { 'limit.historyCount.suggestContinueAsNew': 1_000 } });
  try {
    await using engine = await openEngine({ ...temporalServer(), address: server.address });
    // Arguments of a constant size, so that only what grows by itself would grow.
    const model = recording(
      endlessScript((turn, { tools }) =>
        turn === steps || tools.length === 0
          ? { text: 'done' }
          : {
              text: 'step',
              calls: [{ tool: 'refund', input: { n: 1_000 + turn } }],
              usage: { inputTokens: 10, outputTokens: 1 },
            },
      ),
    );
    const worker = await engine.worker({ model, tools: backendTools(engine.backend.url) });
    const startedAt = Date.now();
    const run = await engine.start(worker.taskQueue, { limits: { steps: 1_000 } });
    expect(await run.result()).toMatchObject({
      status: 'completed',
      answer: 'done',
      counters: { steps: steps + 1, calls: steps, failures: 0, inputTokens: expect.any(Number) },
    });
    const elapsedMs = Date.now() - startedAt;

    const histories = await historiesOf(engine.client, run.workflow.workflowId, run.workflow.firstExecutionRunId);
    const bytes = bytesByStep(histories);
    const first = mean(bytes.slice(0, 50));
    const last = mean(bytes.slice(-50));
    console.log(
      `300 steps: ${(elapsedMs / 1000).toFixed(1)} s, ${histories.length - 1} continue-as-new, ` +
        `${histories.map(({ events }) => events?.length ?? 0).join(' + ')} events, ` +
        `${first.toFixed(0)} bytes of history a step at first, ${last.toFixed(0)} at last ` +
        `(${((last / first - 1) * 100).toFixed(1)} %)`,
    );
    expect(histories.length).toBeGreaterThanOrEqual(3);
    expect(bytes).toHaveLength(steps);
    expect(Math.abs(last / first - 1)).toBeLessThan(0.1);
    // What is carried over is as large at the last continue-as-new as at the first.
    const carried = histories.slice(1).map(({ events }) => JSON.stringify(inputOf(events)).length);
    expect(Math.abs((carried.at(-1) ?? 0) / (carried[0] ?? 1) - 1)).toBeLessThan(0.1);

    const calls = await run.calls();
    expect(calls.map(({ row }) => row.callId)).toEqual(Array.from({ length: steps }, (_, n) => `c${n + 1}.0`));
    expect(new Set(calls.map(({ row }) => row.key)).size).toBe(steps);
    expect(engine.backend.effectsOf('refund').map(({ key }) => key)).toEqual(calls.map(({ row }) => row.key));
    const activityIds = histories.flatMap(({ events }) =>
      (events ?? []).flatMap((event) => event.activityTaskScheduledEventAttributes?.activityId ?? []),
    );
    const named = activityIds.filter((id) => /^(c|turn-)/.test(id));
    expect(named).toHaveLength(2 * steps + 1);
    expect(new Set(named).size).toBe(named.length);
    // Tokens are counted over all runs of the chain; the last answer's are estimated.
    const result = await run.result();
    expect(result.counters.outputTokens).toBeGreaterThan(steps);
    expect(result.counters.inputTokens).toBeGreaterThan(steps * 10);
    // Everything was in front of the model at the end: the task, and a turn with its result for each step.
    expect(model.requests.at(-1)?.messages).toHaveLength(1 + 2 * steps);
  } finally {
    await server.stop();
    await rm(rootDir, { recursive: true, force: true });
  }
}, 240_000);

/** Encoded bytes of the events from one step's model turn up to the next one's, within each run. */
function bytesByStep(histories: History[]): number[] {
  const { HistoryEvent } = proto.temporal.api.history.v1;
  const steps: number[] = [];
  for (const { events } of histories) {
    let step: number | undefined;
    for (const event of events ?? []) {
      const isTurn = event.activityTaskScheduledEventAttributes?.activityId?.startsWith('turn-') ?? false;
      const size = HistoryEvent.encode(event).finish().length;
      if (isTurn) {
        if (step !== undefined) steps.push(step);
        step = size;
      } else if (step !== undefined) step += size;
    }
    // The last turn of a run ends with what continue-as-new carries, and the last of all asks for no call.
    const continued = events?.at(-1)?.workflowExecutionContinuedAsNewEventAttributes;
    if (step !== undefined && continued) steps.push(step - HistoryEvent.encode(events?.at(-1) ?? {}).finish().length);
  }
  return steps;
}

function inputOf(events: History['events']): unknown {
  return events?.[0]?.workflowExecutionStartedEventAttributes?.input;
}

function mean(numbers: number[]): number {
  return numbers.reduce((sum, each) => sum + each, 0) / numbers.length;
}
