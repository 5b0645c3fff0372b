/** Workers on one PostgreSQL store, killed and cut off from it. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Outcome } from '../../src/contract/call.js';
import { taskQueueFor } from '../../src/contract/task-queue.js';
import { openPostgresStore } from '../../src/store/postgres-store.js';
import { StoreError } from '../../src/store/store-error.js';
import { commitOf, eventsFor, recordedOf, runOf, succeeded, turnOf } from '../store/store-samples.js';
import { backendTools } from '../support/backend-tools.js';
import { startChildWorker } from '../support/child-worker.js';
import { openEngine } from '../support/engine.js';
import { describePostgres } from '../support/describe-postgres.js';
import { startPostgres, type PostgresServer } from '../support/postgres.js';
import { script } from '../support/recording-model.js';
import { temporalServer } from '../support/temporal-server.js';

const child = fileURLToPath(new URL('../store/store-child.ts', import.meta.url));
const opener = new URL('../store/postgres-opener.ts', import.meta.url).href;

describePostgres('workers on one PostgreSQL store', () => {
  let server: PostgresServer;
  let url: string;
  beforeAll(async () => {
    server = await startPostgres();
    url = server.url(await server.createDatabase());
  });
  afterAll(() => server.stop());

  it('ten processes never hold one claim at a time: 200 claims each on 50 calls', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'perdure-claims-'));
    const location = JSON.stringify({ connectionString: url, schema: 'claims' });
    try {
      const args = [...process.execArgv, child, opener, location, 'claims', folder];
      const runs = await Promise.all(
        Array.from({ length: 10 }, async () => {
          const { stdout } = await promisify(execFile)(process.execPath, args);
          return JSON.parse(stdout) as { begun: number; busy: number; overlaps: number };
        }),
      );
      const sum = (field: 'begun' | 'busy' | 'overlaps') => runs.reduce((total, one) => total + one[field], 0);
      expect(sum('overlaps')).toBe(0);
      expect(sum('begun') + sum('busy')).toBe(2_000);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('a server that stops at once under load loses nothing that it promised, and its callers go on by themselves', async () => {
    const store = await openPostgresStore({ connectionString: url });
    const refusals: unknown[] = [];
    let claimsLost = 0;
    let stopping = false;

    /** As a caller does it: what rejects as unavailable is asked again. */
    async function insist<T>(ask: () => Promise<T>): Promise<T> {
      for (;;) {
        try {
          return await ask();
        } catch (error) {
          refusals.push(error);
          if (!(error instanceof StoreError) || error.code !== 'unavailable') throw error;
          await sleep(20);
        }
      }
    }

    /** One call from its claim to its outcome, as a worker makes it; an event whose answer was lost is known by its row. */
    async function perform(key: string, events: ReturnType<typeof eventsFor>, outcome: Outcome): Promise<void> {
      const token = `token-${key}`;
      for (;;) {
        expect(await insist(() => store.applyLedger(key, events.claim(token)))).toMatchObject({ type: 'granted' });
        const begun = await insist(() => store.applyLedger(key, events.begin(token)));
        if (begun.row?.begun && begun.row.token === token) break;
        // A claim is on disk only with the start (src/store/relaxed-writes.ts): one that the crash took is asked for anew.
        expect(begun).toMatchObject({ type: 'superseded', row: { state: 'released', begun: false, starts: 0 } });
        expect(begun.row?.token).toBeUndefined();
        claimsLost += 1;
      }
      const settled = await insist(() => store.applyLedger(key, events.settle(token, outcome)));
      expect(settled.row).toMatchObject({ state: 'done', outcome });
    }

    const promised: { runKey: string; step: number; head: string }[] = [];
    const settled: string[] = [];
    async function conversation(runKey: string): Promise<void> {
      let { head } = await insist(() => store.createRun(runOf(runKey)));
      for (let step = 1; !stopping; step += 1) {
        const callId = `c${String(step)}.0`;
        const refused = recordedOf(`${runKey}-refused-${String(step)}`, runKey, callId);
        const commit = commitOf(turnOf(runKey, step, head), `step ${String(step)}`, [refused]);
        ({
          answer: { head },
        } = await insist(() => store.commitTurn(commit)));
        promised.push({ runKey, step, head });
        const key = `${runKey}-${String(step)}`;
        const outcome = succeeded(key, callId, key);
        await perform(key, eventsFor(runKey, `c${String(step)}.1`), outcome);
        settled.push(key);
      }
    }

    const load = Promise.all(Array.from({ length: 8 }, (_, index) => conversation(`load-${String(index)}`)));
    for (let crashes = 0; crashes < 3; crashes += 1) {
      await sleep(400);
      await server.crash();
      await sleep(200);
      await server.start();
    }
    await sleep(400);
    stopping = true;
    await load;

    expect(refusals.length).toBeGreaterThan(0);
    expect(promised.length).toBeGreaterThan(50);
    // Of each of eight callers at most one for each crash.
    expect(claimsLost).toBeLessThanOrEqual(3 * 8);
    const runs = await store.listRuns({ workflowIdPrefix: 'wf-load-', limit: 100 });
    expect(runs).toHaveLength(8);
    for (const run of runs) {
      const turns = await store.listTurns(run.runKey);
      const told = promised.filter(({ runKey }) => runKey === run.runKey);
      expect(turns.map(({ turn, result }) => [turn.step, result.head])).toEqual(
        told.map(({ step, head }) => [step, head]),
      );
      expect(await store.getChain(run.head)).toHaveLength(turns.length + 1);
    }
    for (const key of settled) {
      // One start each, however often the caller had to ask.
      expect((await store.getCall(key))?.row, key).toMatchObject({ state: 'done', starts: 1 });
    }
    await store.close();
  });

  it('one of two that is killed leaves its calls to the other, and no effect that must not is doubled', async () => {
    await using engine = await openEngine(temporalServer(), { url });
    engine.backend.script('print_label', [{ hold: true }]);
    engine.backend.script('refund', [{ hold: true }]);
    const first = await startChildWorker(engine, { heartbeatTimeoutMs: 1_500 });
    const calls = [
      { tool: 'print_label', args: {} },
      { tool: 'refund', args: {} },
    ];
    const start = () =>
      engine.startWorkflow('ownCalls', {
        taskQueue: taskQueueFor(engine.store.storeId),
        args: [{ groups: [calls, calls] }],
      });
    const interrupted = await start();
    await Promise.all([engine.backend.arrival('print_label'), engine.backend.arrival('refund')]);
    await using _second = await startChildWorker(engine, { heartbeatTimeoutMs: 1_500 });
    await first.kill();
    const others = await Promise.all(Array.from({ length: 5 }, start));
    expect(await interrupted.result()).toMatchObject([
      [
        { status: 'failed', failure: { class: 'outcome_unknown' }, attempts: 1 },
        { status: 'succeeded', attempts: 2 },
      ],
      [{ status: 'succeeded' }, { status: 'succeeded' }],
    ]);
    const succeededTwice = [
      [{ status: 'succeeded' }, { status: 'succeeded' }],
      [{ status: 'succeeded' }, { status: 'succeeded' }],
    ];
    for (const other of others) expect(await other.result()).toMatchObject(succeededTwice);
    const keys = (name: string) => engine.backend.effectsOf(name).map(({ key }) => key);
    expect(new Set(keys('print_label')).size).toBe(keys('print_label').length);
    expect(keys('print_label')).toHaveLength(12);
    expect(new Set(keys('refund')).size).toBe(12);
  });

  it('a run outlives its store: the server stops in the middle of a call, and the run goes on when it is back', async () => {
    await using engine = await openEngine(temporalServer(), { url });
    const model = script(
      { calls: [{ tool: 'refund' }, { tool: 'look_up' }] },
      { calls: [{ tool: 'print_label' }] },
      { text: 'all done' },
    );
    engine.backend.script('refund', [{ hold: true }]);
    await using worker = await engine.worker({
      model,
      tools: backendTools(engine.backend.url),
      heartbeatTimeoutMs: 3_000,
    });
    const run = await engine.start(worker.taskQueue, {});
    await engine.backend.arrival('refund');
    await server.crash();
    engine.backend.release('refund');
    await sleep(1_000);
    await server.start();
    expect(await run.result()).toMatchObject({ status: 'completed', answer: 'all done' });
    const outcomes = (await run.calls()).map(({ row }) => [row.tool, row.outcome?.status]);
    expect(outcomes).toEqual([
      ['refund', 'succeeded'],
      ['look_up', 'succeeded'],
      ['print_label', 'succeeded'],
    ]);
    expect(engine.backend.effectsOf('print_label')).toHaveLength(1);
    expect(new Set(engine.backend.effectsOf('refund').map(({ key }) => key)).size).toBe(1);
  });
});
