/** A worker of the crash tests, as a process that can be killed, stopped and woken up. */
import { flushCompileCache } from 'node:module';
import { Context } from '@temporalio/activity';
import { NativeConnection, type ActivityExecuteInput } from '@temporalio/worker';
import { digestOf } from '../../../src/policy/idempotency-key.js';
import { scriptedModel, type ScriptedReply } from '../../../src/models/scripted-model.js';
import { defineTool } from '../../../src/tools/define-tool.js';
import { agentAsTool } from '../../../src/tools/agent-tool.js';
import { ToolError } from '../../../src/tools/tool-error.js';
import type { ToolContext, ToolOptions } from '../../../src/tools/tool.js';
import { resolveConfig } from '../../../src/config/resolve-config.js';
import type { StoreChoice } from '../../../src/store/store-choice.js';
import { createWorker } from '../../../src/worker.js';
import type { Arrival, BackendStep, OracleRequest } from './oracle.js';
import { arm, installFailpoints, pass, reach, resumePaused, type Failpoint } from './failpoints.js';
import '../../support/quiet-runtime.js';

export interface WorkerSettings {
  address: string;
  namespace: string;
  taskQueue: string;
  store: StoreChoice;
  bundlePath: string;
  oracleUrl: string;
  heartbeatTimeoutMs: number;
  /** From SIGTERM until bodies are told to stop, milliseconds. */
  shutdownGraceMs: number;
  failpoints: Failpoint[];
  /** Tools that its configuration does not have. */
  withoutTools: string[];
  /** Deadline of one attempt of a tool. Default 8 s. */
  toolTimeoutMs?: number;
  /** How long the keyed tool's keys are good for. Default a day. */
  keyTtlMs?: number;
  /** How long an open breaker keeps calls off. Default 30 s. */
  breakerCoolDownMs?: number;
  /** What its model says instead of any text of the script. */
  says?: string;
  /** Limit of the tool `read`. Default none. */
  readsPerMinute?: number;
  /** Workflows that it keeps in memory. Default the SDK's. */
  maxCachedWorkflows?: number;
}

/** What a worker is told while it runs. */
export type WorkerMessage = { resume: true } | { arm: Failpoint[] };

const settings = JSON.parse(process.env['PERDURE_CRASH_WORKER'] as string) as WorkerSettings;

async function post(path: string, body: unknown, signal: AbortSignal): Promise<Response> {
  return await fetch(settings.oracleUrl + path, { method: 'POST', body: JSON.stringify(body), signal });
}

interface Input {
  of: string;
  /** Ends its worker at each start: `process.exit`, as running out of memory would. */
  kills?: boolean;
  /** Takes memory until there is none left. */
  hoards?: boolean;
  /** Has an open connection to the backend when its body begins, as a busy process has: its send is one write. */
  connected?: boolean;
  backend?: BackendStep[];
  /** Of text in the result, besides what the backend says. */
  resultBytes?: number;
}

function backendTool(name: string, options: Partial<ToolOptions<Input, unknown>>) {
  return defineTool<Input>({
    name,
    description: `Acts on the oracle as ${name}`,
    input: {
      type: 'object',
      properties: {
        of: { type: 'string' },
        kills: { type: 'boolean' },
        hoards: { type: 'boolean' },
        connected: { type: 'boolean' },
        backend: { type: 'array', items: { type: 'object' } },
        resultBytes: { type: 'integer' },
      },
      required: ['of'],
    },
    timeoutMs: settings.toolTimeoutMs ?? 8_000,
    budgetMs: 30_000,
    breaker: { coolDownMs: settings.breakerCoolDownMs ?? 30_000 },
    // A harness that makes one call in six fail would use up the default of 100.
    retryBudget: { tokens: 1_000 },
    retry: {
      server_error: { baseDelayMs: 10, maxDelayMs: 20 },
      timeout: { baseDelayMs: 10, maxDelayMs: 20 },
      network_error: { baseDelayMs: 10, maxDelayMs: 20 },
    },
    execute: async (input, ctx) => {
      if (input.connected) await (await post('/held', {}, ctx.signal)).json();
      reach('in-body', name);
      if (input.kills) process.kill(process.pid, 'SIGKILL');
      if (input.hoards) hoard();
      const { idempotencyKey: key, attempt } = ctx;
      const digest = digestOf({ ...input } as never);
      const { of, backend } = input;
      const request: OracleRequest = { tool: name, key, digest, attempt, of, ...(backend && { backend }) };
      const response = await post('/act', request, ctx.signal);
      reach('answered', name);
      if (!response.ok) throw Object.assign(new Error(await response.text()), { status: response.status });
      const result = (await response.json()) as Record<string, unknown>;
      return input.resultBytes === undefined ? result : { ...result, text: 'x'.repeat(input.resultBytes) };
    },
    ...options,
  });
}

