/** What a model turn asks, and of which model. */
import { schemaForProvider } from '../arguments/provider-schema.js';
import type { CallModelInput } from '../contract/activities.js';
import type { Manifest } from '../contract/manifest.js';
import type { TranscriptMessage } from '../contract/transcript.js';
import type { ModelChoice } from '../models/model-choice.js';
import type { Model, ModelRequest, OfferedTool } from '../models/model.js';
import { notReady, turnFailed } from '../temporal/failure-mapper.js';
import type { LiveAgent } from '../tools/tool.js';
import type { Services } from './services.js';
import { systemPrompt } from './system-prompt.js';

/** The agent whose run this is; a worker that does not have it leaves its turns to one that does. */
export function liveAgent(services: Services, name: string | undefined): LiveAgent | undefined {
  if (name === undefined) return undefined;
  const agent = services.tools.get(name)?.agent;
  if (agent) return agent;
  throw notReady(`this worker's configuration has no agent "${name}", whose run this is. Deploy it again.`, 5_000);
}

export async function modelFor(services: Services, choice: ModelChoice | undefined): Promise<Model> {
  const model = choice === undefined ? services.model : await services.resolveModel(choice);
  if (model) return model;
  throw turnFailed({
    class: 'misconfigured',
    code: 'TOOL_INVALID_002',
    effectState: 'none',
    message: 'this worker has no model: set `model` in perdure.config.ts, or OPENAI_API_KEY in its environment',
    suggestedAction: 'configure a model and start the run again',
    retryable: false,
  });
}

export function questionOf(
  services: Services,
  input: CallModelInput,
  manifest: Manifest,
  messages: TranscriptMessage[],
): Omit<ModelRequest, 'signal'> {
  return {
    system: systemPrompt({
      instructions: liveAgent(services, input.agent)?.instructions ?? services.instructions,
      ...(input.emphasis ? { emphasis: namedForModel(input.emphasis, manifest) } : {}),
      ...(input.nudge ? { nudge: input.nudge } : {}),
      ...(input.finalTurn ? { finalTurn: input.finalTurn } : {}),
    }),
    messages,
    tools: input.finalTurn ? [] : offeredTools(manifest),
    loadBody: (bodyId) => services.store.getBody(bodyId),
  };
}

const offered = new WeakMap<Manifest, OfferedTool[]>();

/** The tools as a provider is shown them; made once for a manifest, which never changes. */
function offeredTools(manifest: Manifest): OfferedTool[] {
  const known = offered.get(manifest);
  if (known) return known;
  const tools = manifest.tools.map(({ modelName, description, inputSchema }) => ({
    modelName,
    description,
    inputSchema: schemaForProvider(inputSchema),
  }));
  offered.set(manifest, tools);
  return tools;
}

/** Tools by the names that the model was shown. */
function namedForModel<T extends { tool: string }>(named: T[], manifest: Manifest): T[] {
  return named.map((each) => {
    const tool = manifest.tools.find(({ name }) => name === each.tool);
    return tool ? { ...each, tool: tool.modelName } : each;
  });
}
