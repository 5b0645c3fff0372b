/** A worker of the soak, as a process of its own. Says when it polls, and ends in order when its parent goes. */
import { NativeConnection } from '@temporalio/worker';
import { resolveConfig } from '../../src/config/resolve-config.js';
import type { JsonObject } from '../../src/contract/json.js';
import type { FailureClass } from '../../src/contract/failure.js';
import { scriptedModel } from '../../src/models/scripted-model.js';
import { defineTool } from '../../src/tools/define-tool.js';
import { httpTool } from '../../src/tools/http-tool.js';
import { ToolError } from '../../src/tools/tool-error.js';
import type { Tool, ToolContext, ToolOptions } from '../../src/tools/tool.js';
import { createWorker } from '../../src/worker.js';
import '../support/quiet-runtime.js';
import { backendFaults, planCall, scriptedCalls, type SoakTool } from './soak-plan.js';

export interface SoakWorkerSettings {
  address: string;
  namespace: string;
  bundlePath: string;
  storePath: string;
  backendUrl: string;
  seed: number;
}

/** A run's part of the soak; its task. */
export interface SoakTask {
  first: number;
  turns: number;
  callsPerTurn: number;
  /** The last turn asks for what a guard refuses, which ends the run. */
  violates: boolean;
}

const settings = JSON.parse(process.env['PERDURE_SOAK'] ?? '') as SoakWorkerSettings;

interface Input {
  n: number;
}
/** Short waits: the soak is about what is decided, not about how long it takes. */
const retry = Object.fromEntries(
  backendFaults.map((failureClass) => [failureClass, { baseDelayMs: 50, maxDelayMs: 1_000 }]),
) as Partial<Record<FailureClass, { baseDelayMs: number; maxDelayMs: number }>>;
const input: JsonObject = {
  type: 'object',
  properties: { n: { type: 'integer' } },
  required: ['n'],
  additionalProperties: false,
};
const common = {
  description: 'For the soak.',
  input,
  timeoutMs: 1_500,
  budgetMs: 5_000,
  retry,
  // A breaker that opens by chance would keep calls from the faults that are planned for them; `fragile` has one.
  breaker: false,
} as const;

function overHttp(name: SoakTool, more: Partial<Omit<ToolOptions<Input, unknown>, 'name' | 'input'>> = {}): Tool {
  return httpTool<Input>({ ...common, name, method: 'POST', url: `${settings.backendUrl}/${name}`, ...more });
}

async function post(path: string, input: Input, ctx: ToolContext): Promise<{ found?: boolean }> {
  const response = await fetch(`${settings.backendUrl}/${path}`, {
    method: 'POST',
    headers: { 'idempotency-key': ctx.idempotencyKey },
    body: JSON.stringify(input),
    signal: ctx.signal,
  });
  return (await response.json()) as { found?: boolean };
}

const maxOutputBytes = 2_000;

/** The work is done, and then the tool's own code goes wrong. */
async function importRows({ n }: Input, ctx: ToolContext): Promise<unknown> {
  await post('import_rows', { n }, ctx);
  switch (planCall(settings.seed, n).fault?.class) {
    case 'tool_error':
      throw new Error('the last row has no end');
    case 'tool_bug':
      throw new TypeError("Cannot read properties of undefined (reading 'rows')");
    case 'output_invalid':
      return { rows: 'many' };
    case 'output_too_large':
      return { rows: 1, log: 'x'.repeat(maxOutputBytes) };
    default:
      return { rows: 1 };
  }
}

const tools: Tool[] = [
  overHttp('look_up', { effect: 'read' }),
  overHttp('charge', { effect: { idempotent: 'key' } }),
  overHttp('set_status', { effect: { idempotent: 'nature' } }),
  overHttp('print', { effect: 'once' }),
  overHttp('print_found', {
    effect: 'once',
    reconcile: async (input, ctx) =>
      (await post('find', input, ctx)).found ? { done: true, result: { done: input.n } } : { none: true },
  }),
  overHttp('fragile', { effect: 'read', budgetMs: 3_000, breaker: { failures: 2, coolDownMs: 5_000 } }),
  defineTool<Input>({
    ...common,
    name: 'import_rows',
    effect: { idempotent: 'key' },
    output: { type: 'object', properties: { rows: { type: 'integer' } }, required: ['rows'] },
    maxOutputBytes,
    execute: importRows,
  }),
  defineTool<Input>({
    ...common,
    name: 'leave_folder',
    effect: 'read',
    execute: () => {
      throw new ToolError({ class: 'security_violation', effect: 'none', publicMessage: 'outside of the folder' });
    },
  }),
];

const model = scriptedModel({
  name: 'soak',
  turns: ({ task, turn }) => {
    const { first, turns, callsPerTurn, violates } = JSON.parse(task) as SoakTask;
    if (turn < turns) return { calls: scriptedCalls(settings.seed, first + turn * callsPerTurn, callsPerTurn) };
    if (turn === turns && violates) return { calls: [{ tool: 'leave_folder', input: { n: first } }] };
    return { text: 'done' };
  },
});

const connection = await NativeConnection.connect({ address: settings.address });
const worker = await createWorker({
  config: await resolveConfig(
    {
      model,
      tools,
      store: { path: settings.storePath },
      limits: { steps: null },
      // What is soaked are the calls: no run ends before it has made all of its own.
      loop: { onExhausted: 'model' },
    },
    { rootDir: process.cwd(), env: {} },
  ),
  connection,
  namespace: settings.namespace,
  temporal: { workflowBundle: { codePath: settings.bundlePath } },
});
process.once('disconnect', () => worker.shutdown());
const running = worker.run();
process.send?.({ taskQueue: worker.taskQueue });
await running;
await connection.close();
