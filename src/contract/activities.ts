import type { AnsweredCall, Outcome, PreparedCall, ToolCall } from './call.js';
import type { LoopPolicy } from './guard-state.js';
import type { ResumedRun } from './intervention.js';
import type { ResumeRequest } from './resume-request.js';
import type { ManifestSummary } from './manifest.js';
import type { AgentOrigin, AgentRunResult, RunCounters } from './run.js';
import type { RunLimits } from './run-limits.js';
import type { TurnUsage } from './transcript.js';

/**
 * After how much silence the worker of a bookkeeping activity (`startRun`, `settleCall`, `finishRun`) is taken for dead,
 * milliseconds. They take milliseconds and may be repeated; without heartbeats a lost one cost its whole minute.
 */
export const bookkeepingHeartbeatTimeoutMs = 3_000;

/** Input of the `startRun` activity: pins the tools, writes the run's root. */
export interface StartRunInput {
  runKey: string;
  workflowId: string;
  /** The user's task; absent for `toolExecutor()`, which has no conversation. */
  task?: string;
  limits?: Partial<RunLimits>;
  model?: string;
  agent?: AgentOrigin;
}

/** Input of the `resumeRun` activity: rebuilds a run from the store, pins today's tools, has failed calls run again. */
export interface ResumeRunInput extends StartRunInput {
  resume: ResumeRequest;
}

export interface StartRunResult {
  storeId: string;
  manifest: ManifestSummary;
  limits: RunLimits;
  loopPolicy: LoopPolicy;
  /** Node of the user's task; `''` for `toolExecutor()`. */
  head: string;
  searchAttributes: boolean;
  heartbeatTimeoutMs: number;
}

/** Input of the `callModel` activity. Constant in size. */
export interface CallModelInput {
  runKey: string;
  storeId: string;
  step: number;
  /** 0, raised where the same question is asked again on purpose. */
  take: number;
  head: string;
  manifestHash: string;
  model?: string;
  /** Name of the agent tool whose instructions and model these are; absent in a run that is no agent's. */
  agent?: string;
  /** Outcomes of the previous turn's calls, in the model's order. */
  answered: AnsweredCall[];
  /** Emphasis for the system message: tools that failed repeatedly. */
  emphasis?: { tool: string; failures: number }[];
  /** Set where the former take of this turn could not be used; the model is told why it is asked again. */
  nudge?: Nudge;
  /** Set on the last turn: no tools are offered, and the reason is told. */
  finalTurn?: { reason: string };
}

/** What was wrong with a turn that is asked for once more. */
export type Nudge = 'empty' | 'textual_call';

export interface CallModelResult {
  /** Node of the assistant's message. */
  head: string;
  calls: PreparedCall[];
  usage: TurnUsage;
  /** Preview of the assistant's text, at most 4 KB; the whole is in the transcript. */
  text: string;
  /** True where the turn had neither text nor calls. */
  empty: boolean;
  /** True on the last turn at a cap, which is no step of the budget. */
  finalTurn?: true;
  /** True where the text is a tool call that the model wrote down instead of making it; it is never run. */
  textualCall?: true;
}

/** Input of the `callTool` activity. */
export interface CallToolInput {
  call: ToolCall;
  storeId: string;
  /** Node of the step that asked for the call; it must be found in the store before anything runs. `''` for `toolExecutor()`. */
  stepNode: string;
  manifestHash: string;
  /** Failures in a row of this tool before this call; told to the model. */
  consecutiveFailures?: number;
  /**
   * Set where an equal call ran before in this run: its key, and how often. With `otherArguments` it is a call of the same
   * tool whose answer has been the same that often, whatever was asked.
   */
  repeatOf?: { key: string; times: number; otherArguments?: true };
  /** True where the arguments were not validated yet (`toolExecutor()`). */
  validate?: true;
  /** How many bytes of JSON a result may have to be returned inline. Default 4096. */
  inlineBytes?: number;
}

/** Input of the `settleCall` activity: reads the ledger row, or seals it so that a late result changes nothing. */
export interface SettleCallInput {
  call: ToolCall;
  storeId: string;
  manifestHash: string;
  reason: 'cancelled' | 'timeout';
}

/** The activities of a run, as the workflow sees them. Each returns JSON, or throws one Temporal failure made by the mapper. */
export interface RunActivities {
  startRun(input: StartRunInput): Promise<StartRunResult>;
  resumeRun(input: ResumeRunInput): Promise<ResumedRun>;
  callModel(input: CallModelInput): Promise<CallModelResult>;
  callTool(input: CallToolInput): Promise<Outcome>;
  settleCall(input: SettleCallInput): Promise<Outcome>;
  finishRun(input: FinishRunInput): Promise<void>;
  openAgentCall(input: OpenAgentCallInput): Promise<AgentCallOpening>;
  closeAgentCall(input: CloseAgentCallInput): Promise<AgentCallEnd>;
  endFormerAgent(input: EndFormerAgentInput): Promise<{ ended: boolean }>;
}

/** Input of the `openAgentCall` activity: words the child's task and counts the start of the call. */
export interface OpenAgentCallInput extends CallToolInput {
  /** The child run's identity. */
  childRunKey: string;
}

/** `settled`: the call has its outcome (recorded earlier, or refused for its arguments); no child is started. */
export type AgentCallOpening = ({ status: 'settled' } & AgentCallEnd) | { status: 'ready'; task: string };

/** How a child workflow ended. */
export type ChildEnd =
  { kind: 'ended'; result: AgentRunResult } | { kind: 'cancelled' } | { kind: 'failed'; reason: string };

/** Input of the `closeAgentCall` activity: makes the call's outcome of the child's end, renders and records it. */
export interface CloseAgentCallInput extends OpenAgentCallInput {
  end: ChildEnd;
}

export interface AgentCallEnd {
  outcome: Outcome;
  /** All that the child has used so far, its own children's included. */
  used: RunCounters;
}

/** Input of the `endFormerAgent` activity: cancels a child that an earlier course of this run left going, and waits. */
export interface EndFormerAgentInput {
  workflowId: string;
  /** `ended` is false, and nothing is touched, where the workflow of this id is another run. */
  runKey: string;
}

/** Input of the `finishRun` activity: writes the run's end into its root, so that closed runs are shown from the store. */
export interface FinishRunInput {
  runKey: string;
  storeId: string;
  result: AgentRunResult;
  /**
   * Node of the model turn whose words the result holds: a reset may have brought the execution back to it after another one
   * took the run's conversation elsewhere. Absent where the end rests on no turn; the conversation stays where it is then.
   */
  head?: string;
  /** Outcomes of the last step that no model turn has taken up; those that the workflow refused are stored now. */
  answered: AnsweredCall[];
}
