/** Breaker and lock over workers in processes of their own, with one store. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Outcome } from '../../../src/contract/call.js';
import type { JsonObject } from '../../../src/contract/json.js';
import { startChildWorker } from '../../support/child-worker.js';
import { openEngine, type Engine } from '../../support/engine.js';
import { temporalServer } from '../../support/temporal-server.js';

let engine: Engine;
beforeEach(async () => {
  engine = await openEngine(temporalServer());
});
afterEach(() => engine[Symbol.asyncDispose]());

const heartbeatTimeoutMs = 2_000;
const down = { status: 503, body: { error: 'down' } };
/** A queue for each worker, so that it is known who runs what. */
const queue = (name: string) => `${name}-${randomUUID()}`;

async function start(taskQueue: string, tool: string, ...args: JsonObject[]) {
  const group = args.map((each) => ({ tool, args: each }));
  return await engine.startWorkflow('ownCalls', { taskQueue, args: [{ groups: [group] }] });
}

async function calls(taskQueue: string, tool: string, ...args: JsonObject[]): Promise<Outcome[]> {
  const [outcomes = []] = (await (await start(taskQueue, tool, ...args)).result()) as Outcome[][];
  return outcomes;
}

describe('workers in processes of their own', () => {
  it('spare a backend within a second after one of them found it down', async () => {
    const [first, second, third] = [queue('one'), queue('two'), queue('three')];
    await using _one = await startChildWorker(engine, { heartbeatTimeoutMs, taskQueue: first });
    await using _two = await startChildWorker(engine, { heartbeatTimeoutMs, taskQueue: second });
    await using _three = await startChildWorker(engine, { heartbeatTimeoutMs, taskQueue: third });
    // Both have looked at the breaker lately, and hold what they saw for up to a second.
    for (const other of [second, third])
      expect(await calls(other, 'search', { n: 0 })).toMatchObject([{ status: 'succeeded' }]);
    engine.backend.script('search', [down, down, down, down, down]);
    const found = await calls(first, 'search', ...[1, 2, 3, 4, 5].map((n) => ({ n })));
    expect(found.map((outcome) => 'failure' in outcome && outcome.failure.class)).toEqual(
      found.map(() => 'external_service_unavailable'),
    );
    await sleep(1_000);
    for (const other of [second, third]) {
      expect(await calls(other, 'search', { n: 6 })).toMatchObject([
        { status: 'failed', attempts: 0, failure: { class: 'tool_temporarily_disabled', effectState: 'none' } },
      ]);
    }
    expect(engine.backend.effectsOf('search')).toHaveLength(7);
  });

  it('hold a lock one at a time, and a dead holder’s until its lease has lapsed', async () => {
    const [first, second] = [queue('one'), queue('two')];
    const doomed = await startChildWorker(engine, { heartbeatTimeoutMs, taskQueue: first });
    await using _two = await startChildWorker(engine, { heartbeatTimeoutMs, taskQueue: second });
    engine.backend.script('transfer', [{ hold: true }, { delayMs: 300 }, { delayMs: 300 }]);
    const held = await start(first, 'transfer', { account: 'a', n: 1 });
    await engine.backend.arrival('transfer');
    const waiting = calls(second, 'transfer', { account: 'a', n: 2 }, { account: 'a', n: 3 });
    await sleep(1_500);
    expect(engine.backend.effectsOf('transfer')).toHaveLength(1);
    await doomed.kill();
    expect(await waiting).toMatchObject([{ status: 'succeeded' }, { status: 'succeeded' }]);
    const [, one, other] = engine.backend.effectsOf('transfer');
    // Neither arrived before the other was answered.
    expect((one?.answered ?? Infinity) < (other?.arrived ?? 0)).toBe(true);
    await using _heir = await startChildWorker(engine, { heartbeatTimeoutMs, taskQueue: first });
    expect(await held.result()).toMatchObject([[{ status: 'succeeded', attempts: 2 }]]);
  });
});
