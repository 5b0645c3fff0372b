/** Two builds: this one, and the next, whose workflow takes another course behind `patched`. */
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { plantEdits } from './harness/planted-bugs.js';
import { Witnesses } from './harness/evidence.js';
import { checkLaws } from './harness/laws.js';
import { programOf } from './harness/program.js';
import { checkReplays } from './harness/replays.js';
import { CrashBench, until, workflowBundle, type CrashWorker } from './support/crash-bench.js';
import '../support/quiet-runtime.js';

const nextBuild = [
  {
    from: 'import { CancellationScope, continueAsNew, patched, workflowInfo } from',
    to: 'import { CancellationScope, continueAsNew, patched, sleep, workflowInfo } from',
  },
  {
    from: 'const outcomes = await executeCalls(calls, run.stepContext());',
    to: "if (patched('next-build')) await sleep(1);\n    const outcomes = await executeCalls(calls, run.stepContext());",
  },
];

describe('an upgrade in the middle of a run', { timeout: 120_000 }, () => {
  it('goes on with the new build; rolled back it parks, and rolled forward it ends with nothing lost or doubled', async () => {
    await using bench = await CrashBench.open();
    await using next = await plantEdits(nextBuild);
    const builds = { old: await workflowBundle(), next: await workflowBundle(next.sources) };
    const step = { tool: 'keyed', ended: 'succeeded', starts: 1, effects: 1 } as const;
    const program = programOf(`upgrade-${bench.taskQueue}`, [[step], [step], [step], [step]]);
    let worker: CrashWorker | undefined;
    /** Kills the worker there is, whose call the backend holds, and starts one of the build: its call runs again there. */
    const deploy = async (build: keyof typeof builds): Promise<void> => {
      worker?.signal('SIGKILL');
      await worker?.ended();
      await bench.oracle.release();
      // The call that runs again is answered, the next one is held.
      if (build === 'next') await bench.oracle.mode('keyed', { type: 'hold', after: 1, times: 1 });
      worker = await bench.worker([], { bundlePath: builds[build] });
    };
    const held = (): Promise<void> => until(async () => (await bench.oracle.held()) === 1, 'the next call is held');
    await deploy('old');
    await bench.oracle.mode('keyed', { type: 'hold', after: 1, times: 1 });
    const run = await bench.start(program.name, program.script);
    await held();
    // In its second step; the third takes the new build's course.
    await deploy('next');
    await held();
    await deploy('old');
    await sleep(4_000);
    // Parked: its workflow task fails, and is offered again and again.
    expect((await run.handle.describe()).status.name).toBe('RUNNING');
    expect(await bench.oracle.effects('keyed')).toBeLessThan(4);
    await deploy('next');
    await bench.oracle.release();
    expect(await run.result()).toMatchObject({ status: 'completed', counters: { steps: 5, calls: 4 } });
    await using witnesses = await Witnesses.open(bench);
    const evidence = await witnesses.ask({ program, workflowId: program.name, cancelled: false });
    expect([...checkLaws(evidence), ...(await checkReplays([evidence], builds.next))]).toEqual([]);
  });
});
