import type { JsonObject } from './json.js';

/** A tool call as the model made it, kept beside our own id so that providers see theirs again. */
export interface RecordedCall {
  callId: string;
  /** The provider's id, made up from `callId` where it was missing, empty or repeated. */
  providerCallId: string;
  /** The tool's own name where it is known, else what the model wrote. */
  tool: string;
  /** The name that the model wrote. */
  modelName: string;
  /** The arguments exactly as the model wrote them; digits and spelling are never changed. */
  rawArguments: string;
  /** Repairs that were made to read them, in order; all lossless. */
  repairs?: string[];
}

/** An image or other binary that a tool returned, kept in the store and shown to models that take images. */
export interface AttachmentRef {
  bodyId: string;
  mediaType: string;
  bytes: number;
}

/** Token counts as the provider reported them, or an estimate where it reported none that is a number. */
export interface TurnUsage {
  inputTokens: number;
  outputTokens: number;
  costUsd: number;
  estimated?: true;
}

/** One immutable message of the conversation. */
export type TranscriptMessage =
  | { role: 'system'; text: string }
  | {
      role: 'user';
      text: string;
      /** Id of the intervention that this tells the model of; absent where the user wrote it. */
      intervention?: string;
    }
  | {
      role: 'assistant';
      text: string;
      calls: RecordedCall[];
      finishReason: string;
      usage: TurnUsage;
      /** Provider-specific data (reasoning signatures) that must be sent back unchanged. */
      providerData?: JsonObject;
    }
  | {
      role: 'tool';
      callId: string;
      providerCallId: string;
      tool: string;
      modelName: string;
      /** The rendered outcome, byte for byte what the model sees. */
      content: string;
      failed: boolean;
      attachments?: AttachmentRef[];
    };

/** A link of the transcript: the id is a keyed hash of parent and message. */
export interface TranscriptNode {
  id: string;
  /** `''` for a root. */
  parent: string;
  message: TranscriptMessage;
}
