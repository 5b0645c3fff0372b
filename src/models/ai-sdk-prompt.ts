import type { LanguageModelV4Message, LanguageModelV4Prompt } from '@ai-sdk/provider';
import type { Json, JsonObject } from '../contract/json.js';
import { turnsOf, type Turn } from './conversation.js';
import type { ModelRequest } from './model.js';
import { replayedArguments } from './raw-arguments.js';
import { showResult } from './shown-result.js';

type AssistantTurn = Turn & { role: 'assistant' };
type AssistantContent = Extract<LanguageModelV4Message, { role: 'assistant' }>['content'];
type UserContent = Extract<LanguageModelV4Message, { role: 'user' }>['content'];
type ProviderOptions = NonNullable<LanguageModelV4Message['providerOptions']>;

/**
 * What a reply of an AI SDK model held besides its text and calls, in its order, kept as the message's `providerData`.
 * `provider` guards against sending one provider's reasoning to another after the run's model was changed.
 */
export interface AiSdkProviderData {
  kind: 'ai-sdk';
  provider: string;
  parts: RecordedPart[];
}

export type RecordedPart =
  | { type: 'text' | 'reasoning'; text: string; providerOptions?: JsonObject }
  /** `call` is the position among the message's calls. */
  | { type: 'call'; call: number; providerOptions?: JsonObject }
  /** Kinds that are sent back as they came (`custom`, `reasoning-file`). */
  | { type: 'opaque'; part: JsonObject };

export interface PromptOptions {
  provider: string;
  takesImages: boolean;
}

/** The request as an AI SDK prompt. Rejects where the conversation is broken (see `turnsOf`) or the store cannot be read. */
export async function aiSdkPrompt(request: ModelRequest, options: PromptOptions): Promise<LanguageModelV4Prompt> {
  const prompt: LanguageModelV4Prompt = [];
  if (request.system !== '') prompt.push({ role: 'system', content: request.system });
  for (const turn of turnsOf(request.messages)) {
    if (turn.role === 'user') {
      addUserContent(prompt, [{ type: 'text', text: turn.text }]);
      continue;
    }
    prompt.push({ role: 'assistant', content: assistantContent(turn, options.provider) });
    if (turn.calls.length > 0) await addResults(prompt, turn, { ...options, loadBody: request.loadBody });
  }
  return prompt;
}

async function addResults(
  prompt: LanguageModelV4Prompt,
  turn: AssistantTurn,
  options: PromptOptions & Pick<ModelRequest, 'loadBody'>,
): Promise<void> {
  const shown = await Promise.all(turn.calls.map((answered) => showResult(answered, options)));
  prompt.push({
    role: 'tool',
    content: turn.calls.map(({ call, result }, index) => ({
      type: 'tool-result',
      toolCallId: call.providerCallId,
      toolName: call.modelName,
      output: { type: result.failed ? 'error-text' : 'text', value: shown[index]?.text ?? result.content },
    })),
  });
  const images = shown.flatMap((result) => result.images);
  addUserContent(
    prompt,
    images.flatMap(({ label, mediaType, bytes }): UserContent => [
      { type: 'text', text: label },
      { type: 'file', mediaType, data: { type: 'data', data: bytes } },
    ]),
  );
}

function addUserContent(prompt: LanguageModelV4Prompt, content: UserContent): void {
  if (content.length === 0) return;
  const last = prompt.at(-1);
  if (last?.role === 'user') last.content.push(...content);
  else prompt.push({ role: 'user', content });
}

function assistantContent(turn: AssistantTurn, provider: string): AssistantContent {
  const recorded = recordedParts(turn, provider);
  if (!recorded) {
    const text: AssistantContent = turn.text === '' ? [] : [{ type: 'text', text: turn.text }];
    return [...text, ...turn.calls.map((_, index) => callPart(turn, index))];
  }
  return recorded.map((part) => {
    switch (part.type) {
      case 'call':
        return callPart(turn, part.call, part.providerOptions);
      case 'opaque':
        return part.part as unknown as AssistantContent[number];
      default:
        return { type: part.type, text: part.text, ...withOptions(part.providerOptions) };
    }
  });
}

/** The recorded parts where they are this provider's and still account for every call. */
function recordedParts(turn: AssistantTurn, provider: string): RecordedPart[] | undefined {
  const data = turn.providerData as unknown as Partial<AiSdkProviderData> | undefined;
  if (data?.kind !== 'ai-sdk' || data.provider !== provider || !Array.isArray(data.parts)) return undefined;
  const calls = data.parts.filter((part) => part.type === 'call').length;
  return calls === turn.calls.length ? data.parts : undefined;
}

/**
 * The call as the model made it. Providers want `input` as an object (Anthropic refuses anything else) and stringify it:
 * digits that a double would round survive as `JSON.rawJSON` values; spacing and key spelling are the provider's then.
 */
function callPart(turn: AssistantTurn, index: number, providerOptions?: JsonObject): AssistantContent[number] {
  const answered = turn.calls[index];
  if (!answered) throw new Error(`recorded provider data names call ${index}, which the message does not have`);
  const { providerCallId, modelName, rawArguments } = answered.call;
  return {
    type: 'tool-call',
    toolCallId: providerCallId,
    toolName: modelName,
    input: replayedArguments(rawArguments).value,
    ...withOptions(providerOptions),
  };
}

function withOptions(providerOptions: JsonObject | undefined): { providerOptions?: ProviderOptions } {
  return providerOptions ? { providerOptions: providerOptions as Record<string, { [key: string]: Json }> } : {};
}

/** Specifications before v4 put a file's bytes directly into `data`; all else that we send is the same. */
export function promptBeforeV4(prompt: LanguageModelV4Prompt): unknown[] {
  return prompt.map((message) => {
    if (message.role !== 'user') return message;
    return {
      ...message,
      content: message.content.map((part) =>
        part.type === 'file' && part.data.type === 'data' ? { ...part, data: part.data.data } : part,
      ),
    };
  });
}
