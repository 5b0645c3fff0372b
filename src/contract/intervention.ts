import type { Outcome, ToolCall } from './call.js';
import type { FailureClass } from './failure.js';
import type { AgentOrigin, AgentRunResult, CarriedRun } from './run.js';
import type { RunLimits } from './run-limits.js';
import type { LoopPolicy } from './guard-state.js';

/** What a run was started with, cap by cap and default by default: a deployment never changes it, a retry may. */
export interface PinnedRun {
  limits: RunLimits;
  loopPolicy: LoopPolicy;
  /** The run's own choice of model, `provider:model`. */
  model?: string;
  agent?: AgentOrigin;
}

/** A call of the step with which a run goes on. */
export type ResumedCall =
  /** It has its outcome, which the model is shown with the next turn. */
  | { status: 'settled'; callId: string; key: string }
  /** It is executed under its own key: what was done already is returned. */
  | { status: 'open'; call: ToolCall }
  /** Not executed, because an earlier `once` call of the step may or may not have happened. */
  | { status: 'skipped'; call: ToolCall };

/** With what a run goes on, rebuilt from the store alone. */
export interface ResumedRun {
  carried: CarriedRun;
  /** The calls of the last step, in the model's order; absent where all of them are settled. */
  calls?: ResumedCall[];
  /** What the run has met so far, for the new execution's search attributes. */
  seen?: { tools: string[]; classes: FailureClass[] };
  /** The model had answered already; nothing is left but to end the run. */
  answer?: string;
}

/** What a person decided about a run, or had done to it, kept with it for ever. */
export type Intervention = RetryIntervention | ResolutionIntervention | RestartIntervention;

interface InterventionBase {
  id: string;
  by: string;
  note?: string;
  /** Told to the model before its next turn, where it has not seen it otherwise. */
  tell?: string;
}

export interface RetryIntervention extends InterventionBase {
  kind: 'retry';
  /** How the run stood before. */
  former: { status: AgentRunResult['status'] | 'running'; result?: AgentRunResult };
  resumed: ResumedRun;
  reopened: TakenBack[];
  /** Hashes of the tools before and after, where they changed. */
  manifest?: { from: string; to: string };
  askAgain?: true;
}

/** A call that is run again, with the outcome that was taken back where it had one. */
export interface TakenBack {
  callId: string;
  key: string;
  outcome?: Outcome;
}

/** A reset of the parent cancelled this run, an agent's, and started it again. */
export interface RestartIntervention extends InterventionBase {
  kind: 'restart';
  /** Calls that the cancellation had stopped. */
  reopened: TakenBack[];
}

export interface ResolutionIntervention extends InterventionBase {
  kind: 'resolution';
  callId: string;
  key: string;
  happened: boolean;
  /** The outcome that the person's word replaced; absent where the call had none. */
  former?: Outcome;
  /** What the model was shown of that outcome, byte for byte, if it was shown it. */
  formerShown?: string;
}

/** An intervention and when it was made, on the store's clock (epoch milliseconds). */
export type RecordedIntervention = Intervention & { atMs: number };
