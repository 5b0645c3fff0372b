import type { ToolCall } from '../contract/call.js';
import type { ToolContext, ToolLog } from '../tools/tool.js';

/** Makes the context of one start of a tool's body, or of its `reconcile` and `refresh`. */
export function toolContext(options: {
  call: ToolCall;
  runId: string;
  attempt: number;
  signal: AbortSignal;
  deadlineMs: number;
  fencingToken?: number | undefined;
  log: ToolLog;
  onProgress: (message: string) => void;
}): ToolContext {
  const { call, log } = options;
  return {
    idempotencyKey: call.key,
    attempt: options.attempt,
    callId: call.callId,
    runId: options.runId,
    signal: options.signal,
    deadline: Date.now() + options.deadlineMs,
    log,
    ...(options.fencingToken === undefined ? {} : { fencingToken: options.fencingToken }),
    progress: options.onProgress,
    async bestEffort(name, run) {
      try {
        return await run();
      } catch (error) {
        log.warn(`side matter failed: ${name}`, { error: error instanceof Error ? error.message : String(error) });
        return undefined;
      }
    },
  };
}
