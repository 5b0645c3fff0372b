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
  /** Also the sleeper's own request may arrive, unless its deadline stops it when it wakes up. */
  mayStillSend?: true;
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
      // The stated exception, a stall between the last check and the send: there may be a late effect, never a second one.
      ...[
        { tool: 'once', ended: 'outcome_unknown', starts: 1, arrivals: 0, effects: 0 },
        { tool: 'keyed', ended: 'succeeded', starts: 2, arrivals: 1, effects: 1 },
        { tool: 'once_fenced', ended: 'succeeded', starts: 2, arrivals: 1, effects: 1 },
      ].map((end): Case => ({ ...end, at: 'in-body', says: overslept, mayStillSend: true })),
    ])('$at, calling $tool: $ended after $starts starts', async (expected) => {
      const { tool, at, ended, starts, arrivals, effects, says, mayStillSend } = expected;
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
      const seen = { arrivals: (await oracle.arrivals(tool)).length, effects: await oracle.effects(tool) };
      if (mayStillSend)
        console.info(`a ${tool} body stalled before its send: ${seen.arrivals - arrivals} late requests`);
      if (mayStillSend && seen.arrivals > arrivals) {
        expect(seen).toEqual({ arrivals: arrivals + 1, effects: 1 });
      } else {
        expect(seen).toEqual({ arrivals, effects });
      }
    });
  },
);
