import type { JsonObject } from '../contract/json.js';
import type { TranscriptMessage } from '../contract/transcript.js';

/** A tool as a provider is shown it. */
export interface OfferedTool {
  modelName: string;
  description: string;
  inputSchema: JsonObject;
}

/** One question to a model. */
export interface ModelRequest {
  system: string;
  /** The conversation from the root on, system messages excluded. To be read while `complete` runs: it grows with the run. */
  messages: TranscriptMessage[];
  /** Empty on the last turn. */
  tools: OfferedTool[];
  /** Aborted when the run is cancelled or the turn's deadline passes; the request must then reject. */
  signal: AbortSignal;
  /** Bytes of an attachment. */
  loadBody: (bodyId: string) => Promise<Uint8Array | undefined>;
}

/** A tool call exactly as the provider sent it: nothing repaired, nothing parsed. */
export interface RawToolCall {
  providerCallId: string | null | undefined;
  modelName: string;
  rawArguments: string;
}

/** One answer of a model, as the provider gave it: nothing repaired. */
export interface ModelReply {
  text: string;
  calls: RawToolCall[];
  /** The provider's reason, unified: the loop looks at the calls, never at this alone. `length` marks cut-off calls. */
  finishReason: 'stop' | 'length' | 'tool-calls' | 'content-filter' | 'error' | 'other';
  /** As reported; may be missing or not a number, which the caller then estimates. */
  usage?: { inputTokens?: number; outputTokens?: number };
  /** Must be sent back unchanged with the assistant's message (reasoning signatures). */
  providerData?: JsonObject;
}

/**
 * A language model. `complete` makes exactly one request to the provider: retries belong to the executor alone.
 *
 * It rejects with whatever the provider's client threw (status, headers and body on it); the classifier reads that.
 * A stream that ended without its finish mark rejects: a partial tool call is never returned.
 */
export interface Model {
  /** `provider:model`, as shown to people. */
  readonly name: string;
  readonly takesImages: boolean;
  /** US dollars per million tokens, where the user gave prices. */
  readonly prices?: { inputPerMillion: number; outputPerMillion: number };
  /** One request. Rejects with what the provider's client threw, and with the signal's reason when that is aborted. */
  complete(request: ModelRequest): Promise<ModelReply>;
}
