import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec';
import type { Failure, FailureClass, FailureTexts, Suggestion, Violation } from '../contract/failure.js';
import type { JsonObject } from '../contract/json.js';
import type { ManifestTool, RetryOverride, RetryOwner } from '../contract/manifest.js';
import type { ModelChoice } from '../models/model-choice.js';
import type { DegradedResult, EmptyResult, PartialResult } from './results.js';

/** A duration in configuration: milliseconds, or `'250ms'`, `'30s'`, `'5m'`, `'2h'`, `'7d'`. */
export type Duration = number | string;

/**
 * Zod 4, any Standard Schema that also gives a JSON Schema, or a plain JSON Schema object. `Given` is what the schema
 * takes, `Output` what it makes of it.
 */
export type ToolSchema<Output, Given = unknown> =
  (StandardSchemaV1<Given, Output> & StandardJSONSchemaV1<Given, Output>) | JsonObject;

/** What a body may return: its output, or a value of `degraded()`, `partial()` or `empty()`. */
export type ToolReturn<Output> = Output | DegradedResult<Output> | PartialResult | EmptyResult;

/** A class's retry override as it is written in configuration. */
export type RetryOption = Omit<RetryOverride, 'baseDelayMs' | 'maxDelayMs'> & {
  baseDelayMs?: Duration;
  maxDelayMs?: Duration;
};

/** What a tool's body is given besides its arguments. */
export interface ToolContext {
  /** Equal for every attempt of this call, different for every other call. Send it to the backend. */
  readonly idempotencyKey: string;
  /** 1 for the first start of the body. */
  readonly attempt: number;
  readonly callId: string;
  /** The run's workflow id. */
  readonly runId: string;
  /** Aborted at the deadline, on cancellation, and when this attempt has lost its claim. Pass it to every request. */
  readonly signal: AbortSignal;
  /** When this attempt must have ended, epoch milliseconds. */
  readonly deadline: number;
  /** Set while the call holds an `exclusive` lock: each later holder of the same key has a higher number. */
  readonly fencingToken?: number;
  /** Tells watchers how far the call is; never awaited, never fails. */
  progress(message: string): void;
  /**
   * Tells how many attempts of this start the backend saw, where its answer says so (the AWS SDK's `$metadata.attempts`, a
   * header): `perdure doctor` compares it with the attempts that were made. Needed only for clients whose requests Node does
   * not see: native ones, HTTP/2, other processes. Several counts are added up. Throws `TypeError` on no whole number.
   */
  seenByBackend(attempts: number): void;
  readonly log: ToolLog;
  /** Runs a side matter whose failure is logged and does not touch the call's outcome. */
  bestEffort<T>(name: string, run: () => Promise<T> | T): Promise<T | undefined>;
}

/** The operator's log. Fields are redacted as all that is logged; nothing here fails or is awaited. */
export interface ToolLog {
  /** For whoever writes the tool. */
  debug(message: string, fields?: Record<string, unknown>): void;
  /** What happened. */
  info(message: string, fields?: Record<string, unknown>): void;
  /** Somebody should know. */
  warn(message: string, fields?: Record<string, unknown>): void;
  /** Somebody has to act. */
  error(message: string, fields?: Record<string, unknown>): void;
}

/** How a tool finds out what became of a start whose answer was lost. */
export type Reconciled<Output> =
  /** It happened; this is its result. */
  | { done: true; result: Output }
  /** It did not happen. Only with `fenced` (the backend will refuse a late arrival) may it run again. */
  | { none: true; fenced?: boolean };

/** What `isFailure` may answer of a result that is really a refusal. */
export interface DeclaredFailure {
  class: FailureClass;
  /** The backend's own words, for the model. */
  message: string;
  /** What the refused attempt left behind. Default `none` for an explicit refusal. */
  effect?: 'none' | 'done' | 'unknown';
  hint?: string;
  alternatives?: string[];
  retryAfterMs?: number;
}

