import type { Json, JsonObject } from '../../src/contract/json.js';
import { defineTool } from '../../src/tools/define-tool.js';
import type { Tool, ToolContext, ToolOptions } from '../../src/tools/tool.js';

type BackendToolOptions = Partial<Omit<ToolOptions<JsonObject, unknown>, 'name'>>;

/** Any arguments at all: most tests are about what becomes of a call, not about its arguments. */
const anyArguments = { type: 'object', additionalProperties: true };

/** A tool whose body is one request to the effects backend. Undeclared, it is `once`, like any tool. */
export function backendTool(url: string, name: string, options: BackendToolOptions = {}): Tool {
  return defineTool({
    name,
    description: `Does ${name}`,
    input: anyArguments,
    execute: (args, ctx) => request(url, name, args, ctx),
    ...options,
  });
}

/** The tools that most scenarios need: a read, a keyed effect and an effect that must not happen twice. */
export function backendTools(url: string): Tool[] {
  return [
    backendTool(url, 'look_up', { effect: 'read' }),
    backendTool(url, 'refund', { effect: { idempotent: 'key' } }),
    backendTool(url, 'print_label'),
  ];
}

/** As a careful tool does it: the key and the signal are passed on, a refusal is thrown with its status. */
async function request(url: string, name: string, args: JsonObject, ctx: ToolContext): Promise<Json> {
  const response = await fetch(`${url}/${name}`, {
    method: 'POST',
    headers: { 'idempotency-key': ctx.idempotencyKey },
    body: JSON.stringify(args),
    signal: ctx.signal,
  });
  const body = (await response.json()) as Json;
  if (response.ok) return body;
  throw Object.assign(new Error(`the backend answered ${response.status}`), {
    status: response.status,
    headers: Object.fromEntries(response.headers),
    body,
  });
}
