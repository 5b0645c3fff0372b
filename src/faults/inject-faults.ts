import { setTimeout as delay } from 'node:timers/promises';
import { assertNever } from '../contract/json.js';
import { failureClasses } from '../policy/failure-classes.js';
import { HttpAnswerError } from '../tools/http-errors.js';
import { ToolError } from '../tools/tool-error.js';
import type { Tool, ToolContext, ToolLog } from '../tools/tool.js';
import type { Fault, FaultPlan } from './fault.js';
import { FaultSchedule } from './fault-schedule.js';

export interface InjectOptions {
  log: ToolLog;
  /** Ends this process at once, as a lost machine would. Default SIGKILL. */
  crash?: () => void;
}

/**
 * The tools with faults in front of their bodies, and one loud line in the log that says so; every injected fault is one
 * more. Without a plan the tools are returned as they are: nothing stands in the way of a call. Built-in tools and agents
 * are left alone: faults belong to the tools that an agent calls.
 */
export function injectFaults(tools: readonly Tool[], plan: FaultPlan | undefined, options: InjectOptions): Tool[] {
  if (!plan) return [...tools];
  const schedule = new FaultSchedule(plan);
  options.log.warn(
    `FAULT INJECTION IS ON: this worker makes tools fail on purpose (${plan.faults.map(({ text }) => text).join(', ')}). ` +
      `Same faults again: PERDURE_FAULTS_SEED=${plan.seed}. Off: unset PERDURE_FAULTS and leave \`faults\` out of the configuration.`,
    { faults: plan.faults.map(({ text }) => text), seed: plan.seed },
  );
  return tools.map((tool) => (tool.source === 'builtin' || tool.agent ? tool : withFaults(tool, schedule, options)));
}

function withFaults(tool: Tool, schedule: FaultSchedule, options: InjectOptions): Tool {
  const { name } = tool.definition;
  // A prototype instead of a copy: a tool written by hand may be an instance of a class.
  return Object.assign(Object.create(tool) as Tool, {
    execute: async (value: unknown, ctx: ToolContext): Promise<unknown> => {
      const fault = schedule.next(name);
      if (!fault) return await tool.execute(value, ctx);
      options.log.warn('fault injected', {
        tool: name,
        fault: fault.text,
        call_id: ctx.callId,
        idempotency_key: ctx.idempotencyKey,
        attempt: ctx.attempt,
      });
      return await executeWith(fault, { tool, value, ctx, crash: options.crash ?? killThisProcess });
    },
  });
}

interface FaultyStart {
  tool: Tool;
  value: unknown;
  ctx: ToolContext;
  crash: () => void;
}

async function executeWith(fault: Fault, { tool, value, ctx, crash }: FaultyStart): Promise<unknown> {
  const { action } = fault;
  switch (action.kind) {
    case 'class': {
      const { effectState } = failureClasses[action.class];
      if (effectState === 'done') await tool.execute(value, ctx);
      throw new ToolError({ class: action.class, effect: effectState, message: `injected fault: ${action.class}` });
    }
    case 'http':
      throw httpAnswer(action.status);
    case 'commit-then-no-answer':
      await endOf(tool, value, ctx);
      throw new ToolError({
        class: 'network_error',
        effect: 'unknown',
        message: 'injected fault: the answer was lost',
      });
    case 'crash-before-effect':
      crash();
      return await never();
    case 'crash-after-effect':
      await endOf(tool, value, ctx);
      crash();
      return await never();
    case 'slow':
      await delay(action.ms, undefined, { signal: ctx.signal });
      return await tool.execute(value, ctx);
    case 'oversized':
      await tool.execute(value, ctx);
      return 'x'.repeat(tool.definition.policy.maxOutputBytes + 1);
    case 'garbage':
      await tool.execute(value, ctx);
      return garbage;
    default:
      return assertNever(action);
  }
}

/** However the body ends, nobody hears of it. */
async function endOf(tool: Tool, value: unknown, ctx: ToolContext): Promise<void> {
  await Promise.allSettled([tool.execute(value, ctx)]);
}

/** What broken backends send: control characters, half a surrogate pair, an escape sequence, HTML, a cut end. */
const garbage = '\u0000\u001b[31m\ud83d<!doctype html><p>\u202egarbage {"ok": tr';

function httpAnswer(status: number): HttpAnswerError {
  const message = `injected fault: HTTP ${status}`;
  return new HttpAnswerError({
    status,
    headers: { 'content-type': 'application/json' },
    body: { error: { message } },
    contentType: 'application/json',
    message,
  });
}

function killThisProcess(): void {
  process.kill(process.pid, 'SIGKILL');
}

/** The process is about to be gone; no line after the crash may run. */
function never(): Promise<never> {
  return new Promise(() => undefined);
}
