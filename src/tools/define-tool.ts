import type { Effect } from '../contract/effect.js';
import type { Failure } from '../contract/failure.js';
import type { JsonObject } from '../contract/json.js';
import { ConfigError } from '../config/config-error.js';
import {
  at,
  checkFunction,
  checkObject,
  checkText,
  checkTexts,
  didYouMean,
  refuseUnknownKeys,
} from '../config/check-options.js';
import { failureClassNames } from '../policy/failure-classes.js';
import { resolveExamples } from './tool-examples.js';
import { resolvePolicy } from './tool-policy.js';
import { parserOf, resolveSchema } from './tool-schema.js';
import type { Tool, ToolContext, ToolOptions } from './tool.js';

/** Every option of `defineTool`; other sources take most of them. */
export const toolOptionNames = [
  'name',
  'description',
  'input',
  'output',
  'effect',
  'execute',
  'reconcile',
  'refresh',
  'timeoutMs',
  'budgetMs',
  'latency',
  'retry',
  'isFailure',
  'suggest',
  'progress',
  'examples',
  'notes',
  'alternatives',
  'polling',
  'eventuallyConsistent',
  'breaker',
  'breakerKey',
  'limiter',
  'retryBudget',
  'exclusive',
  'taskQueue',
  'maxOutputBytes',
  'failureOutput',
  'errors',
  'messages',
] as const satisfies (keyof ToolOptions<unknown, unknown>)[];

/**
 * Makes a tool of a function. `input` (zod 4, any Standard Schema that gives a JSON Schema, or a plain JSON Schema) types
 * the arguments of `execute`. A tool that declares no `effect` is `once`: after a lost answer it is never run again.
 *
 * Every default is resolved here; the result never changes. Throws `ConfigError` with path and value for any mistake,
 * e.g. `tools.refund.retry.timeout.maxAttempts: expected 1 or more, got 0`.
 */
export function defineTool<Input = JsonObject, Output = unknown, Given = Input>(
  options: ToolOptions<Input, Output, Given>,
): Tool {
  checkObject('tools', options);
  const path = pathOf(options);
  refuseUnknownKeys(path, options, toolOptionNames);
  requireFunction(path, options, 'execute');
  return toolOf(path, options, {
    source: 'function',
    execute: async (value, ctx) => options.execute(value as Input, ctx),
  });
}

/** Throws `ConfigError` where the option is no function. */
export function requireFunction<Options extends object>(
  path: string,
  options: Options,
  key: keyof Options & string,
  presence: 'required' | 'optional' = 'required',
): void {
  if (presence === 'optional' && options[key] === undefined) return;
  checkFunction(at(path, key), options[key]);
}

/** Path of a tool's mistakes: `tools.` and its name. Throws `ConfigError` where it has none. */
export function pathOf(options: { name: unknown }): string {
  return `tools.${checkText('tools: a tool’s name', options.name)}`;
}

/** What tool sources share: everything but the way in which the body runs. */
export type ToolAspects = Omit<ToolOptions<unknown, unknown>, 'execute'>;

export interface ToolBody {
  source: Tool['source'];
  defaultEffect?: Effect;
  execute: Tool['execute'];
}

/** Makes a tool of its aspects and its body, whatever its source. Unknown keys were refused by the source. */
export function toolOf(path: string, options: ToolAspects, body: ToolBody): Tool {
  for (const key of ['reconcile', 'refresh', 'isFailure', 'suggest', 'progress', 'exclusive', 'breakerKey'] as const) {
    requireFunction(path, options, key, 'optional');
  }
  if (options.notes !== undefined) checkText(at(path, 'notes'), options.notes);
  checkMessages(at(path, 'messages'), options.messages);
  const input = resolveSchema(at(path, 'input'), options.input, 'input');
  const output = options.output === undefined ? undefined : resolveSchema(at(path, 'output'), options.output, 'output');
  return {
    definition: {
      name: options.name,
      description: checkText(at(path, 'description'), options.description),
      inputSchema: input.json,
      ...(output ? { outputSchema: output.json } : {}),
      examples: resolveExamples(at(path, 'examples'), options.examples, input),
      alternatives:
        options.alternatives === undefined ? [] : checkTexts(at(path, 'alternatives'), options.alternatives),
      policy: resolvePolicy(path, options, body.defaultEffect),
    },
    source: body.source,
    parse: parserOf(input),
    execute: body.execute,
    ...(options.reconcile ? { reconcile: async (value, ctx) => options.reconcile?.(value, ctx) } : {}),
    ...(options.refresh ? { refresh: oneAtATime(options.refresh.bind(options)) } : {}),
    ...(options.isFailure ? { isFailure: (result) => options.isFailure?.(withoutMark(result)) } : {}),
    ...(options.suggest ? { suggest: (value: unknown, failure: Failure) => options.suggest?.(value, failure) } : {}),
    ...(options.progress ? { progress: options.progress.bind(options) } : {}),
    ...(options.exclusive ? { exclusive: (value: unknown) => options.exclusive?.(value) } : {}),
    ...(options.breakerKey ? { breakerKey: options.breakerKey.bind(options) } : {}),
    ...(options.messages ? { messages: options.messages } : {}),
  };
}

function checkMessages(path: string, messages: unknown): void {
  if (messages === undefined) return;
  for (const [name, texts] of Object.entries(checkObject(path, messages))) {
    if (!failureClassNames.some((known) => known === name)) {
      throw new ConfigError(at(path, name), `unknown failure class${didYouMean(name, failureClassNames)}`);
    }
    const given = checkObject(at(path, name), texts);
    refuseUnknownKeys(at(path, name), given, ['message', 'suggestedAction']);
    for (const [key, text] of Object.entries(given)) {
      if (text !== undefined) checkText(at(at(path, name), key), text);
    }
  }
}

/**
 * Calls that ask for a refresh while one runs share its end, so that a burst of 401 answers renews the credentials once.
 * They share its failure too, and the signal of whoever came first.
 */
function oneAtATime(refresh: (ctx: ToolContext) => Promise<void> | void): (ctx: ToolContext) => Promise<void> {
  let running: Promise<void> | undefined;
  return (ctx) => {
    running ??= (async () => {
      try {
        await refresh(ctx);
      } finally {
        running = undefined;
      }
    })();
    return running;
  };
}

/** `isFailure` is written for the tool's output, so it sees what a fallback mark holds. */
function withoutMark(result: unknown): unknown {
  if (result === null || typeof result !== 'object') return result;
  const marked = result as { perdureResult?: unknown; value?: unknown };
  return marked.perdureResult === 'degraded' ? marked.value : result;
}
