/** State of a run's guards: JSON of bounded size, carried over continue-as-new. The reducers are in `src/policy`. */

/** What a run does about repeated calls; pinned when it starts. */
export interface LoopPolicy {
  /** Equal calls with equal results that run; the next one is refused. */
  equalCalls: number;
  /** A model that goes on after refusals: `stop` ends the run, `model` keeps refusing. */
  onExhausted: 'stop' | 'model';
}

/** A call as loop defence remembers it. */
export interface SeenCall {
  digest: string;
  tool: string;
  /** Equal results in a row. */
  times: number;
  result: string;
  /** Effects of other tools at the time of the last run. */
  othersEffects: number;
  refusals: number;
  /** Idempotency key of the first call of the row, whose result is quoted. */
  key: string;
}

export interface LoopState {
  /** The call seen last is last. */
  seen: SeenCall[];
  /** The newest calls with their results, oldest first. */
  tail: { digest: string; result: string }[];
  effects: number;
  effectsByTool: Record<string, number>;
  refusals: number;
}

/** By tool: failures in a row, and when the last one was (epoch milliseconds, workflow time). */
export type FuseState = Record<string, { failures: number; lastAtMs: number }>;