/** Everything that a tool may say of itself. `Given` is the JSON that a model writes, `Input` what the schema makes of it. */
export interface ToolOptions<Input, Output, Given = Input> {
  name: string;
  description: string;
  input: ToolSchema<Input, Given>;
  output?: ToolSchema<Output>;
  /** What running it twice does. Default `once`: never run again after a lost answer. */
  effect?: 'read' | 'once' | { idempotent: 'key'; keyTtlMs?: Duration } | { idempotent: 'nature' };
  /** The body. What it returns is the result; what it throws is classified. It must not retry by itself. */
  execute(input: Input, ctx: ToolContext): Promise<ToolReturn<Output>> | ToolReturn<Output>;
  /** Finds out what became of a start whose answer was lost. `undefined`: it cannot tell. Asked with the call's own arguments and key. */
  reconcile?(input: Input, ctx: ToolContext): Promise<Reconciled<Output> | undefined> | Reconciled<Output> | undefined;
  /** Renews credentials after a 401; called at most once a call, and once at a time. */
  refresh?(ctx: ToolContext): Promise<void> | void;
  /** One attempt's deadline. Default 30 s. */
  timeoutMs?: Duration;
  /** Deadline over all attempts and waits. Default 2 min, 10 s with `latency: 'interactive'`; never below `timeoutMs`. */
  budgetMs?: Duration;
  latency?: 'interactive' | 'background';
  retry?: Partial<Record<FailureClass, RetryOwner | RetryOption>>;
  /** Promotes a "success" that is a refusal. Called with every result before anything else looks at it. */
  isFailure?(result: Output): DeclaredFailure | false | undefined;
  /** Adds to what the model is told of one failure. Must not have effects; what it throws is logged and left out. */
  suggest?(input: Input, failure: Failure): Suggestion | undefined;
  /**
   * Measures what is left to do, in a number that falls as the work gets on: failing tests, open findings; 0 is done. Given
   * the result, or the text of a failure. A run in which it does not fall is ended (`loop.stalledRounds`); `undefined`, or
   * a function that throws, measures nothing.
   */
  progress?(answer: unknown, input: Input): number | undefined;
  /** Correct arguments, quoted to the model in validation messages. */
  examples?: NoInfer<Given>[];
  /** For people who maintain the tool; never sent anywhere. */
  notes?: string;
  /** Names of equivalent tools. Offered to the model, never used silently. */
  alternatives?: string[];
  polling?: boolean;
  eventuallyConsistent?: boolean;
  /**
   * Switches the tool off for `coolDownMs` after `failures` calls in a row that failed, or twice as many failed attempts,
   * for all runs and workers. Default 5 failures, 30 s; `false` is no breaker.
   */
  breaker?: false | { failures?: number; windowMs?: Duration; coolDownMs?: Duration };
  /** A breaker of its own for each key, where one tool reaches several backends. Default: one for the tool. */
  breakerKey?(input: Input): string;
  /** Limits over all runs and workers. Default none. */
  limiter?: { requestsPerMinute?: number; tokensPerMinute?: number; concurrency?: number };
  /**
   * Retries that the tool has over all runs and workers: `tokens` when full, `perSuccess` and `perMinute` put back.
   * Default 100, 0.2 and 10; `false` is no bound.
   */
  retryBudget?: false | { tokens?: number; perSuccess?: number; perMinute?: number };
  /**
   * Calls with the same key run one at a time, across runs, workers and tools; `undefined` takes no lock. The lock is a
   * lease: send `ctx.fencingToken` to a backend that can refuse a lower one than it has seen.
   */
  exclusive?(input: Input): string | undefined;
  taskQueue?: string;
  maxOutputBytes?: number;
  failureOutput?: 'summary' | 'verbatim';
  errors?: 'redacted' | 'public';
  /** Texts for the model in the tool's own language, by class. `{reason}`, `{tool}` and `{attempts}` are filled in. */
  messages?: FailureTexts;
}

/**
 * A tool as the executor runs it, whatever its source (function, HTTP, MCP, built-in). Made by `defineTool`,
 * `httpTool` and the other sources.
 */
export interface Tool {
  /** The manifest entry without the provider-facing name, which is given to all tools together. */
  readonly definition: Omit<ManifestTool, 'modelName'>;
  /** Where the tool comes from; `function` may have sent several requests, `http` sends exactly one. */
  readonly source: 'function' | 'http' | 'mcp' | 'builtin';
  /** Checks and converts validated JSON into what the body takes (refinements, transforms). Never throws. */
  parse(args: JsonObject): Promise<{ ok: true; value: unknown } | { ok: false; violations: Violation[] }>;
  /** The body, given what `parse` made of the arguments. Rejects with whatever the tool threw. */
  execute(value: unknown, ctx: ToolContext): Promise<unknown>;
  /** As `ToolOptions.reconcile`; absent where the tool cannot tell. */
  reconcile?(value: unknown, ctx: ToolContext): Promise<Reconciled<unknown> | undefined>;
  /** Renews credentials; absent where the tool has none to renew. */
  refresh?(ctx: ToolContext): Promise<void>;
  /** Finds a refusal in a result; throws what the tool's own function throws. */
  isFailure?(result: unknown): DeclaredFailure | false | undefined;
  /** As `ToolOptions.suggest`. */
  suggest?(value: unknown, failure: Failure): Suggestion | undefined;
  /** What is left to do, by the tool's own measure; throws what the tool's own function throws. */
  progress?(answer: unknown, value: unknown): number | undefined;
  /** Key of the lock that a call with this value needs; throws what the tool's own function throws. */
  exclusive?(value: unknown): string | undefined;
  /** Key of the breaker that a call with this value belongs to; throws what the tool's own function throws. */
  breakerKey?(value: unknown): string;
  readonly messages?: FailureTexts;
  /** Present where the tool is an agent (`agentAsTool`): then `execute` is never called. */
  readonly agent?: LiveAgent;
}

/** What a worker needs of an agent tool besides what the run has pinned. */
export interface LiveAgent {
  /** Words the child's task from the call's arguments. */
  task(value: unknown): string;
  instructions?: string;
  model?: ModelChoice;
}
