import type { LanguageModelV2StreamPart, LanguageModelV3StreamPart, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import type { JsonObject } from '../contract/json.js';
import type { AiSdkProviderData, RecordedPart } from './ai-sdk-prompt.js';
import type { ModelReply, RawToolCall } from './model.js';

export type AiSdkStreamPart = LanguageModelV2StreamPart | LanguageModelV3StreamPart | LanguageModelV4StreamPart;

/** A part of the answer, in the order in which the parts began. */
type OpenPart =
  | { type: 'text' | 'reasoning'; id: string; text: string; metadata: JsonObject | undefined }
  | {
      type: 'call';
      id: string;
      name: string;
      input: string;
      /** The provider has sent the whole call, not only fragments of it. */
      complete: boolean;
      metadata: JsonObject | undefined;
    }
  | { type: 'opaque'; part: JsonObject };

/** How a stream ended that did not end well; the adapter makes the error of it. */
export type StreamProblem = { problem: 'error-part'; error: unknown } | { problem: 'incomplete'; why: string };

/** Puts the parts of one streamed answer together. `add` returns a problem as soon as the answer is lost. */
export class AiSdkAnswer {
  readonly #provider: string;
  readonly #parts: OpenPart[] = [];
  #finish: { reason: string; usage: ModelReply['usage'] } | undefined;

  constructor(provider: string) {
    this.#provider = provider;
  }

  add(part: AiSdkStreamPart): StreamProblem | undefined {
    switch (part.type) {
      case 'text-start':
      case 'text-delta':
      case 'text-end':
        this.#addText('text', part);
        break;
      case 'reasoning-start':
      case 'reasoning-delta':
      case 'reasoning-end':
        this.#addText('reasoning', part);
        break;
      case 'tool-input-start':
      case 'tool-input-delta':
      case 'tool-input-end':
        this.#addFragment(part);
        break;
      case 'tool-call':
        this.#addCall(part);
        break;
      case 'custom':
      case 'reasoning-file':
        this.#parts.push({ type: 'opaque', part: opaquePart(part) });
        break;
      case 'finish':
        this.#finish = { reason: unifiedReason(part.finishReason), usage: unifiedUsage(part.usage) };
        break;
      case 'error':
        return { problem: 'error-part', error: part.error };
      default:
        // Metadata, pings, sources, raw chunks, and what the provider ran itself: nothing that the loop acts on.
        break;
    }
    return undefined;
  }

  /** The reply, once the stream has ended; a problem where it ended too soon. */
  end(): ModelReply | StreamProblem {
    const finish = this.#finish;
    if (!finish) return { problem: 'incomplete', why: 'the answer ended before it was complete' };
    if (finish.reason === 'error' || finish.reason === 'interrupted') {
      return { problem: 'incomplete', why: 'the provider broke the answer off' };
    }
    const calls = this.#parts.filter((part) => part.type === 'call');
    // At the token limit some providers never send the whole call. It is kept, marked by `length`, and never run.
    const partial = calls.find((call) => !call.complete);
    if (partial && finish.reason !== 'length') {
      return { problem: 'incomplete', why: `the call of ${partial.name} was never completed` };
    }
    const providerData = this.#providerData();
    return {
      text: this.#textOf('text'),
      calls: calls.map((call): RawToolCall => ({
        providerCallId: call.id,
        modelName: call.name,
        rawArguments: call.input,
      })),
      finishReason: finish.reason as ModelReply['finishReason'],
      ...(finish.usage && { usage: finish.usage }),
      ...(providerData && { providerData: providerData as unknown as JsonObject }),
    };
  }

  #addText(
    type: 'text' | 'reasoning',
    part: { id: string; delta?: string; providerMetadata?: unknown; type: string },
  ): void {
    // A block's id may be used again once it has ended, so a start always opens a new one.
    let open = this.#parts.findLast((known) => known.type === type && known.id === part.id);
    if (part.type.endsWith('-start') || open?.type !== type) {
      open = { type, id: part.id, text: '', metadata: undefined };
      this.#parts.push(open);
    }
    open.text += part.delta ?? '';
    open.metadata = jsonOf(part.providerMetadata) ?? open.metadata;
  }

  #addFragment(part: {
    type: string;
    id: string;
    toolName?: string;
    delta?: string;
    providerExecuted?: boolean;
    providerMetadata?: unknown;
  }): void {
    if (part.type === 'tool-input-start') {
      if (part.providerExecuted) return;
      const metadata = jsonOf(part.providerMetadata);
      this.#parts.push({ type: 'call', id: part.id, name: part.toolName ?? '', input: '', complete: false, metadata });
      return;
    }
    const open = this.#openCall(part.id);
    if (!open) return;
    open.input += part.delta ?? '';
    open.metadata = jsonOf(part.providerMetadata) ?? open.metadata;
  }

  #addCall(part: {
    toolCallId: string;
    toolName: string;
    input: unknown;
    providerExecuted?: boolean | undefined;
    providerMetadata?: unknown;
  }): void {
    if (part.providerExecuted) return;
    const whole = {
      type: 'call' as const,
      id: part.toolCallId,
      name: part.toolName,
      // The interface says text; a provider of one's own that sends an object is understood as well.
      input: typeof part.input === 'string' ? part.input : JSON.stringify(part.input ?? {}),
      complete: true,
      metadata: jsonOf(part.providerMetadata),
    };
    const open = this.#openCall(part.toolCallId);
    if (open) Object.assign(open, whole, { metadata: whole.metadata ?? open.metadata });
    else this.#parts.push(whole);
  }

  /** The first call with this id that is not complete: ids may repeat within a turn. */
  #openCall(id: string): (OpenPart & { type: 'call' }) | undefined {
    return this.#parts.find(
      (part): part is OpenPart & { type: 'call' } => part.type === 'call' && part.id === id && !part.complete,
    );
  }

  #textOf(type: 'text' | 'reasoning'): string {
    return this.#parts.map((part) => (part.type === type ? part.text : '')).join('');
  }

  /** Absent where text and calls say it all, which keeps most transcripts small. */
  #providerData(): AiSdkProviderData | undefined {
    const says = this.#parts.some(
      (part) => part.type === 'reasoning' || part.type === 'opaque' || part.metadata !== undefined,
    );
    if (!says) return undefined;
    let call = -1;
    const parts = this.#parts.flatMap((part): RecordedPart[] => {
      if (part.type === 'opaque') return [part];
      const providerOptions = part.metadata && { providerOptions: part.metadata };
      if (part.type === 'call') return [{ type: 'call', call: (call += 1), ...providerOptions }];
      // Anthropic refuses empty text blocks; a reasoning part without text may carry a signature.
      if (part.text === '' && !part.metadata) return [];
      return [{ type: part.type, text: part.text, ...providerOptions }];
    });
    return { kind: 'ai-sdk', provider: this.#provider, parts };
  }
}

