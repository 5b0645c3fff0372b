/** What people write configurations and tools with, and start runs with. Workers and workflows have their own entries. */
export { Perdure, type ConnectOptions, type StartOptions } from './client/perdure-client.js';
export { PerdureError, type PerdureErrorCode } from './client/perdure-error.js';
export type {
  CallDescription,
  CallState,
  InterventionDescription,
  RunDescription,
  RunState,
  RunSummary,
  StepDescription,
} from './client/run-description.js';
export type { FailurePair, StatsOptions } from './client/failure-records.js';
export type { RunHandle } from './client/run-handle.js';
export type { ListOptions, TranscriptEntry, UnansweredServer } from './client/run-reader.js';
export type { RetryOptions, RetryPlan } from './client/run-retry.js';
export type { PendingWork, ServerEvent, ServerRun, ServerStatus } from './client/run-server.js';
export type { ResolveOptions } from './client/call-resolution.js';
export type { RecordedExecution } from './replay/recorded-execution.js';
export { ConfigError } from './config/config-error.js';
export type { AiSdkModel, ModelChoice } from './models/model-choice.js';
export type { PerdureConfig, ResolvedConfig, WorkerVersioning } from './config/config.js';
export { defineConfig } from './config/define-config.js';
export { loadConfig } from './config/load-config.js';
export type { Degraded, Outcome, OutcomeBase, ResultOfCall, ResultValue } from './contract/call.js';
export type { Effect, EffectState } from './contract/effect.js';
export type { Failure, FailureClass, FailureFamily, FailureTexts, Suggestion, Violation } from './contract/failure.js';
export type { Json, JsonObject } from './contract/json.js';
export type { AgentRunResult, RunCounters, RunStatus, TerminationReason } from './contract/run.js';
export type { AgentSpec, ManifestTool, RetryOverride, RetryOwner, ToolPolicy } from './contract/manifest.js';
export type { BreakerLimits, LimiterLimits, RetryBudgetLimits } from './contract/shared-limits.js';
export type { RunLimits } from './contract/run-limits.js';
export type { AttachmentRef, RecordedCall, TranscriptMessage, TurnUsage } from './contract/transcript.js';
export type { FaultOption } from './faults/fault.js';
export type { Model, ModelReply, ModelRequest, OfferedTool, RawToolCall } from './models/model.js';
export { failureDigest } from './policy/failure-digest.js';
export { failureProtocol } from './policy/failure-protocol.js';
export type { LedgerState } from './contract/ledger.js';
export { renderOutcome, type RenderContext } from './policy/render-outcome.js';
export { agentAsTool, type AgentToolOptions } from './tools/agent-tool.js';
export type { CallFigures, FailureCount, FailureFigures, ToolFigures } from './stats/failure-stats.js';
export type { HiddenRetryFigures } from './stats/retry-owners.js';
export type { RetriedRequest, SeenRequests } from './contract/seen-requests.js';
export type { PostgresTls } from './store/postgres-address.js';
export type { BlobChoice, PostgresChoice, S3Choice, SqliteChoice, StoreChoice } from './store/store-choice.js';
export type { AttemptRecord } from './store/records.js';
export { defineTool } from './tools/define-tool.js';
export { HttpAnswerError, HttpRequestError } from './tools/http-errors.js';
export { httpTool, type HttpMethod, type HttpQuery, type HttpToolOptions } from './tools/http-tool.js';
export {
  degraded,
  empty,
  partial,
  type DegradedResult,
  type EmptyResult,
  type PartialResult,
} from './tools/results.js';
export { ToolError, type ToolErrorOptions } from './tools/tool-error.js';
export type {
  DeclaredFailure,
  Duration,
  Reconciled,
  RetryOption,
  Tool,
  ToolContext,
  ToolLog,
  ToolOptions,
  ToolReturn,
  ToolSchema,
} from './tools/tool.js';
