/** What `perdure store gc` and `perdure store check` do, beside live runs and workers that were stopped and wake up. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openStoreUpkeep, type StoreUpkeep } from '../../src/client/store-upkeep.js';
import { resolveConfig } from '../../src/config/resolve-config.js';
import { describePostgres } from '../support/describe-postgres.js';
import { startPostgres, type PostgresServer } from '../support/postgres.js';
import { Witnesses } from './harness/evidence.js';
import { checkLaws } from './harness/laws.js';
import { programOf } from './harness/program.js';
import { CrashBench, until } from './support/crash-bench.js';

/** Much shorter than the command allows, and longer than a living worker's write is from what refers to it. */
const graceMs = 5_000;
/** A call of the live run is held for as long as it is collected beside it. */
const options = { toolTimeoutMs: 25_000 };
const once = { starts: 1, effects: 1, ended: 'succeeded' } as const;

/** Collects again and again until it is disposed of. */
class Collecting implements AsyncDisposable {
  readonly runs = new Set<string>();
  nodes = 0;
  rounds = 0;
  readonly #upkeep: StoreUpkeep;
  readonly #looping: Promise<void>;
  #isOver = false;

  constructor(upkeep: StoreUpkeep) {
    this.#upkeep = upkeep;
    this.#looping = this.#loop();
    // Reported when it is disposed of.
    this.#looping.catch(() => undefined);
  }

  async #loop(): Promise<void> {
    while (!this.#isOver) {
      const collected = await this.#upkeep.collect({ closedRunsMs: 0, graceMs, dryRun: false });
      for (const { workflowId } of collected.runs) this.runs.add(workflowId);
      this.nodes += collected.nodes;
      this.rounds += 1;
      const { problems } = await this.#upkeep.check({ deep: false });
      if (problems.length > 0) throw new Error(`round ${this.rounds}: ${JSON.stringify(problems)}`);
      await sleep(50);
    }
  }

  /** Waits until the condition holds, or rejects as the collecting does. */
  async until(condition: () => boolean, what: string): Promise<void> {
    await Promise.race([until(condition, what), this.#looping]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    await this.#looping;
  }
}

async function openUpkeep({ storeChoice, rootDir, server }: CrashBench): Promise<StoreUpkeep> {
  const config = await resolveConfig({ tools: [], store: storeChoice }, { rootDir, env: {} });
  const env = { TEMPORAL_ADDRESS: server.address, TEMPORAL_NAMESPACE: server.namespace };
  return await openStoreUpkeep(config, {
    env,
    warn: (text) => {
      throw new Error(text);
    },
  });
}

async function collectBesideZombies(bench: CrashBench): Promise<void> {
  const { oracle, store } = bench;
  const upkeep = await openUpkeep(bench);
  const program = programOf(`live-${bench.taskQueue}`, [
    [{ tool: 'nature', ended: 'succeeded', starts: 2, effects: 2 }],
    [{ tool: 'once', ...once }],
    [{ tool: 'keyed', ...once }],
    [{ tool: 'read', ...once }],
  ]);
  // With the model's answer in hand.
  const inTurn = await bench.sleeper({ at: 'model-answered', action: 'stop' }, options);
  const runs = [await bench.runCalls('once')];
  await inTurn.stopped();
  // In mid-body of a live run, and with the answer of another's call in hand.
  await oracle.mode('nature', { type: 'commit-then-hold', times: 1 });
  const inCall = await bench.sleeper({ at: 'answered', tool: 'keyed', action: 'stop' }, options);
  const live = await bench.start(program.name, program.script);
  await until(async () => (await oracle.held()) === 1, 'the backend holds the call of the live run');
  runs.push(await bench.runCalls('keyed'));
  await inCall.stopped();

  await oracle.mode('read', { type: 'hold' });
  await bench.worker([], options);
  {
    await using collecting = new Collecting(upkeep);
    for (const run of runs) expect(await run.result()).toMatchObject({ status: 'completed' });
    await until(async () => (await oracle.held()) === 2, 'the live run is in its last call');
    const isCollected = () => runs.every(({ runKey }) => collecting.runs.has(runKey)) && collecting.nodes > 0;
    await collecting.until(isCollected, 'what has ended is collected, with its conversation');
    for (const zombie of [inCall, inTurn]) zombie.signal('SIGCONT');
    // What they have brought is refused, each in its way.
    await inCall.reached('a late result was not recorded');
    await inTurn.reached('was collected');
    const { rounds } = collecting;
    await collecting.until(() => collecting.rounds > rounds + 2, 'it was collected behind them');
    expect(collecting.runs.has(program.name)).toBe(false);
  }
  await oracle.release();
  expect(await live.result()).toMatchObject({ status: 'completed' });

  expect((await upkeep.check({ deep: true })).problems).toEqual([]);
  await upkeep.close();
  for (const { runKey } of runs) {
    expect(await store.getTombstone(runKey)).toMatchObject({ status: 'completed' });
    expect(await store.listCalls(runKey)).toEqual([]);
  }
  await using witnesses = await Witnesses.open(bench);
  expect(checkLaws(await witnesses.ask({ program, workflowId: program.name, cancelled: false }))).toEqual([]);
  const effects = async (tool: string): Promise<string[]> =>
    (await oracle.arrivals(tool)).filter(({ effect }) => effect).map(({ key }) => key);
  for (const tool of ['keyed', 'once']) {
    const keys = await effects(tool);
    expect([tool, keys.length, new Set(keys).size]).toEqual([tool, 2, 2]);
  }
}

describe('collecting beside live runs and workers that wake up', { timeout: 120_000 }, () => {
  it('on SQLite: they are refused, nothing that is needed is gone, and all runs end with each effect once', async () => {
    await using bench = await CrashBench.open();
    await collectBesideZombies(bench);
  });
});

describePostgres('collecting beside live runs and workers that wake up', { timeout: 120_000 }, () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.stop());

  it('on PostgreSQL: they are refused, nothing that is needed is gone, and all runs end with each effect once', async () => {
    await using bench = await CrashBench.open({ store: { url: server.url(await server.createDatabase()) } });
    await collectBesideZombies(bench);
  });
});
