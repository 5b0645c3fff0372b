import type { StartRunResult } from '../contract/activities.js';
import type { CarriedRun } from '../contract/run.js';
import { noLoop } from './loop-defence.js';
import { noCounters } from './run-budget.js';

/** What a run knows when it begins. */
export function newRun(started: StartRunResult, startedAtMs: number): CarriedRun {
  return {
    ...started,
    counters: { ...noCounters },
    startedAtMs,
    answered: [],
    seenTools: [],
    seenFailureClasses: [],
    consecutiveFailures: {},
    emphasised: [],
    loop: noLoop,
    fuse: {},
  };
}
