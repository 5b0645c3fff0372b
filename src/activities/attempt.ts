import { Context } from '@temporalio/activity';
import type { CallToolInput } from '../contract/activities.js';
import type { Outcome, ToolCall } from '../contract/call.js';
import type { ClassifiedFailure } from '../contract/failure.js';
import type { JsonObject } from '../contract/json.js';
import type { ManifestTool } from '../contract/manifest.js';
import type { LedgerRow } from '../contract/ledger.js';
import { notReady } from '../temporal/failure-mapper.js';
import type { Tool, ToolContext } from '../tools/tool.js';
import { CallRecorder } from './call-recorder.js';
import { loadArguments } from './load-arguments.js';
import type { ManifestCache, Services } from './services.js';
import { StartRecords } from './start-records.js';
import { toolContext } from './tool-context.js';

/** One attempt, ready to ask for its claim: the pinned tool, the live body, and arguments that both accept. */
export interface Attempt {
  status: 'ready';
  call: ToolCall;
  /** As pinned by the run. */
  tool: ManifestTool;
  /** As deployed on this worker. */
  live: Tool;
  args: JsonObject;
  /** The arguments as the body takes them. */
  value: unknown;
  recorder: CallRecorder;
  starts: StartRecords;
  inlineBytes: number | undefined;
  repeatOf: CallToolInput['repeatOf'];
  contextFor(row: LedgerRow, signal: AbortSignal, deadlineMs: number, fencingToken?: number): ToolContext;
}

/** Offers of a call to workers without the tool before it is given up as misconfigured; the others may have it. */
const offersWithoutTool = 5;
const withoutToolDelayMs = 2_000;

/**
 * Finds tool and arguments. What the arguments are refused for is recorded before the ledger row is touched, and once
 * `step` has resolved: the step that asked for the call is in the store.
 */
export async function prepareAttempt(
  services: Services,
  manifests: ManifestCache,
  input: CallToolInput,
  step: Promise<void>,
): Promise<Attempt | { status: 'refused'; outcome: Outcome }> {
  const { call } = input;
  const tool = await manifests.tool(input.manifestHash, call.tool);
  const live = services.tools.get(call.tool);
  const recorder = new CallRecorder({ services, input, tool, live });
  const refuse = async (failure: ClassifiedFailure): Promise<{ status: 'refused'; outcome: Outcome }> => {
    await step;
    return { status: 'refused', outcome: await recorder.refuse(failure) };
  };
  if (!tool) return await refuse({ class: 'unknown_tool', effectState: 'none' });
  if (!live) return await refuse(await withoutTool(services, call));

  let args = await loadArguments(services.store, call.arguments);
  if (input.validate) {
    const { inputSchema: schema, examples } = tool;
    const checked = await services.validator.validate({ schema, input: { value: args }, examples });
    if (!checked.ok) return await refuse(checked.failure);
    args = checked.value;
  }
  const parsed = await live.parse(args);
  if (!parsed.ok) {
    return await refuse({ class: 'validation_error', effectState: 'none', violations: parsed.violations });
  }
  recorder.withArguments(args, parsed.value);
  const starts = new StartRecords(services, call, args);
  const context = Context.current();
  return {
    status: 'ready',
    call,
    tool,
    live,
    args,
    value: parsed.value,
    recorder,
    starts,
    inlineBytes: input.inlineBytes,
    repeatOf: input.repeatOf,
    contextFor: (row, signal, deadlineMs, fencingToken) =>
      toolContext({
        call,
        runId: context.info.workflowExecution?.workflowId ?? call.runKey,
        attempt: row.starts,
        signal,
        deadlineMs,
        fencingToken,
        log: services.log,
        onSeenByBackend: (attempts) => starts.requests.report(attempts),
        onProgress: (message) => services.log.info(message, { tool: tool.name, call: call.callId }),
      }),
  };
}

/** The failure of a call whose tool no worker has; throws while it may still be offered to others. */
async function withoutTool({ guards }: Services, { tool: name, key }: ToolCall): Promise<ClassifiedFailure> {
  // Counted in the store, by the workers that were asked: the server's attempts also count what other workers met.
  const { granted } = await guards.shared.applyShared(`without tool ${key}`, {
    kind: 'wait',
    waitMs: withoutToolDelayMs,
    budgetMs: offersWithoutTool * withoutToolDelayMs,
  });
  if (granted) {
    throw notReady(
      `this worker's configuration has no tool "${name}", which the run was started with. Nothing was run. ` +
        'Deploy the tool again, or let a worker that has it take the call.',
      withoutToolDelayMs,
    );
  }
  return {
    class: 'misconfigured',
    effectState: 'none',
    reason: `the tool "${name}" is not on the workers that were asked`,
  };
}
