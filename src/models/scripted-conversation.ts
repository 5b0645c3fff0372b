import { createHash } from 'node:crypto';
import type { Json } from '../contract/json.js';
import type { TranscriptMessage } from '../contract/transcript.js';
import type { ToolMessage } from './conversation.js';
import type { ModelRequest } from './model.js';

/** The conversation so far, as a script reads it. */
export class ScriptedConversation {
  readonly messages: readonly TranscriptMessage[];
  /** Names of the tools on offer; empty on the last turn. */
  readonly tools: readonly string[];
  /** Number of the turn that is asked for, the first being 0. */
  readonly turn: number;
  /** The user's first words. */
  readonly task: string;

  constructor(request: Pick<ModelRequest, 'messages' | 'tools'>) {
    this.messages = request.messages;
    this.tools = request.tools.map((tool) => tool.modelName);
    // Counted, not collected: a long run asks for it at each of its steps.
    this.turn = request.messages.reduce((turns, { role }) => turns + (role === 'assistant' ? 1 : 0), 0);
    this.task = request.messages.find((message) => message.role === 'user')?.text ?? '';
  }

  /** What the model was shown as the result of the call, parsed. Throws where there is none or it is not JSON. */
  result(callId: string): Json {
    const message = this.#results().findLast((result) => result.callId === callId);
    if (!message) throw new Error(`the script asks for the result of ${callId}, which the conversation does not hold`);
    return parsed(message);
  }

  /** The results of the last turn's calls, in their order. */
  lastResults(): Json[] {
    const start = this.messages.findLastIndex((message) => message.role === 'assistant');
    return this.#results(this.messages.slice(start + 1)).map(parsed);
  }

  /** All results of a tool, oldest first; `tool` is its own name or the one that the model wrote. */
  resultsOf(tool: string): Json[] {
    return this.#results()
      .filter((result) => result.tool === tool || result.modelName === tool)
      .map(parsed);
  }

  /** Equal for equal conversations. */
  fingerprint(): string {
    return createHash('sha256').update(JSON.stringify(this.messages)).digest('hex');
  }

  #results(messages = this.messages): ToolMessage[] {
    return messages.filter((message) => message.role === 'tool');
  }
}

function parsed(message: ToolMessage): Json {
  try {
    return JSON.parse(message.content) as Json;
  } catch (cause) {
    throw new Error(`the result of ${message.callId} is not JSON`, { cause });
  }
}
