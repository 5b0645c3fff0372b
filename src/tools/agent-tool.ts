import { at, checkFunction, checkInteger, checkText, checkTexts, refuseUnknownKeys } from '../config/check-options.js';
import type { PerdureConfig } from '../config/config.js';
import type { ModelChoice } from '../models/model-choice.js';
import { resolveLimits } from '../config/resolve-config.js';
import type { JsonObject } from '../contract/json.js';
import type { RunLimits } from '../contract/run-limits.js';
import { pathOf, toolOf } from './define-tool.js';
import { ToolError } from './tool-error.js';
import type { Tool, ToolOptions, ToolSchema } from './tool.js';

/** What an agent says of itself as a tool. */
export interface AgentToolOptions<Input, Given = Input> extends Pick<
  ToolOptions<Input, string, Given>,
  'name' | 'description' | 'examples' | 'notes' | 'alternatives' | 'suggest' | 'messages' | 'maxOutputBytes'
> {
  /** What the calling model must give. Default: one text, `{ task }`. */
  input?: ToolSchema<Input, Given>;
  /** Words the agent's task from the arguments. Default: the text itself. Called in an activity; must not have effects. */
  task?: (input: Input) => string;
  /** Names of the tools of this configuration that the agent sees. Default: every tool that is no agent. */
  tools?: string[];
  /**
   * The agent's own caps. What the parent has left is divided among the agents of a step and never exceeded; what an agent
   * uses (calls, tokens, cost) is charged to its parent.
   */
  limits?: NonNullable<PerdureConfig['limits']>;
  /** Default: the parent run's model. */
  model?: ModelChoice;
  /** System prompt. Default: the configuration's. */
  instructions?: string;
  /** Calls of this agent at once in one run; further ones wait. Default 4. */
  maxConcurrent?: number;
  /** How deep below the first run this agent may be started; 1 is a child of the first. Deeper it is not offered. Default 3. */
  maxDepth?: number;
}

/**
 * What holds where an agent says nothing. A handful at once keeps a step short without a burst on the model's provider;
 * nesting deeper than three levels is a loop more often than a plan.
 */
export const agentDefaults = { maxConcurrent: 4, maxDepth: 3 } as const;

const optionNames = [
  'name',
  'description',
  'examples',
  'notes',
  'alternatives',
  'suggest',
  'messages',
  'maxOutputBytes',
  'input',
  'task',
  'tools',
  'limits',
  'model',
  'instructions',
  'maxConcurrent',
  'maxDepth',
] as const satisfies (keyof AgentToolOptions<unknown>)[];

const oneText: JsonObject = {
  type: 'object',
  properties: {
    task: { type: 'string', minLength: 1, description: 'What the agent is to do, with all it must know.' },
  },
  required: ['task'],
  additionalProperties: false,
};

/**
 * Makes a tool of an agent: each call is a child run of its own, with a conversation that starts from the task, and its
 * answer is the call's result. A child that was capped, failed, or had failed calls comes back as `partial`, with its
 * errors and `confidence: "low"`. Several run side by side. Its calls have keys that depend on the parent's call alone, so
 * that no effect happens twice, whatever dies or is reset.
 *
 * Throws `ConfigError` with path and value for any mistake; names in `tools` are checked when the configuration is loaded.
 */
export function agentAsTool<Input = { task: string }, Given = Input>(options: AgentToolOptions<Input, Given>): Tool {
  const path = pathOf(options);
  refuseUnknownKeys(path, options, optionNames);
  const { input = oneText, task, tools, model, instructions } = options;
  if (task !== undefined || options.input !== undefined) checkFunction(at(path, 'task'), task);
  if (instructions !== undefined) checkText(at(path, 'instructions'), instructions);
  const { name, description, examples, notes, alternatives, suggest, messages, maxOutputBytes } = options;
  const aspects = { name, description, examples, notes, alternatives, suggest, messages, maxOutputBytes };
  const given = Object.fromEntries(Object.entries(aspects).filter(([, value]) => value !== undefined));
  const tool = toolOf(
    path,
    // Every effect of the child has a key of its own: running it again repeats none.
    { ...(given as typeof aspects), input, effect: { idempotent: 'nature' } } as Parameters<typeof toolOf>[1],
    { source: 'function', execute: () => Promise.reject(notABody(name)) },
  );
  return {
    ...tool,
    definition: {
      ...tool.definition,
      agent: {
        ...(tools === undefined ? {} : { tools: checkTexts(at(path, 'tools'), tools) }),
        limits: ownLimits(at(path, 'limits'), options.limits),
        maxConcurrent: checkInteger(at(path, 'maxConcurrent'), options.maxConcurrent ?? agentDefaults.maxConcurrent, 1),
        maxDepth: checkInteger(at(path, 'maxDepth'), options.maxDepth ?? agentDefaults.maxDepth, 1),
      },
    },
    agent: {
      task: (value) => (task ? task(value as Input) : (value as { task: string }).task),
      ...(instructions === undefined ? {} : { instructions }),
      ...(model === undefined ? {} : { model }),
    },
  };
}

/** Only what was written: the rest is the configuration's, resolved when the child starts. */
function ownLimits(path: string, limits: unknown): Partial<RunLimits> {
  const resolved = resolveLimits(path, limits);
  const written = Object.keys(limits ?? {}) as (keyof RunLimits)[];
  return Object.fromEntries(written.map((key) => [key, resolved[key]]));
}

function notABody(name: string): ToolError {
  return new ToolError({
    class: 'misconfigured',
    effect: 'none',
    message: `${name} is an agent: its calls are child workflows, which the workflow starts`,
  });
}
