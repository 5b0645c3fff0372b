/**
 * Runs that an operator ends or resets at a moment that nobody chose, with calls under way, and `perdure retry` after that.
 * The moments and the programs come from a seed, which is printed and taken from PERDURE_SEED.
 */
import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Perdure } from '../../src/client/perdure-client.js';
import { Project } from '../support/command-line.js';
import { perdureOf } from '../support/perdure-of.js';
import { judge } from './harness/judge.js';
import { isServerAway, resetSomeActivity, resetToSomeTask } from './harness/operations.js';
import { makeProgram } from './harness/program.js';
import { Random } from './harness/random.js';
import { CrashBench, until, workflowBundle } from './support/crash-bench.js';
import '../support/quiet-runtime.js';

const seed = Number(process.env['PERDURE_SEED'] ?? randomInt(1_000_000));
/** The first by the command line, the others by the client. */
const rounds = 3;

let bench: CrashBench;
let perdure: Perdure;
let project: Project;
beforeAll(async () => {
  bench = await CrashBench.open();
  perdure = perdureOf(bench);
  const config = `export default { tools: [], store: { path: ${JSON.stringify(bench.storePath)} } };`;
  project = await Project.open({ 'perdure.config.ts': config });
  const options = { toolTimeoutMs: 2_500, breakerCoolDownMs: 1_000 };
  await Promise.all([bench.worker([], options), bench.worker([], options)]);
});
afterAll(async () => {
  await project[Symbol.asyncDispose]();
  await bench[Symbol.asyncDispose]();
});

type Operation = (id: string, random: Random) => Promise<unknown>;

/** One that comes too late is none. */
async function ifOpen(operation: Promise<unknown>): Promise<void> {
  try {
    await operation;
  } catch (error) {
    if (!isServerAway(error)) throw error;
  }
}

const cancel: Operation = (id) => ifOpen(bench.client.workflow.getHandle(id).cancel());
const terminate: Operation = (id) => ifOpen(bench.client.workflow.getHandle(id).terminate('the test wants it'));

/** A run that is reset goes on by itself: it is ended as well, a moment later. */
function thenEnded(reset: (client: CrashBench['client'], id: string, random: Random) => Promise<boolean>): Operation {
  return async (id, random) => {
    await reset(bench.client, id, random);
    await sleep(random.integer(0, 800));
    await random.pick([cancel, terminate])(id, random);
  };
}

const operations: Record<string, Operation> = {
  cancel,
  terminate,
  'workflow reset': thenEnded(resetToSomeTask),
  'activity reset': thenEnded(resetSomeActivity),
};

async function hasClosed(id: string): Promise<boolean> {
  return (await bench.client.workflow.getHandle(id).describe()).status.name !== 'RUNNING';
}

type Retry = (id: string, options: { askAgain: boolean }) => Promise<void>;

const byCommand: Retry = async (id, { askAgain }) => {
  const running = project.start(['retry', id, '--no-follow', ...(askAgain ? ['--ask-again'] : [])], {
    TEMPORAL_ADDRESS: bench.server.address,
    TEMPORAL_NAMESPACE: bench.server.namespace,
  });
  expect(await running.ended).toMatchObject({ code: 0, out: `${id}\n` });
};

const byClient: Retry = async (id, options) => {
  await perdure.retry(await perdure.get(id), options);
};

describe.concurrent(`perdure retry, seed ${seed}`, { timeout: 120_000 }, () => {
  it.each(Object.keys(operations).flatMap((name) => Array.from({ length: rounds }, (_, round) => ({ name, round }))))(
    'after $name, round $round: the run ends well, with the same keys and no effect twice',
    async ({ name, round }) => {
      const place = Object.keys(operations).indexOf(name) * rounds + round;
      const random = new Random(seed + place);
      const id = `retry-${seed}-${place}`;
      const program = makeProgram(id, random);
      await bench.start(id, program.script);
      await until(async () => (await bench.store.getRun(id)) !== undefined, 'the run has begun');
      await sleep(random.integer(0, 1_500));
      await operations[name]?.(id, random);
      await until(() => hasClosed(id), 'the run has ended', 60_000);
      // One that had its answer before it was disturbed, or in spite of that, is asked for another.
      const { state } = await perdure.describe(await perdure.get(id));
      await (round === 0 ? byCommand : byClient)(id, { askAgain: state === 'completed' });
      await until(() => hasClosed(id), 'the retried run has ended', 60_000);
      const { evidence, violations } = await judge(
        bench,
        { program, workflowId: id, cancelled: false },
        await workflowBundle(),
      );
      expect(violations).toEqual([]);
      expect(evidence.executions.length).toBeGreaterThan(1);
    },
  );
});