function hoard(): never {
  const kept: number[][] = [];
  for (;;) kept.push(Array.from({ length: 1_000_000 }, (_, index) => index + kept.length));
}

async function found(ctx: ToolContext): Promise<boolean> {
  const response = await post('/find', { key: ctx.idempotencyKey }, ctx.signal);
  return ((await response.json()) as Arrival[]).length > 0;
}

const tools = [
  backendTool('read', {
    effect: 'read',
    ...(settings.readsPerMinute !== undefined && { limiter: { requestsPerMinute: settings.readsPerMinute } }),
  }),
  backendTool('keyed', { effect: { idempotent: 'key', keyTtlMs: settings.keyTtlMs ?? 86_400_000 } }),
  backendTool('nature', { effect: { idempotent: 'nature' } }),
  backendTool('once', { effect: 'once' }),
  backendTool('once_found', {
    effect: 'once',
    reconcile: async (_input, ctx) => {
      reach('reconciling', 'once_found');
      return (await found(ctx)) ? { done: true, result: { found: true } } : { none: true };
    },
  }),
  backendTool('once_fenced', {
    effect: 'once',
    reconcile: async (_input, ctx) => {
      reach('reconciling', 'once_fenced');
      await post('/fence', { key: ctx.idempotencyKey, upToAttempt: ctx.attempt }, ctx.signal);
      return (await found(ctx)) ? { done: true, result: { found: true } } : { none: true, fenced: true };
    },
  }),
  // Nobody polls its queue.
  backendTool('elsewhere', { effect: 'once', taskQueue: `${settings.taskQueue}-elsewhere` }),
  backendTool('proves_none', {
    effect: 'once',
    execute: async (_input, ctx) => {
      await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve, { once: true }));
      throw new ToolError({ class: 'network_error', effect: 'none', publicMessage: 'stopped before it was sent' });
    },
  }),
  // Its task holds the child's script.
  agentAsTool({ name: 'agent', description: 'Does a script of its own' }),
];

/** The run's task holds its script: the model is a function of the conversation alone. */
const model = scriptedModel({
  name: 'crash',
  turns: async (conversation) => {
    await pass('model-asked');
    const script = JSON.parse(conversation.task) as ScriptedReply[];
    const reply = script[conversation.turn];
    if (!reply) throw new Error(`the script has ${script.length} turns and was asked for another`);
    process.send?.({ asked: conversation.turn });
    reach('model-answered');
    return settings.says !== undefined && reply.text !== undefined ? { ...reply, text: settings.says } : reply;
  },
});

/** A moment of every activity; and tests see what a process that woke up was refused, whose word the server ignores. */
async function watchingActivities(
  input: ActivityExecuteInput,
  next: (input: ActivityExecuteInput) => Promise<unknown>,
): Promise<unknown> {
  try {
    await pass('activity', Context.current().info.activityType);
    return await next(input);
  } catch (error) {
    process.stderr.write(`${Context.current().info.activityType} failed: ${String(error)}\n`);
    throw error;
  }
}

installFailpoints();
arm(settings.failpoints);
process.on('message', (told: WorkerMessage) => ('arm' in told ? arm(told.arm) : resumePaused()));

// As the command has it (src/cli/main.ts): what this file itself says there may find the disk full.
process.stderr.on('error', () => undefined);
// A test process that was killed must not leave its workers behind.
process.on('disconnect', () => process.exit());

const connection = await NativeConnection.connect({ address: settings.address });
const worker = await createWorker({
  config: await resolveConfig(
    {
      model,
      tools: tools.filter((tool) => !settings.withoutTools.includes(tool.definition.name)),
      store: settings.store,
      worker: { heartbeatTimeoutMs: settings.heartbeatTimeoutMs, maxConcurrentCalls: 20 },
    },
    { rootDir: process.cwd(), env: {} },
  ),
  connection,
  namespace: settings.namespace,
  taskQueue: settings.taskQueue,
  temporal: {
    workflowBundle: { codePath: settings.bundlePath },
    shutdownGraceTime: settings.shutdownGraceMs,
    interceptors: { activity: [() => ({ inbound: { execute: watchingActivities } })] },
    ...(settings.maxCachedWorkflows === undefined ? {} : { maxCachedWorkflows: settings.maxCachedWorkflows }),
    // A stopped process still has its polls at the server, which hands it a task for each of them, to be timed out.
    maxConcurrentActivityTaskPolls: 1,
    maxConcurrentWorkflowTaskPolls: 2,
  },
});
const running = worker.run();
process.send?.({ ready: true });
// Now, because most of these processes never come to an orderly end.
flushCompileCache();
await running;
await connection.close();
process.disconnect();