/** v2 says it in a word; v3 and v4 in an object with the provider's own word beside it. */
function unifiedReason(reason: string | { unified: string }): string {
  const word = typeof reason === 'string' ? reason : reason.unified;
  const known = ['stop', 'length', 'tool-calls', 'content-filter', 'error', 'interrupted'];
  return known.includes(word) ? word : 'other';
}

/** v2 counts in numbers; v3 and v4 in objects with a total. Anything else stays undefined, to be estimated. */
function unifiedUsage(usage: { inputTokens?: unknown; outputTokens?: unknown } | undefined): ModelReply['usage'] {
  const inputTokens = total(usage?.inputTokens);
  const outputTokens = total(usage?.outputTokens);
  if (inputTokens === undefined && outputTokens === undefined) return undefined;
  return { ...(inputTokens !== undefined && { inputTokens }), ...(outputTokens !== undefined && { outputTokens }) };
}

function total(count: unknown): number | undefined {
  const value = typeof count === 'object' && count !== null ? (count as { total?: unknown }).total : count;
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

/** A prompt part of the same kind: what the provider sent, its metadata under the name that prompts use. */
function opaquePart(part: Extract<AiSdkStreamPart, { type: 'custom' | 'reasoning-file' }>): JsonObject {
  const { providerMetadata, ...rest } = part;
  const withText =
    rest.type === 'reasoning-file' && rest.data.type === 'data' && typeof rest.data.data !== 'string'
      ? { ...rest, data: { ...rest.data, data: Buffer.from(rest.data.data).toString('base64') } }
      : rest;
  return jsonOf({ ...withText, providerOptions: providerMetadata }) ?? {};
}

/** Provider metadata is JSON by its type, but may hold `undefined`; stored messages must not. `{}` says nothing. */
function jsonOf(value: unknown): JsonObject | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const json = JSON.parse(JSON.stringify(value)) as JsonObject;
  const says = Object.values(json).some(
    (entry) => typeof entry !== 'object' || entry === null || Object.keys(entry).length > 0,
  );
  return says ? json : undefined;
}
