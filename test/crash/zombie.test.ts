import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { CrashBench, until } from './support/crash-bench.js';
import { callEnd, ending } from './support/endings.js';
import type { Moment } from './support/failpoints.js';

interface Case {
  tool: string;
  at: Moment;
  ended: string;
  starts: number;
  arrivals: number;
  effects: number;
  /** What the woken worker says of its late attempt. */
  says: string;
}

const late = 'a late result was not recorded';
const overslept = 'failpoint';

describe.concurrent(
  'a worker stopped past its lease and woken up after another has taken over',
  { timeout: 120_000 },
  () => {
    it.each<Case>([
      { at: 'claimed', tool: 'keyed', ended: 'succeeded', starts: 1, arrivals: 1, effects: 1, says: overslept },
      { at: 'claimed', tool: 'once', ended: 'succeeded', starts: 1, arrivals: 1, effects: 1, says: overslept },
      { at: 'confirmed', tool: 'once', ended: 'succeeded', starts: 1, arrivals: 1, effects: 1, says: overslept },
      { at: 'begun', tool: 'keyed', ended: 'succeeded', starts: 2, arrivals: 1, effects: 1, says: overslept },
      { at: 'begun', tool: 'once', ended: 'outcome_unknown', starts: 1, arrivals: 0, effects: 0, says: overslept },
      { at: 'begun', tool: 'once_fenced', ended: 'succeeded', starts: 2, arrivals: 1, effects: 1, says: overslept },
      { at: 'answered', tool: 'read', ended: 'succeeded', starts: 2, arrivals: 2, effects: 2, says: late },
      { at: 'answered', tool: 'keyed', ended: 'succeeded', starts: 2, arrivals: 2, effects: 1, says: late },
      { at: 'answered', tool: 'once', ended: 'outcome_unknown', starts: 1, arrivals: 1, effects: 1, says: late },
      { at: 'answered', tool: 'once_found', ended: 'succeeded', starts: 1, arrivals: 1, effects: 1, says: late },
      {
        at: 'reconciling',
        tool: 'once_found',
        ended: 'outcome_unknown',
        starts: 1,
        arrivals: 0,
        effects: 0,
        says: overslept,
      },
    ])('$at, calling $tool: $ended after $starts starts', async (expected) => {
      const { tool, at, ended, starts, arrivals, effects, says } = expected;
      await using bench = await CrashBench.open();
      const run = await bench.runCalls(tool);
      // Only who inherits a call whose worker died has something to reconcile.
      if (at === 'reconciling') await (await bench.worker([{ at: 'begun', tool, action: 'kill' }])).ended();
      const sleeper = await bench.sleeper({ at, tool, action: 'stop' });
      await sleeper.stopped();
      const heir = await bench.worker();
      expect((await run.result()).status).toBe('completed');
      const before = await run.calls();
      sleeper.signal('SIGCONT');
      await sleeper.reached(says);
      const { oracle } = bench;
      await until(async () => (await oracle.arrivals(tool)).length >= arrivals, 'the backend has all requests');
      // What it still has to do it does at once; an orderly end would wait for its polls, up to a minute.
      await sleep(1_500);
      expect(sleeper.isAlive).toBe(true);
      expect(heir.isAlive).toBe(true);
      // Nothing that the sleeper did when it woke up has changed what was recorded.
      expect((await run.calls()).map(({ row, rendered }) => ({ row, rendered }))).toEqual(
        before.map(({ row, rendered }) => ({ row, rendered })),
      );
      expect(await callEnd(run)).toEqual(ending(ended, starts));
      expect({ arrivals: (await oracle.arrivals(tool)).length, effects: await oracle.effects(tool) }).toEqual({
        arrivals,
        effects,
      });
    });
  },
);
