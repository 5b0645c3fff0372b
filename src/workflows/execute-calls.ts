import { CancellationScope } from '@temporalio/workflow';
import type { CallToolInput } from '../contract/activities.js';
import type { Outcome, PreparedCall, ToolCall } from '../contract/call.js';
import type { ManifestSummary, ToolSummary } from '../contract/manifest.js';
import { failuresInARow } from '../policy/emphasis.js';
import { readActivityError } from '../temporal/failure-mapper.js';
import type { AgentCalls } from './agent-calls.js';
import { refuse } from './refuse-call.js';
import { RequestRoom } from './request-room.js';
import { bookkeeping, callTool } from './run-activities.js';
import { utf8Bytes } from './utf8-bytes.js';

/** What all calls of a step have in common. */
export interface StepContext {
  storeId: string;
  manifest: ManifestSummary;
  heartbeatTimeoutMs: number;
  /** Node of the step that asked for the calls; `''` for `toolExecutor()`. */
  stepNode: string;
  /** Failures in a row by tool, before this step. */
  consecutiveFailures: Record<string, number>;
  /** Calls that repeat an earlier one, by call id. */
  repeats?: ReadonlyMap<string, NonNullable<CallToolInput['repeatOf']>>;
  /** Runs calls of agents: as child runs. */
  agents: AgentCalls;
  /** Extra fields of each activity's input. */
  input?: Pick<CallToolInput, 'validate' | 'inlineBytes'>;
}

/**
 * Executes a step's calls and resolves with one outcome for each, in the given order. Never rejects because a call failed:
 * what the run's cancellation leaves open is settled first, outside its reach.
 *
 * Reads and idempotent calls run side by side. `once` calls run one after another in the model's order, since the second
 * may rest on the first; after one whose outcome is unknown, the later ones are skipped.
 */
export function executeCalls(calls: PreparedCall[], context: StepContext): Promise<Outcome[]> {
  context.agents.expect(calls, context.manifest);
  let onceCallsBefore: Promise<{ unknown: boolean }> | undefined;
  const outcomes = calls.map((prepared) => {
    if (prepared.status === 'answered') return Promise.resolve(prepared.outcome);
    const { call } = prepared;
    const tool = context.manifest.tools.find((candidate) => candidate.name === call.tool);
    if (!tool) return Promise.resolve(refuse(call, 'unknown_tool'));
    if (tool.effect !== 'once') return executeCall(call, tool, context);
    const before = onceCallsBefore ?? Promise.resolve({ unknown: false });
    const outcome = before.then(({ unknown }) => {
      if (unknown) return refuse(call, 'skipped', 'an earlier call of this step may or may not have happened');
      return executeCall(call, tool, context);
    });
    onceCallsBefore = outcome.then(async (ended) => ({ unknown: (await before).unknown || isUnknown(ended) }));
    return outcome;
  });
  return Promise.all(outcomes);
}

/** Half of the 4 MB that a workflow task's message may have (gRPC's default) leaves room for everything else in it. */
const maxBytesOnTheWay = 2_097_152;
// Shared by all steps of a workflow: the SDK gives each workflow execution its own copy of this module's state.
const room = new RequestRoom(maxBytesOnTheWay);

/**
 * One call as an activity, or as a child run. Few promises: the SDK notes a stack trace for each one, live and in every
 * replay, and they were a fifth of what a step cost the workflow's thread.
 */
async function executeCall(call: ToolCall, tool: ToolSummary, context: StepContext): Promise<Outcome> {
  const { storeId, manifest, heartbeatTimeoutMs } = context;
  const bytes = 'inline' in call.arguments ? utf8Bytes(JSON.stringify(call.arguments.inline)) : 0;
  const entered = room.enter(bytes);
  if (entered) await entered;
  try {
    if (CancellationScope.current().consideredCancelled) {
      return refuse(call, 'cancelled', 'the run was cancelled first');
    }
    const input = callToolInput(call, context);
    if (tool.agent) return await context.agents.run(input, tool.agent, heartbeatTimeoutMs);
    return await callTool(input, tool, heartbeatTimeoutMs);
  } catch (error) {
    const end = readActivityError(error);
    switch (end.kind) {
      case 'outcome':
        return end.outcome;
      case 'cancelled':
      case 'timeout':
      case 'failure':
      case 'unfinished': {
        // The body may still run somewhere: the ledger decides what is recorded, so that a late result changes nothing.
        const isCancelled = end.kind === 'cancelled' || CancellationScope.current().consideredCancelled;
        const reason = isCancelled ? 'cancelled' : 'timeout';
        return await CancellationScope.nonCancellable(() =>
          bookkeeping.settleCall({ call, storeId, manifestHash: manifest.hash, reason }),
        );
      }
      case 'foreign':
        throw error;
    }
  } finally {
    room.leave(bytes);
  }
}

function callToolInput(call: ToolCall, context: StepContext): CallToolInput {
  const failures = failuresInARow(context, call.tool);
  const repeatOf = context.repeats?.get(call.callId);
  return {
    call,
    storeId: context.storeId,
    stepNode: context.stepNode,
    manifestHash: context.manifest.hash,
    ...(failures > 0 ? { consecutiveFailures: failures } : {}),
    ...(repeatOf ? { repeatOf } : {}),
    ...context.input,
  };
}

export function isFailed(outcome: Outcome): outcome is Outcome & { status: 'failed' | 'aborted' } {
  return outcome.status === 'failed' || outcome.status === 'aborted';
}

function isUnknown(outcome: Outcome): boolean {
  return isFailed(outcome) && outcome.failure.class === 'outcome_unknown';
}
