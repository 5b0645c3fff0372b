import type { Outcome, ToolCall } from '../contract/call.js';
import type { FailureClass } from '../contract/failure.js';
import { describeFailure } from '../policy/model-message.js';

/** An outcome that the workflow itself gives: nothing ran, nothing is stored yet. */
export function refuse(
  call: Pick<ToolCall, 'callId' | 'tool' | 'key'>,
  failureClass: FailureClass,
  reason?: string,
): Outcome & { status: 'failed' | 'aborted' } {
  const failure = describeFailure(
    { class: failureClass, effectState: 'none', ...(reason === undefined ? {} : { reason, public: true }) },
    { toolName: call.tool, attempts: 0 },
  );
  return {
    status: failureClass === 'cancelled' ? 'aborted' : 'failed',
    callId: call.callId,
    tool: call.tool,
    key: call.key,
    attempts: 0,
    elapsedMs: 0,
    refusedByWorkflow: true,
    ...(reason === undefined ? {} : { refusalReason: reason }),
    failure,
  };
}
