import type { EffectState } from '../contract/effect.js';
import type { FailureClass } from '../contract/failure.js';

/** What a tool knows of its own failure. */
export interface ToolErrorOptions {
  class: FailureClass;
  /**
   * What the attempt left behind. Say `none` only where nothing can have happened: then even a `once` tool may be started
   * again. Default `unknown`.
   */
  effect?: EffectState;
  /** For the model, in a person's words. */
  publicMessage?: string;
  /** For the operator only. Default `publicMessage`. */
  message?: string;
  hint?: string;
  alternatives?: string[];
  retryAfterMs?: number;
  cause?: unknown;
}

/** How a tool's body says exactly what went wrong. Thrown by tools, read by the classifier. */
export class ToolError extends Error {
  override readonly name = 'ToolError';
  /** Recognises instances across copies of this package. */
  readonly perdureToolError = true;
  readonly class: FailureClass;
  readonly effect: EffectState;
  readonly publicMessage?: string;
  readonly hint?: string;
  readonly alternatives?: string[];
  readonly retryAfterMs?: number;

  constructor(options: ToolErrorOptions) {
    super(options.message ?? options.publicMessage ?? options.class, { cause: options.cause });
    this.class = options.class;
    this.effect = options.effect ?? 'unknown';
    if (options.publicMessage !== undefined) this.publicMessage = options.publicMessage;
    if (options.hint !== undefined) this.hint = options.hint;
    if (options.alternatives !== undefined) this.alternatives = options.alternatives;
    if (options.retryAfterMs !== undefined) this.retryAfterMs = options.retryAfterMs;
  }
}
