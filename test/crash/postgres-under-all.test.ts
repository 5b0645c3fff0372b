/** One PostgreSQL under both the Temporal server and the store, as docker-compose.yml has it, stopped at once under load. */
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { expect, it } from 'vitest';
import { startComposeStack } from '../support/compose-stack.js';
import { describeCompose } from '../support/describe-compose.js';
import { Witnesses, type RunEvidence } from './harness/evidence.js';
import { isServerAway } from './harness/operations.js';
import { checkLaws } from './harness/laws.js';
import { makeProgram, programOf, type Program } from './harness/program.js';
import { Random } from './harness/random.js';
import { checkReplays } from './harness/replays.js';
import { CrashBench, until, workflowBundle } from './support/crash-bench.js';
import '../support/quiet-runtime.js';

const outages = 2;
const runsEach = 5;
const succeeded = { ended: 'succeeded', starts: 1, effects: 1 };
/** From the last start of PostgreSQL to the end of all runs: the law's 120 s, and the longest timeout of a call here. */
const mostHealMs = 130_000;

describeCompose('PostgreSQL stopped at once under the Temporal server and the store', { timeout: 240_000 }, () => {
  it('with calls of every kind under way: all runs end, the laws hold, and nothing happens twice', async () => {
    await using stack = await startComposeStack();
    const store = { url: stack.environment('worker')['PERDURE_STORE'] ?? '' };
    await using bench = await CrashBench.open({ server: { address: stack.address, namespace: 'default' }, store });
    const workers = await Promise.all([1, 2].map(() => bench.worker([], { toolTimeoutMs: 2_500 })));
    const random = new Random(14);
    const programs: Program[] = [];

    const start = async (program: Program): Promise<void> => {
      programs.push(program);
      await until(() => isStarted(bench, program), `the run ${program.name} is started`);
    };

    for (let outage = 1; outage <= outages; outage += 1) {
      // In flight for certain: two bodies that have done nothing yet, and two whose effect has happened.
      await bench.oracle.mode('once', { type: 'hold', times: 2 });
      await bench.oracle.mode('keyed', { type: 'commit-then-hold', times: 2 });
      const step = [
        { tool: 'once', ...succeeded },
        { tool: 'keyed', ...succeeded },
      ] as const;
      for (const run of [1, 2]) await start(programOf(`outage-${outage}-held-${run}`, [[...step], [...step]]));
      await until(async () => (await bench.oracle.held()) === 4, 'the backend holds four calls');
      const before = await bench.oracle.requests();
      for (let run = 1; run <= runsEach; run += 1) {
        await start(makeProgram(`outage-${outage}-${run}`, random, { steps: 3 }));
      }
      await until(
        async () => (await bench.oracle.requests()).length > before.length + 2,
        'other calls go on beside them',
      );

      const felt = workers.map(({ log }) => log.length);
      await stack.postgres.crash();
      // The bodies end while there is nobody to tell.
      await bench.oracle.release();
      const isFelt = (): boolean =>
        workers.every(({ log }, index) => log.slice(felt[index]).includes('store postgres'));
      await until(isFelt, 'both workers have asked the store in vain');
      await stack.postgres.start();
    }

    const healedAtMs = Date.now();
    for (const { name } of programs) {
      await until(() => hasEnded(bench, name), `the run ${name} has ended`, healedAtMs + mostHealMs - Date.now());
    }
    console.info(`${programs.length} runs had ended ${Date.now() - healedAtMs} ms after PostgreSQL was back`);
    // The same processes: nobody had to start them again.
    expect(workers.map(({ isAlive }) => isAlive)).toEqual([true, true]);

    await using witnesses = await Witnesses.open(bench);
    const evidence: RunEvidence[] = [];
    for (const program of programs) {
      evidence.push(await witnesses.ask({ program, workflowId: program.name, cancelled: false }));
    }
    expect([...evidence.flatMap(checkLaws), ...(await checkReplays(evidence, await workflowBundle()))]).toEqual([]);
  });
});

async function isStarted(bench: CrashBench, { name, script }: Program): Promise<boolean> {
  try {
    await bench.start(name, script);
    return true;
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError) return true;
    if (isServerAway(error)) return false;
    throw error;
  }
}

async function hasEnded({ client }: CrashBench, workflowId: string): Promise<boolean> {
  try {
    const { status } = await client.workflow.getHandle(workflowId).describe();
    return status.name !== 'RUNNING' && status.name !== 'CONTINUED_AS_NEW';
  } catch (error) {
    // What an operator would ask again: the server itself has to find its database first.
    if (isServerAway(error)) return false;
    throw error;
  }
}
