import { patched, workflowInfo } from '@temporalio/workflow';
import type { Outcome, PreparedCall } from '../contract/call.js';
import type { JsonObject } from '../contract/json.js';
import type { ManifestSummary } from '../contract/manifest.js';
import { countOutcome } from '../policy/emphasis.js';
import type { FailureStreaks } from '../policy/emphasis.js';
import { canonicalJson, digestOf, idempotencyKey } from '../policy/idempotency-key.js';
import { misuse } from '../temporal/failure-mapper.js';
import { AgentCalls } from './agent-calls.js';
import { executeCalls } from './execute-calls.js';
import { refuse } from './refuse-call.js';
import { bookkeeping } from './run-activities.js';
import { utf8Bytes } from './utf8-bytes.js';

/** What `state()` returns and `toolExecutor({ state })` takes: constant in size. */
export interface ToolExecutorState {
  runKey: string;
  storeId: string;
  manifest: ManifestSummary;
  heartbeatTimeoutMs: number;
  /** Steps counted so far in this workflow, over continue-as-new. */
  steps: number;
  consecutiveFailures: Record<string, number>;
}

/** How an executor is opened. */
export interface ToolExecutorOptions {
  /** The former run's `state()`; needed after continue-as-new, and only then. */
  state?: ToolExecutorState;
  /** Results up to this many bytes of JSON come inline in the outcome (and the history). 0 to 1,048,576; default 65,536. */
  inlineBytes?: number;
}

/** Durable tool calls of one workflow. */
export interface ToolExecutor {
  /**
   * Runs one tool call as an activity and returns its outcome: a failure is a value, never an exception. Throws only
   * what is misuse. When the workflow is cancelled the outcome has class `cancelled`.
   */
  call(tool: string, args: JsonObject): Promise<Outcome>;
  /** Runs several calls as one step: reads side by side, `once` calls in order. One outcome for each, in order. */
  callAll(calls: { tool: string; args: JsonObject }[]): Promise<Outcome[]>;
  /** To be passed on by `continueAsNew`. */
  state(): ToolExecutorState;
}

/** An activity's input must stay well below Temporal's 2 MB payload limit: over it the workflow task fails for ever. */
const maxInputBytes = 1_048_576;
const defaultInlineBytes = 65_536;

// Per workflow, not per executor object: two executors in one workflow must never give two calls the same id. The
// SDK gives each workflow execution its own copy of this module's state.
let steps = 0;
let opened = false;

/**
 * Durable tool calls for a workflow of one's own. The first executor of a workflow pins the tools; calls are counted
 * per workflow. Throws a `ConfigError` failure where the workflow was continued as new and `state` is missing, and in
 * cron workflows, whose runs would share their keys.
 */
export async function toolExecutor(options: ToolExecutorOptions = {}): Promise<ToolExecutor> {
  const { state, inlineBytes = defaultInlineBytes } = options;
  if (!(inlineBytes >= 0 && inlineBytes <= maxInputBytes)) {
    throw misuse(`toolExecutor.inlineBytes: expected 0 to ${maxInputBytes}, got ${inlineBytes}`);
  }
  const info = workflowInfo();
  refuseRepeats();
  if (!state && !opened && info.continuedFromExecutionRunId !== undefined) {
    throw misuse(
      'toolExecutor: this workflow was continued as new without its executor state, so its calls would be counted ' +
        'from the start and share keys with earlier ones. Pass it on: ' +
        'continueAsNew({ …, tools: tools.state() }), then toolExecutor({ state: input.tools }).',
    );
  }
  opened = true;
  const pinned = state ?? (await openExecutor(info));
  steps = Math.max(steps, pinned.steps);
  let streaks: FailureStreaks = { consecutiveFailures: pinned.consecutiveFailures, emphasised: [] };

  async function callAll(calls: { tool: string; args: JsonObject }[]): Promise<Outcome[]> {
    const step = ++steps;
    const prepared = calls.map(({ tool, args }, index) => prepareCall(pinned.runKey, `c${step}.${index}`, tool, args));
    const outcomes = await executeCalls(prepared, {
      storeId: pinned.storeId,
      manifest: pinned.manifest,
      heartbeatTimeoutMs: pinned.heartbeatTimeoutMs,
      stepNode: '',
      consecutiveFailures: streaks.consecutiveFailures,
      agents: new AgentCalls({ depth: 0, catalogue: pinned.manifest.hash }),
      input: { validate: true, inlineBytes },
    });
    for (const outcome of outcomes) streaks = countOutcome(streaks, outcome);
    return outcomes;
  }

  return {
    callAll,
    async call(tool, args) {
      const [outcome] = await callAll([{ tool, args }]);
      return outcome as Outcome;
    },
    state: () => ({ ...pinned, steps, consecutiveFailures: streaks.consecutiveFailures }),
  };
}

async function openExecutor(info: ReturnType<typeof workflowInfo>): Promise<ToolExecutorState> {
  // Survives reset and continue-as-new; cron runs, which share it, are refused.
  const runKey = info.firstExecutionRunId;
  const started = await bookkeeping.startRun({ runKey, workflowId: info.workflowId });
  return {
    runKey,
    storeId: started.storeId,
    manifest: started.manifest,
    heartbeatTimeoutMs: started.heartbeatTimeoutMs,
    steps: 0,
    consecutiveFailures: {},
  };
}

function prepareCall(runKey: string, callId: string, tool: string, args: JsonObject): PreparedCall {
  const digest = digestOf(args);
  const key = idempotencyKey({ runKey, callId, tool, digest });
  const bytes = utf8Bytes(canonicalJson(args));
  if (bytes > maxInputBytes) {
    const reason = `the arguments have ${bytes} bytes, the limit is ${maxInputBytes}`;
    return { status: 'answered', callId, digest, outcome: refuse({ callId, tool, key }, 'input_too_large', reason) };
  }
  return { status: 'ready', call: { runKey, callId, tool, key, digest, arguments: { inline: args } } };
}

/**
 * Refuses cron workflows and workflows with a retry policy: their executions share Temporal's first run id, and with it every
 * key, and begin anew in the middle of what the former one left.
 */
export function refuseRepeats(): void {
  const { cronSchedule, retryPolicy } = workflowInfo();
  // Workflows that began before this was refused go on as they did.
  if (retryPolicy && patched('refuse-workflow-retry')) {
    throw misuse(
      'perdure does not run with a Temporal retry policy on the workflow: calls are retried one by one, by the class of ' +
        'their failure, and a workflow that is started again would only repeat the end that it came to. Start it without ' +
        '`retry`; a run that ended badly goes on with: perdure retry RUN',
    );
  }
  if (!cronSchedule) return;
  throw misuse(
    `perdure does not run as a cron workflow (cron schedule "${cronSchedule}"): the runs of a cron workflow share one ` +
      'identity, so the second would be given the results of the first. Use a Temporal Schedule that starts a new workflow.',
  );
}
