import type { Degraded } from '../contract/call.js';
import type { Json } from '../contract/json.js';
import type { Attachment } from './binary.js';

/** Any result of a tool's body, as JSON and bytes. */
export interface NormalizedResult {
  json: Json;
  /** Bytes that the result held, in the order of their placeholders in `json` where they were not streamed. */
  attachments: Attachment[];
  /** Why there is nothing, where there is nothing: `no_output`, `no_value` (null), `empty_text`, `empty_list`,
   * `empty_object`, or the tool's own reason. */
  emptyReason?: string;
  partial?: { succeeded: Json[]; failed: Json[]; confidence?: 'low' | 'high' };
  degraded?: Degraded;
  /**
   * Present where the result is a failure in disguise (a returned Error, an MCP `isError`, a Response that is no 2xx, a
   * stream that broke): to be classified as though the tool had thrown it.
   */
  failure?: { thrown: unknown };
  /** Why the result cannot be kept, in words: it is above a limit. */
  tooLarge?: string;
  /** What was changed on the way to JSON, a sentence each. */
  notes: string[];
}
