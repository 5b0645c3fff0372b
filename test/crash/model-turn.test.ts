import { describe, expect, it } from 'vitest';
import { CrashBench } from './support/crash-bench.js';

describe.concurrent('a worker killed in a model turn', { timeout: 60_000 }, () => {
  it('after the answer and before its commit: the model is asked again', async () => {
    await using bench = await CrashBench.open();
    const doomed = await bench.worker([{ at: 'model-answered', action: 'kill' }]);
    const run = await bench.runCalls('keyed');
    await doomed.ended();
    const heir = await bench.worker();
    expect(await run.result()).toMatchObject({
      status: 'completed',
      answer: 'all done',
      counters: { steps: 2, calls: 1 },
    });
    expect(heir.asked).toEqual([0, 1]);
    expect(await bench.oracle.effects('keyed')).toBe(1);
  });

  it('after the commit: the stored answer is taken, and counted once', async () => {
    await using bench = await CrashBench.open();
    const doomed = await bench.worker([{ at: 'turn-committed', action: 'kill' }]);
    const run = await bench.runCalls('keyed');
    await doomed.ended();
    const heir = await bench.worker();
    expect(await run.result()).toMatchObject({
      status: 'completed',
      answer: 'all done',
      counters: { steps: 2, calls: 1 },
    });
    expect(heir.asked).toEqual([1]);
    expect(await bench.store.listTurns(run.runKey)).toHaveLength(2);
  });

  it('five times over: the turn is still answered in the end', async () => {
    await using bench = await CrashBench.open();
    const run = await bench.run([{ text: 'all done' }]);
    for (let kill = 0; kill < 5; kill += 1) {
      await (await bench.worker([{ at: 'model-answered', action: 'kill' }])).ended();
    }
    await bench.worker();
    expect(await run.result()).toMatchObject({ status: 'completed', answer: 'all done' });
  });
});
