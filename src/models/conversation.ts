import type { JsonObject } from '../contract/json.js';
import type { RecordedCall, TranscriptMessage } from '../contract/transcript.js';

export type ToolMessage = Extract<TranscriptMessage, { role: 'tool' }>;

/** A call with its one result. */
export interface AnsweredCall {
  call: RecordedCall;
  result: ToolMessage;
}

/** The conversation as every provider accepts it: roles alternate, and each call stands with its result. */
export type Turn =
  | { role: 'user'; text: string }
  | { role: 'assistant'; text: string; calls: AnsweredCall[]; providerData?: JsonObject };

/**
 * Groups a transcript into turns. Results come in the order of their calls. Neighbouring messages of one role are joined
 * with a blank line, and assistant messages with nothing in them are left out, because several providers refuse either.
 *
 * Throws where the conversation is broken (a call without a result, a result without a call, a system message in the
 * middle): a provider would refuse it as well, in every later turn, and with less to go by.
 */
export function turnsOf(messages: readonly TranscriptMessage[]): Turn[] {
  const turns: Turn[] = [];
  let at = 0;
  while (at < messages.length) {
    const message = messages[at] as TranscriptMessage;
    at += 1;
    switch (message.role) {
      case 'system':
        throw new Error(`message ${at - 1}: a system message cannot stand inside a conversation`);
      case 'tool':
        throw new Error(`message ${at - 1}: the result of ${message.callId} has no call before it`);
      case 'user':
        addUser(turns, message.text);
        break;
      case 'assistant': {
        const results: ToolMessage[] = [];
        for (let next = messages[at]; next?.role === 'tool'; next = messages[at]) {
          results.push(next);
          at += 1;
        }
        const calls = pairUp(message.calls, results);
        addAssistant(turns, {
          role: 'assistant',
          text: message.text,
          calls,
          ...(message.providerData && { providerData: message.providerData }),
        });
      }
    }
  }
  return turns;
}

function pairUp(calls: RecordedCall[], results: ToolMessage[]): AnsweredCall[] {
  const byCallId = new Map(results.map((result) => [result.callId, result]));
  if (byCallId.size !== results.length) throw new Error('a call has more than one result');
  const pairs = calls.map((call) => {
    const result = byCallId.get(call.callId);
    if (!result) throw new Error(`call ${call.callId} (${call.tool}) has no result`);
    byCallId.delete(call.callId);
    return { call, result };
  });
  for (const callId of byCallId.keys()) throw new Error(`the result of ${callId} has no call before it`);
  return pairs;
}

function addUser(turns: Turn[], text: string): void {
  const last = turns.at(-1);
  if (last?.role === 'user') last.text = `${last.text}\n\n${text}`;
  else turns.push({ role: 'user', text });
}

function addAssistant(turns: Turn[], turn: Turn & { role: 'assistant' }): void {
  if (turn.text === '' && turn.calls.length === 0 && !turn.providerData) return;
  const last = turns.at(-1);
  // Provider data belongs to one message as it was, so only plain text is joined.
  const joins = last?.role === 'assistant' && last.calls.length === 0 && !last.providerData && !turn.providerData;
  if (joins) turns[turns.length - 1] = { ...turn, text: [last.text, turn.text].filter(Boolean).join('\n\n') };
  else turns.push(turn);
}
