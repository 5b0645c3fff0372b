import type { FailureClass } from '../contract/failure.js';

/**
 * What goes wrong with one start of a tool's body:
 * - `class`: the body fails with this failure class. It does not run, unless the class says that the work was done.
 * - `http`: the backend answers with this status instead of running.
 * - `commit-then-no-answer`: the body runs to its end, and its answer is lost on the way back.
 * - `crash-before-effect`, `crash-after-effect`: the worker's process dies by SIGKILL before or after the body.
 * - `slow`: the body starts `ms` milliseconds late.
 * - `oversized`: the body runs, and its result is larger than the tool may return.
 * - `garbage`: the body runs, and its result is text that makes no sense.
 */
export type FaultAction =
  | { kind: 'class'; class: FailureClass }
  | { kind: 'http'; status: number }
  | { kind: 'commit-then-no-answer' | 'crash-before-effect' | 'crash-after-effect' | 'oversized' | 'garbage' }
  | { kind: 'slow'; ms: number };

/** Which of the starts that a fault is for it hits. Starts are counted in one process, from 1. */
export type FaultTiming = { on: 'every' } | { on: 'nth'; nth: number } | { on: 'chance'; probability: number };

/** One fault, checked. */
export interface Fault {
  /** As it was written, e.g. `charge:timeout@3`. */
  text: string;
  /** A tool's name, or `*` for every tool of the configuration. */
  tool: string;
  action: FaultAction;
  timing: FaultTiming;
}

/** The faults of one worker. `seed` makes chance repeatable: equal seeds hit equal starts. */
export interface FaultPlan {
  faults: Fault[];
  seed: number;
}

/** A fault in code: the words of `PERDURE_FAULTS`, or its parts. */
export type FaultOption =
  | string
  | {
      /** A tool's name, or `*`. */
      tool: string;
      /** As in `PERDURE_FAULTS`: a failure class, an HTTP status, `commit-then-no-answer`, `slow(200ms)` … */
      fault: string | number;
      /** The number of the start, `'10%'` of the starts, or `'*'` for each. Default `'*'`. */
      at?: number | string;
    };
