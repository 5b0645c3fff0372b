import type { TranscriptMessage, TurnUsage } from '../contract/transcript.js';
import type { Model, ModelReply, ModelRequest } from './model.js';

/** Rule of thumb for English text in the vendors' own documents; good enough to keep a budget from never filling. */
const CHARACTERS_PER_TOKEN = 4;

/** What of a request has tokens. */
type Question = Pick<ModelRequest, 'system' | 'messages' | 'tools'>;

/**
 * What a turn used. Each number that the provider reported is taken where it is finite and not negative; each other one is
 * estimated from the text that was sent or received (images are not counted), and the usage is marked. A budget never
 * meets NaN. `costUsd` is 0 without prices.
 */
export function usageOf(reply: ModelReply, request: Question, prices: Model['prices']): TurnUsage {
  const reportedInput = count(reply.usage?.inputTokens);
  const reportedOutput = count(reply.usage?.outputTokens);
  const inputTokens = reportedInput ?? tokensIn(requestCharacters(request));
  const outputTokens = reportedOutput ?? tokensIn(replyCharacters(reply));
  const costUsd = prices
    ? (inputTokens * prices.inputPerMillion + outputTokens * prices.outputPerMillion) / 1_000_000
    : 0;
  const estimated = reportedInput === undefined || reportedOutput === undefined;
  return { inputTokens, outputTokens, costUsd, ...(estimated && { estimated: true }) };
}

/** About how many tokens a request has, before it is sent; images are not counted. */
export function estimateInputTokens(request: Question): number {
  return tokensIn(requestCharacters(request));
}

function count(reported: number | undefined): number | undefined {
  return Number.isFinite(reported) && (reported as number) >= 0 ? reported : undefined;
}

function tokensIn(characters: number): number {
  return Math.ceil(characters / CHARACTERS_PER_TOKEN);
}

function requestCharacters(request: Question): number {
  const tools = request.tools.length === 0 ? 0 : JSON.stringify(request.tools).length;
  return request.messages.reduce((sum, message) => sum + messageCharacters(message), request.system.length + tools);
}

function messageCharacters(message: TranscriptMessage): number {
  switch (message.role) {
    case 'system':
    case 'user':
      return message.text.length;
    case 'assistant':
      return message.calls.reduce(
        (sum, call) => sum + call.modelName.length + call.rawArguments.length,
        message.text.length,
      );
    case 'tool':
      return message.content.length;
  }
}

function replyCharacters(reply: ModelReply): number {
  return reply.calls.reduce((sum, call) => sum + call.modelName.length + call.rawArguments.length, reply.text.length);
}
