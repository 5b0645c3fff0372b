import type { AnsweredCall } from './call.js';
import type { FuseState, LoopPolicy, LoopState, ProgressState } from './guard-state.js';
import type { ResumeRequest } from './resume-request.js';
import type { ManifestSummary } from './manifest.js';
import type { RunLimits } from './run-limits.js';

/** What a run has used so far. Only ever grows; carried over continue-as-new. */
export interface RunCounters {
  steps: number;
  calls: number;
  inputTokens: number;
  outputTokens: number;
  costUsd: number;
  failures: number;
}

/** Why a run ended. `answered`: the model gave its answer; the others end it from outside the model. */
export type TerminationReason =
  | 'answered'
  | 'steps_cap'
  | 'calls_cap'
  | 'tokens_cap'
  | 'cost_cap'
  | 'wall_time_cap'
  | 'failures_cap'
  | 'empty_turns'
  | 'security_violation'
  | 'loop_detected'
  | 'no_progress'
  | 'model_failed'
  | 'cancelled';

/** `completed`: the model answered; `capped`: a limit ended it, with a last answer; the others as named. */
export type RunStatus = 'running' | 'completed' | 'capped' | 'failed' | 'cancelled';

/** Where a child run comes from: it is one call of an agent tool. */
export interface AgentOrigin {
  /** Name of the agent tool: its instructions, its model and its tools are the run's. */
  tool: string;
  /** 1 for a child of the first run. */
  depth: number;
  /** Hash of the first run's manifest, from which every agent below it takes its tools. */
  catalogue: string;
}

/** Input of `agentRun`. Constant in size, whatever the conversation's length. */
export interface AgentRunInput {
  task: string;
  /** The run's identity in every key; made by the client at start, and by nobody else later. */
  runKey?: string;
  /** Limits that override the configuration's, cap by cap. */
  limits?: Partial<RunLimits>;
  /** Name of the model to use instead of the configuration's. */
  model?: string;
  /** Present where the run is a call of an agent tool. */
  agent?: AgentOrigin;
  /** Present where the run goes on after it ended badly (`perdure retry`). */
  resume?: ResumeRequest;
  /** Present after continue-as-new only. */
  carried?: CarriedRun;
}

/** A call that has its place in a run's counters: asked for again under the same key, it is not counted a second time. */
export interface PaidCall {
  key: string;
  /** It failed, and keeps that outcome. */
  failed?: true;
  /** What the agent that the call stands for had used. */
  agent?: RunCounters;
}

/** Everything that a run carries over continue-as-new. */
export interface CarriedRun {
  storeId: string;
  manifest: ManifestSummary;
  limits: RunLimits;
  counters: RunCounters;
  /** Epoch milliseconds of the run's first start, workflow time. */
  startedAtMs: number;
  /** Node that the conversation has reached. */
  head: string;
  /** The last step's outcomes, not yet shown to the model. */
  answered: AnsweredCall[];
  /** Whether the run may write search attributes; decided once, at start. */
  searchAttributes: boolean;
  heartbeatTimeoutMs: number;
  seenTools: string[];
  seenFailureClasses: string[];
  /** Failures in a row by tool name; absent is 0. */
  consecutiveFailures: Record<string, number>;
  /** Tools whose emphasis the model has been given since their last success. */
  emphasised: string[];
  loopPolicy: LoopPolicy;
  loop: LoopState;
  fuse: FuseState;
  /** Which question comes next, where it is one that was asked before (`ask again`). */
  nextTurn?: { step: number; take: number };
  /** Calls of the turns that this question had before: what the counters hold for them already. */
  paid?: PaidCall[];
  /** Absent until a tool has measured its progress. */
  progress?: ProgressState;
}

/** Result of `agentRun`: it always says why it ended. */
export interface AgentRunResult {
  status: Exclude<RunStatus, 'running'>;
  /** The model's final answer; `''` where it gave none. */
  answer: string;
  termination: { reason: TerminationReason; summary: string };
  counters: RunCounters;
}
