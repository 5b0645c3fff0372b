/**
 * - `usage`: an option or argument that cannot be meant.
 * - `no_model`: neither the configuration nor the environment nor the command names a model.
 * - `run_not_found`, `ambiguous_run`: a name that fits no run, or several.
 * - `run_exists`: the wanted name is taken.
 * - `run_open`: the run goes on, or has not begun, where an ended one is meant.
 * - `no_result`: the run was ended from outside (terminated, timed out) and has no result.
 * - `server_unreachable`: no Temporal server answers.
 */
export type PerdureErrorCode =
  | 'usage'
  | 'no_model'
  | 'run_not_found'
  | 'ambiguous_run'
  | 'run_exists'
  | 'run_open'
  | 'no_result'
  | 'server_unreachable';

/** What a person can put right. The message is one sentence; `next` says what to type or change. */
export class PerdureError extends Error {
  override readonly name = 'PerdureError';
  readonly code: PerdureErrorCode;
  readonly next: string | undefined;
  constructor(code: PerdureErrorCode, message: string, options: { next?: string; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.next = options.next;
  }
}
