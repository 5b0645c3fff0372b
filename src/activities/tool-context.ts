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
  onSeenByBackend: (attempts: number) => void;
}): ToolContext {
  const { call } = options;
  const log = namedLog(options.log, { tool: call.tool, call_id: call.callId, run_key: call.runKey });
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
    seenByBackend: options.onSeenByBackend,
    async bestEffort(name, run) {
      try {
        return await run();
      } catch (error) {
        log.warn(`side matter failed: ${name}`, { error });
        return undefined;
      }
    },
  };
}

/** Says in each line whose it is; what the tool itself says under these names does not count. */
function namedLog(log: ToolLog, names: Record<string, string>): ToolLog {
  const named =
    (level: keyof ToolLog): ToolLog['info'] =>
    (message, fields) =>
      log[level](message, { ...fields, ...names });
  return { debug: named('debug'), info: named('info'), warn: named('warn'), error: named('error') };
}
