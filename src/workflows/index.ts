/** `perdure/workflow`: what runs inside a Temporal workflow. Free of I/O and of worker code. */
// For people's own loops: how to tell a model of outcomes, one by one and all together.
export { failureDigest } from '../policy/failure-digest.js';
export { failureProtocol } from '../policy/failure-protocol.js';
export { renderOutcome } from '../policy/render-outcome.js';
export { agentRun } from './agent-run.js';
export { toolExecutor } from './tool-executor.js';
export type { ToolExecutor, ToolExecutorOptions, ToolExecutorState } from './tool-executor.js';
export type { Outcome } from '../contract/call.js';
export type { Failure, FailureClass } from '../contract/failure.js';
export type { AgentRunInput, AgentRunResult } from '../contract/run.js';
