import type { JsonObject } from '../contract/json.js';
import type { ChatProviderData } from './chat-completions-request.js';
import type { ModelReply } from './model.js';
import { isRecord } from './provider-error.js';
import { StreamedCalls } from './streamed-calls.js';

/** Why an answer is not one, in the words for people. */
export interface IncompleteAnswer {
  incomplete: string;
}

/**
 * Puts the chunks of one Chat Completions answer together. What it does not know it passes over; a field of a type that
 * it does not expect counts as absent, because "compatible" servers differ in most of them.
 */
export class ChatCompletionsAnswer {
  readonly #calls = new StreamedCalls();
  #text = '';
  #reasoning: ChatProviderData['reasoning'];
  readonly #reasoningDetails: JsonObject[] = [];
  #finishReason: string | undefined;
  #usage: ModelReply['usage'];

  /** Takes one chunk: a stream's event, or the body of an answer that did not stream. */
  add(chunk: Record<string, unknown>): void {
    this.#usage = usageOfChunk(chunk['usage']) ?? this.#usage;
    const choice = Array.isArray(chunk['choices']) ? (chunk['choices'] as unknown[])[0] : undefined;
    if (!isRecord(choice)) return;
    if (typeof choice['finish_reason'] === 'string' && choice['finish_reason'] !== '') {
      this.#finishReason = choice['finish_reason'];
    }
    const { delta, message } = choice;
    if (isRecord(delta)) this.#addMessage(delta, 'fragments');
    else if (isRecord(message)) this.#addMessage(message, 'whole');
  }

  /** True once the model has said how it ended: nothing but usage can follow. */
  get finished(): boolean {
    return this.#finishReason !== undefined;
  }

  reply(): ModelReply | IncompleteAnswer {
    if (this.#finishReason === undefined) return { incomplete: 'the answer ended before it was complete' };
    if (this.#finishReason === 'error') return { incomplete: 'the provider broke the answer off' };
    const calls = this.#calls.inOrder();
    if (calls.some((call) => call.name === '')) return { incomplete: 'the answer holds a tool call without a name' };
    const providerData = this.#providerData(calls.map((call) => call.extraContent));
    return {
      text: this.#text,
      calls: calls.map((call) => ({ providerCallId: call.id, modelName: call.name, rawArguments: call.arguments })),
      finishReason: FINISH_REASONS.get(this.#finishReason) ?? 'other',
      ...(this.#usage && { usage: this.#usage }),
      ...(providerData && { providerData: providerData as unknown as JsonObject }),
    };
  }

  #addMessage(message: Record<string, unknown>, form: 'fragments' | 'whole'): void {
    this.#text += textOf(message['content']) + textOf(message['refusal']);
    for (const field of ['reasoning_content', 'reasoning'] as const) {
      const text = message[field];
      if (typeof text !== 'string' || text === '') continue;
      // Some servers send both fields with the same text; the first that was seen is kept.
      this.#reasoning ??= { field, text: '' };
      if (this.#reasoning.field === field) this.#reasoning.text += text;
    }
    if (Array.isArray(message['reasoning_details'])) this.#addReasoningDetails(message['reasoning_details']);
    if (Array.isArray(message['tool_calls'])) {
      for (const call of message['tool_calls'] as unknown[]) if (isRecord(call)) this.#calls.add(call, form);
    }
  }

  /** Fragments of a block share type and index: their texts are joined, their other fields (signatures) added. */
  #addReasoningDetails(details: unknown[]): void {
    for (const detail of details) {
      if (!isRecord(detail)) continue;
      const last = this.#reasoningDetails.at(-1);
      const joins = last && last['type'] === detail['type'] && last['index'] === detail['index'];
      if (!joins) this.#reasoningDetails.push({ ...detail } as JsonObject);
      else {
        for (const [key, value] of Object.entries(detail as JsonObject)) {
          const grows = ['text', 'summary', 'data'].includes(key) && typeof value === 'string';
          if (grows) last[key] = `${typeof last[key] === 'string' ? last[key] : ''}${value}`;
          else if (value !== null) last[key] = value;
        }
      }
    }
  }

  #providerData(extraContents: (JsonObject | undefined)[]): ChatProviderData | undefined {
    const extra = extraContents.flatMap((content, index) => (content ? [[String(index), content] as const] : []));
    if (!this.#reasoning && this.#reasoningDetails.length === 0 && extra.length === 0) return undefined;
    return {
      kind: 'chat-completions',
      ...(this.#reasoning && { reasoning: this.#reasoning }),
      ...(this.#reasoningDetails.length > 0 && { reasoningDetails: this.#reasoningDetails }),
      ...(extra.length > 0 && { extraContent: Object.fromEntries(extra) }),
    };
  }
}

const FINISH_REASONS = new Map<string, ModelReply['finishReason']>([
  ['stop', 'stop'],
  ['length', 'length'],
  ['max_tokens', 'length'],
  ['tool_calls', 'tool-calls'],
  ['function_call', 'tool-calls'],
  ['content_filter', 'content-filter'],
]);

/** Content is a string, null, or (Mistral) a list of parts. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content
    .map((part: unknown) =>
      isRecord(part) && part['type'] === 'text' && typeof part['text'] === 'string' ? part['text'] : '',
    )
    .join('');
}

function usageOfChunk(usage: unknown): ModelReply['usage'] {
  if (!isRecord(usage)) return undefined;
  const { prompt_tokens: input, completion_tokens: output } = usage;
  return {
    ...(typeof input === 'number' && { inputTokens: input }),
    ...(typeof output === 'number' && { outputTokens: output }),
  };
}
