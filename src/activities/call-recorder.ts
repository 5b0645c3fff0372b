import type { Outcome, ResultValue, ToolCall } from '../contract/call.js';
import type { ClassifiedFailure, Failure } from '../contract/failure.js';
import type { Json } from '../contract/json.js';
import type { ManifestTool } from '../contract/manifest.js';
import { failureClasses } from '../policy/failure-classes.js';
import type { LedgerRow } from '../policy/ledger.js';
import { describeFailure } from '../policy/model-message.js';
import { operatorRecord } from '../policy/operator-record.js';
import { renderOutcome } from '../policy/render-outcome.js';
import { normalizeResult } from '../results/normalize-result.js';
import { shapeForModel } from '../results/shape-for-model.js';
import type { RecordedOutcome, RenderedMessage } from '../store/store.js';
import type { Tool } from '../tools/tool.js';
import type { Services } from './services.js';

/** What an outcome is made of besides the failure or the value itself. */
export interface RecorderOptions {
  services: Services;
  input: { call: Omit<ToolCall, 'arguments'>; consecutiveFailures?: number; inlineBytes?: number };
  tool: ManifestTool | undefined;
  live: Tool | undefined;
  /** Names that the model may use, for an unknown tool. */
  toolNames?: string[];
}

/** A result inline in the history up to here, so that the Temporal UI shows what happened; the whole is in the store. */
const defaultInlineBytes = 4_096;

/**
 * Words one call's end for its two readers, from one source: the operator's record and the model's message. What is made
 * here is stored once and never made again, so that a replayed run shows the model the same bytes.
 */
export class CallRecorder {}
