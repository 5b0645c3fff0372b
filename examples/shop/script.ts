/** The scripted model of the demo, for `model: 'scripted:./script.ts'`: see agent/script.ts for what it does. */
import type { Exchange, ToolResult } from './agent/conversation.ts';
import { nextTurn } from './agent/script.ts';

/** The messages of the conversation, as far as the script reads them. */
type Message =
  | { role: 'system' | 'user' }
  | { role: 'assistant'; calls: readonly { callId: string; tool: string; rawArguments: string }[] }
  | { role: 'tool'; callId: string; content: string };

export default {
  name: 'shop',
  turns(conversation: { messages: readonly Message[]; tools: readonly string[] }) {
    if (conversation.tools.length === 0) return { text: 'I have to stop here, and could not finish.' };
    const { text, calls } = nextTurn(exchangesOf(conversation.messages));
    return { text, calls: calls.map(({ tool, args }) => ({ tool, input: args })) };
  },
};

/** Every call with its answer, in the order of the answers. */
export function exchangesOf(messages: readonly Message[]): Exchange[] {
  const asked = new Map<string, { tool: string; args: Record<string, unknown> }>();
  const exchanges: Exchange[] = [];
  for (const message of messages) {
    if (message.role === 'assistant') {
      for (const { callId, tool, rawArguments } of message.calls) {
        asked.set(callId, { tool, args: JSON.parse(rawArguments) as Record<string, unknown> });
      }
    } else if (message.role === 'tool') {
      const call = asked.get(message.callId);
      if (!call) throw new Error(`the conversation answers ${message.callId}, which nobody asked for`);
      exchanges.push({ ...call, result: JSON.parse(message.content) as ToolResult });
    }
  }
  return exchanges;
}
