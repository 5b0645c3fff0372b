/** Breaker, limiter, retry budget and lock across runs and workers: two workers with a store handle each, one server. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Outcome } from '../../../src/contract/call.js';
import type { JsonObject } from '../../../src/contract/json.js';
import type { Tool } from '../../../src/tools/tool.js';
import { backendTool } from '../../support/backend-tools.js';
import { openEngine, type Engine } from '../../support/engine.js';
import { recording, script } from '../../support/recording-model.js';
import { temporalServer } from '../../support/temporal-server.js';

let engine: Engine;
beforeEach(async () => {
  engine = await openEngine(temporalServer());
});
afterEach(() => engine[Symbol.asyncDispose]());

const down = { status: 503, body: { error: 'down' } };

/** Two workers of one store, each with a queue of its own, so that it is known who runs what. */
async function twoWorkers(tools: Tool[]): Promise<[string, string]> {
  const queues: [string, string] = [`one-${randomUUID()}`, `two-${randomUUID()}`];
  for (const taskQueue of queues) await engine.worker({ tools }, { taskQueue });
  return queues;
}

/** The calls of one step, in a workflow of their own. */
async function calls(taskQueue: string, tool: string, ...args: JsonObject[]): Promise<Outcome[]> {
  const group = args.map((each) => ({ tool, args: each }));
  const workflow = await engine.startWorkflow('ownCalls', { taskQueue, args: [{ groups: [group] }] });
  const [outcomes] = (await workflow.result()) as Outcome[][];
  return outcomes ?? [];
}

const classOf = (outcome: Outcome | undefined) =>
  outcome && 'failure' in outcome ? outcome.failure.class : outcome?.status;

describe('a backend that is down', () => {
  it('is spared by the other worker a second after the first one found out', async () => {
    const search = backendTool(engine.backend.url, 'search', {
      effect: 'read',
      budgetMs: '5s',
      timeoutMs: '5s',
      retry: { external_service_unavailable: 'never' },
    });
    const [one, two] = await twoWorkers([search]);
    expect((await calls(two, 'search', { n: 0 })).map(classOf)).toEqual(['succeeded']);
    engine.backend.script('search', [down, down, down, down, down]);
    const failed = await calls(one, 'search', ...[1, 2, 3, 4, 5].map((n) => ({ n })));
    expect(failed.map(classOf)).toEqual(failed.map(() => 'external_service_unavailable'));
    await sleep(1_000);
    const [spared] = await calls(two, 'search', { n: 6 });
    expect(spared).toMatchObject({
      status: 'failed',
      attempts: 0,
      failure: { class: 'tool_temporarily_disabled', effectState: 'none', retryable: true },
    });
    expect(spared && 'failure' in spared && spared.failure.retryAfterMs).toBeGreaterThan(20_000);
    expect(engine.backend.effectsOf('search')).toHaveLength(6);
  });

  it('is waited for where the cool-down fits the budget, in no slot and as no attempt', async () => {
    const tools = [
      backendTool(engine.backend.url, 'search', {
        effect: 'read',
        breaker: { failures: 1, coolDownMs: 1_500 },
        retry: { external_service_unavailable: 'never' },
      }),
      backendTool(engine.backend.url, 'other', { effect: 'read' }),
    ];
    const queue = `only-${randomUUID()}`;
    await engine.worker({ tools, maxConcurrentCalls: 1 }, { taskQueue: queue });
    engine.backend.script('search', [down]);
    await calls(queue, 'search', { n: 1 });
    const waiting = calls(queue, 'search', { n: 2 });
    await sleep(300);
    expect((await calls(queue, 'other', {})).map(classOf)).toEqual(['succeeded']);
    expect(engine.backend.effectsOf('search')).toHaveLength(1);
    expect((await waiting)[0]).toMatchObject({ status: 'succeeded', attempts: 1 });
  });

  it('gets no more retries than the tool has left', async () => {
    const search = backendTool(engine.backend.url, 'search', {
      effect: 'read',
      breaker: false,
      retry: { external_service_unavailable: { baseDelayMs: 1 } },
      retryBudget: { tokens: 2, perMinute: 0 },
    });
    const [one, two] = await twoWorkers([search]);
    engine.backend.script('search', [down, down, down, down]);
    expect(await calls(one, 'search', { n: 1 })).toMatchObject([{ status: 'failed', attempts: 3 }]);
    expect(await calls(two, 'search', { n: 2 })).toMatchObject([{ status: 'failed', attempts: 1 }]);
  });
});

