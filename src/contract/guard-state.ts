/** State of a run's guards: JSON of bounded size, carried over continue-as-new. The reducers are in `src/policy`. */

/** What a run does about repeated calls; pinned when it starts. */
export interface LoopPolicy {
  /** Equal calls with equal results that run; the next one is refused. */
  equalCalls: number;
  /**
   * Rounds of one tool that gave one and the same long answer to different arguments; the next one is refused. `null` is no
   * bound. Absent in a run that was started before the rule was there, which goes on without it.
   */
  equalAnswers?: number | null;
  /** Measures of a tool's progress in a row that do not fall; then the run ends. `null` or absent is no bound. */
  stalledRounds?: number | null;
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
  /** Calls in a row that brought nothing new. Absent is 0. */
  stale?: number;
  /** By tool: one and the same answer to different arguments. */
  answers?: Record<string, AnswerStreak>;
}

/** A tool's equal answers in a row. A round is one model turn, whatever the number of its calls. */
export interface AnswerStreak {
  /** Digest of the answer. */
  answer: string;
  /** How much an equal answer says: see `src/policy/same-answers.ts`. */
  weight: 'long' | 'short' | 'failure' | 'refusal';
  rounds: number;
  /** Newest rounds whose arguments only grew or shrank from one to the next. */
  nearRounds: number;
  /** Word digests of the last round's arguments. */
  words: string[];
  /** Effects of other tools at the time of the last round. */
  othersEffects: number;
  refusals: number;
  /** `rounds` when it was last refused: the next round is let through once. */
  refusedAt?: number;
  /** Idempotency key of the first call of the row, whose result is quoted. */
  key: string;
}

/** By tool: what its measure of progress has been. */
export type ProgressState = Record<string, ProgressStreak>;

export interface ProgressStreak {
  best: number;
  last: number;
  /** Rounds in a row that did not fall. */
  rounds: number;
  /** Rounds since `best`. */
  sinceBest: number;
}

/** By tool: failures in a row, and when the last one was (epoch milliseconds, workflow time). */
export type FuseState = Record<string, { failures: number; lastAtMs: number }>;
