import type { Failure } from './failure.js';
import type { Json, JsonObject } from './json.js';

/** A call's arguments: inline while they are small enough to be read in a history, else a reference to the store. */
export type CallArguments = { inline: JsonObject } | { bodyId: string; preview: string };

/**
 * One tool call, ready to be executed. Made once (in `callModel`, or by `toolExecutor()`), then never changed:
 * every attempt, restart and reset of the call gets the same one.
 */
export interface ToolCall {
  runKey: string;
  /** `c<step>.<index>`, ours; providers' ids may be missing, empty or repeated. */
  callId: string;
  /** The tool's own name (not the one that the provider was shown). */
  tool: string;
  /** Idempotency key: `k1:` and a hash of runKey, callId, tool and digest. */
  key: string;
  /** SHA-256 of the arguments' canonical JSON, hex. */
  digest: string;
  arguments: CallArguments;
}

/** A call as a model turn hands it to the workflow: to be executed, or already answered (bad arguments, unknown tool). */
export type PreparedCall =
  /** `folded` is the call as loop defence compares it; a worker of an older version leaves it out. */
  | { status: 'ready'; call: ToolCall; folded?: string }
  /** `digest` is folded as loop defence compares calls, so that repeated mistakes are seen. */
  | { status: 'answered'; callId: string; digest: string; outcome: Outcome };

/** Fields that every outcome has. */
export interface OutcomeBase {
  callId: string;
  tool: string;
  /** Idempotency key of the call; the rendered message is stored under it. */
  key: string;
  /** Starts of the tool's body, over all attempts and workers. */
  attempts: number;
  /** Time from the first start of the body to the outcome, waits included, in milliseconds. */
  elapsedMs: number;
  /** The tool's measure of what is left to do, where it has one (`progress`). */
  progress?: number;
  /** Set where the workflow itself refused the call: nothing ran, and it is stored with the next model turn. */
  refusedByWorkflow?: true;
  /** Why the workflow refused it; the activity that stores the outcome words it for the model. */
  refusalReason?: string;
}

/** What a call ends with; exactly one per call, recorded before the next model turn. */
export type Outcome =
  | (OutcomeBase & ResultOfCall & { status: 'succeeded'; emptyReason?: string; degraded?: Degraded })
  | (OutcomeBase & ResultOfCall & { status: 'partial'; confidence?: 'low' | 'high' })
  | (OutcomeBase & { status: 'failed' | 'aborted'; failure: Failure })
  | (OutcomeBase & { status: 'pending'; message: string; expectedByMs?: number });

/** The result of a call that gave one. */
export interface ResultOfCall {
  result: ResultValue;
  /** As loop defence compares results; present where the result is long, to spare the workflow the work. Never stored. */
  resultDigest?: string;
}

/** A fallback value's mark: why it is not the real one, and how old it is (epoch milliseconds). */
export interface Degraded {
  reason: string;
  asOfMs?: number;
}

/** A result inline where it is small, else a reference to the whole in the store and a preview. */
export type ResultValue = { inline: Json } | { bodyId: string; bytes: number; preview: string };

/** One answered call, as the next model turn receives it: the rendered message is looked up by key. */
export interface AnsweredCall {
  callId: string;
  key: string;
  /** Present where the workflow itself refused the call, so that nothing is stored under the key yet. */
  refused?: Outcome;
}