describe('a limiter', () => {
  it('is shared by the workers, and a wait for it is neither an attempt nor a failure', async () => {
    const search = backendTool(engine.backend.url, 'search', { effect: 'read', limiter: { requestsPerMinute: 30 } });
    const [one, two] = await twoWorkers([search]);
    const startedAt = performance.now();
    const outcomes = (
      await Promise.all([calls(one, 'search', { n: 1 }, { n: 2 }), calls(two, 'search', { n: 3 }, { n: 4 })])
    ).flat();
    expect(outcomes).toMatchObject(outcomes.map(() => ({ status: 'succeeded', attempts: 1 })));
    // Three at once, one in 2.1 s from then on.
    expect(performance.now() - startedAt).toBeGreaterThan(2_000);
    expect(engine.backend.effectsOf('search')).toHaveLength(4);
  });

  it('holds no slot of the worker while a call waits for it', async () => {
    const tools = [
      backendTool(engine.backend.url, 'search', { effect: 'read', limiter: { requestsPerMinute: 10 } }),
      backendTool(engine.backend.url, 'other', { effect: 'read' }),
    ];
    const queue = `only-${randomUUID()}`;
    await engine.worker({ tools, maxConcurrentCalls: 1 }, { taskQueue: queue });
    await calls(queue, 'search', { n: 1 });
    // The bucket is empty: the next one waits for about six seconds.
    const waiting = calls(queue, 'search', { n: 2 });
    await sleep(300);
    expect((await calls(queue, 'other', {})).map(classOf)).toEqual(['succeeded']);
    expect(engine.backend.effectsOf('search')).toHaveLength(1);
    expect((await waiting)[0]).toMatchObject({ status: 'succeeded', attempts: 1 });
  });

  it('ends a call as rate_limit, with the time to wait, where its budget does not cover the wait', async () => {
    const search = backendTool(engine.backend.url, 'search', {
      effect: 'read',
      limiter: { requestsPerMinute: 2 },
      budgetMs: '3s',
      timeoutMs: '3s',
    });
    const [one, two] = await twoWorkers([search]);
    expect((await calls(one, 'search', { n: 1 })).map(classOf)).toEqual(['succeeded']);
    expect(await calls(two, 'search', { n: 2 })).toMatchObject([
      { status: 'failed', attempts: 0, failure: { class: 'rate_limit', effectState: 'none', retryable: true } },
    ]);
    expect(engine.backend.effectsOf('search')).toHaveLength(1);
  });

  it('of the model holds a turn back until it may be asked', async () => {
    const look = backendTool(engine.backend.url, 'look_up', { effect: 'read' });
    const model = recording(script({ calls: [{ tool: 'look_up', input: { n: 1 } }] }, { text: 'done' }));
    const worker = await engine.worker({ model, tools: [look], modelLimits: { requestsPerMinute: 19 } });
    const startedAt = performance.now();
    const run = await engine.start(worker.taskQueue, {});
    expect(await run.result()).toMatchObject({ status: 'completed', answer: 'done', counters: { steps: 2 } });
    expect(performance.now() - startedAt).toBeGreaterThan(3_000);
  });
});

describe('an exclusive lock', () => {
  it('lets calls with one key run one at a time over runs and workers, others beside them', async () => {
    const inside = new Map<string, number>();
    let most = 0;
    let together = 0;
    const fences: number[] = [];
    const transfer = backendTool(engine.backend.url, 'transfer', {
      effect: { idempotent: 'key' },
      exclusive: ({ account }) => `account:${account as string}`,
      execute: async ({ account }, ctx) => {
        const key = account as string;
        inside.set(key, (inside.get(key) ?? 0) + 1);
        most = Math.max(most, inside.get(key) ?? 0);
        together = Math.max(
          together,
          [...inside.values()].reduce((sum, each) => sum + each, 0),
        );
        if (key === 'a') fences.push(ctx.fencingToken ?? 0);
        await sleep(700);
        inside.set(key, (inside.get(key) ?? 0) - 1);
        return { ok: true };
      },
    });
    const [one, two] = await twoWorkers([transfer]);
    const outcomes = await Promise.all([
      calls(one, 'transfer', { account: 'a', n: 1 }, { account: 'b', n: 2 }),
      calls(two, 'transfer', { account: 'a', n: 3 }, { account: 'a', n: 4 }),
    ]);
    expect(outcomes.flat()).toMatchObject(outcomes.flat().map(() => ({ status: 'succeeded', attempts: 1 })));
    expect(most).toBe(1);
    expect(together).toBeGreaterThan(1);
    expect(fences).toEqual([...fences].sort((a, b) => a - b));
    expect(new Set(fences).size).toBe(3);
  });

  it('whose key cannot be told ends the call before anything runs', async () => {
    const transfer = backendTool(engine.backend.url, 'transfer', {
      exclusive: () => {
        throw new TypeError('no such account');
      },
    });
    const [one] = await twoWorkers([transfer]);
    expect(await calls(one, 'transfer', {})).toMatchObject([
      { status: 'failed', attempts: 0, failure: { class: 'tool_bug', effectState: 'none' } },
    ]);
    expect(engine.backend.journal).toEqual([]);
  });
});
