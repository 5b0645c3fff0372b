import type { JsonObject } from '../contract/json.js';
import { turnsOf, type Turn } from './conversation.js';
import type { ModelRequest } from './model.js';
import { replayedArguments } from './raw-arguments.js';
import { showResult, type ShownImage } from './shown-result.js';

/** What a Chat Completions reply held besides text and calls and must see again, kept as `providerData`. */
export interface ChatProviderData {
  kind: 'chat-completions';
  /** The field that reasoning came in, and its text; DeepSeek and Kimi refuse tool turns that come back without it. */
  reasoning?: { field: 'reasoning_content' | 'reasoning'; text: string };
  /** OpenRouter's signed reasoning blocks. */
  reasoningDetails?: JsonObject[];
  /** Gemini's thought signatures, by the call's position in the message. */
  extraContent?: Record<string, JsonObject>;
}

type ContentPart = { type: 'text'; text: string } | { type: 'image_url'; image_url: { url: string } };
type ChatMessage = JsonObject | { role: 'user'; content: string | ContentPart[] };

export interface ChatRequestOptions {
  model: string;
  takesImages: boolean;
  includeUsage: boolean;
}

/** The body of a streaming Chat Completions request. Rejects where the conversation is broken (see `turnsOf`). */
export async function chatRequestBody(request: ModelRequest, options: ChatRequestOptions): Promise<object> {
  return {
    model: options.model,
    messages: await chatMessages(request, options.takesImages),
    ...(request.tools.length > 0 && {
      tools: request.tools.map((tool) => ({
        type: 'function',
        function: { name: tool.modelName, description: tool.description, parameters: tool.inputSchema },
      })),
    }),
    stream: true,
    ...(options.includeUsage && { stream_options: { include_usage: true } }),
  };
}

async function chatMessages(request: ModelRequest, takesImages: boolean): Promise<ChatMessage[]> {
  const messages: ChatMessage[] = [];
  if (request.system !== '') messages.push({ role: 'system', content: request.system });
  // Images wait for the user's next words, so that there is one user message and not two in a row.
  let images: ShownImage[] = [];
  for (const turn of turnsOf(request.messages)) {
    if (turn.role === 'user') {
      messages.push(userMessage(images, turn.text));
      images = [];
      continue;
    }
    if (images.length > 0) messages.push(userMessage(images));
    messages.push(assistantMessage(turn));
    const shown = await Promise.all(
      turn.calls.map((answered) => showResult(answered, { takesImages, loadBody: request.loadBody })),
    );
    turn.calls.forEach(({ call }, index) =>
      messages.push({ role: 'tool', tool_call_id: call.providerCallId, content: shown[index]?.text ?? '' }),
    );
    images = shown.flatMap((result) => result.images);
  }
  if (images.length > 0) messages.push(userMessage(images));
  return messages;
}

/** Plain text stays a string: many local servers know no content parts. */
function userMessage(images: ShownImage[], text?: string): ChatMessage {
  if (images.length === 0) return { role: 'user', content: text ?? '' };
  const parts = images.flatMap(({ label, mediaType, bytes }): ContentPart[] => [
    { type: 'text', text: label },
    { type: 'image_url', image_url: { url: `data:${mediaType};base64,${Buffer.from(bytes).toString('base64')}` } },
  ]);
  return { role: 'user', content: text === undefined ? parts : [...parts, { type: 'text', text }] };
}

function assistantMessage(turn: Turn & { role: 'assistant' }): JsonObject {
  const data = chatProviderData(turn.providerData);
  // A text answer goes back without its reasoning: only tool turns need it, and some servers refuse it elsewhere.
  if (turn.calls.length === 0) return { role: 'assistant', content: turn.text };
  return {
    role: 'assistant',
    content: turn.text === '' ? null : turn.text,
    ...(data?.reasoning && { [data.reasoning.field]: data.reasoning.text }),
    ...(data?.reasoningDetails && { reasoning_details: data.reasoningDetails }),
    tool_calls: turn.calls.map(({ call }, index) => {
      const extra = data?.extraContent?.[String(index)];
      return {
        id: call.providerCallId,
        type: 'function',
        function: { name: call.modelName, arguments: replayedArguments(call.rawArguments).text },
        ...(extra && { extra_content: extra }),
      };
    }),
  };
}

function chatProviderData(data: JsonObject | undefined): ChatProviderData | undefined {
  return data?.['kind'] === 'chat-completions' ? (data as unknown as ChatProviderData) : undefined;
}
