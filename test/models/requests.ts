import type { ModelRequest } from '../../src/models/model.js';
import type { TranscriptMessage } from '../../src/contract/transcript.js';

/** A request with the least in it. */
export function requestOf(parts: Partial<ModelRequest> = {}): ModelRequest {
  return {
    system: '',
    messages: [{ role: 'user', text: 'hello' }],
    tools: [],
    signal: new AbortController().signal,
    loadBody: () => Promise.reject(new Error('this test stores no bodies')),
    ...parts,
  };
}

export const aTool = {
  modelName: 'get',
  description: 'Gets.',
  inputSchema: { type: 'object', properties: { k: { type: 'integer' } } },
} satisfies ModelRequest['tools'][number];

export function assistant(
  calls: { callId: string; providerCallId?: string; tool?: string; rawArguments?: string }[],
  more: { text?: string; providerData?: Extract<TranscriptMessage, { role: 'assistant' }>['providerData'] } = {},
): TranscriptMessage {
  return {
    role: 'assistant',
    text: more.text ?? '',
    calls: calls.map(({ callId, providerCallId, tool, rawArguments }) => ({
      callId,
      providerCallId: providerCallId ?? `call_${callId}`,
      tool: tool ?? 'get',
      modelName: tool ?? 'get',
      rawArguments: rawArguments ?? '{}',
    })),
    finishReason: calls.length > 0 ? 'tool-calls' : 'stop',
    usage: { inputTokens: 1, outputTokens: 1, costUsd: 0 },
    ...(more.providerData && { providerData: more.providerData }),
  };
}

export function toolResult(
  callId: string,
  content: string,
  more: { failed?: boolean; attachments?: Extract<TranscriptMessage, { role: 'tool' }>['attachments'] } = {},
): TranscriptMessage {
  return {
    role: 'tool',
    callId,
    providerCallId: `call_${callId}`,
    tool: 'get',
    modelName: 'get',
    content,
    failed: more.failed ?? false,
    ...(more.attachments && { attachments: more.attachments }),
  };
}
