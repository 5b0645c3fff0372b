import { setTimeout as delay } from 'node:timers/promises';
import type { Json } from '../contract/json.js';
import type { Model, ModelReply, ModelRequest } from './model.js';
import { ProviderAnswerError } from './provider-error.js';
import { ScriptedConversation } from './scripted-conversation.js';

export interface ScriptedCall {
  tool: string;
  /** Default `{}`. */
  input?: Json;
  /** The arguments as text, for calls that are not well-formed; wins over `input`. */
  rawArguments?: string;
  /** The provider's call id. Default `call_<turn>_<index>`; null or '' as some providers send it. */
  id?: string | null;
}

/** One answer of the scripted model. */
export interface ScriptedReply {
  text?: string;
  calls?: ScriptedCall[];
  /** Default `tool-calls` where there are calls, else `stop`. */
  finishReason?: ModelReply['finishReason'];
  /** Default: none reported, so that it is estimated. */
  usage?: NonNullable<ModelReply['usage']>;
  delayMs?: number;
  /** Thrown instead of the reply, every time. */
  fail?: ScriptedFailure;
  /**
   * Thrown one by one before the reply is given. The only thing that the model remembers: how often this process asked
   * this very question. Another process starts from the first failure again.
   */
  failFirst?: ScriptedFailure[];
}

/** A provider's failure: an HTTP answer where there is a status, else a socket that was reset. */
export interface ScriptedFailure {
  status?: number;
  headers?: Record<string, string>;
  message?: string;
  body?: Json;
}

export type ScriptedTurn =
  ScriptedReply | ((conversation: ScriptedConversation) => ScriptedReply | Promise<ScriptedReply>);

export interface Script {
  /** Default `script`; the model is shown as `scripted:<name>`. */
  name?: string;
  /** Turn by turn, or one function for all of them, which `endlessScript` makes. */
  turns: readonly ScriptedTurn[] | ((conversation: ScriptedConversation) => ScriptedReply | Promise<ScriptedReply>);
  takesImages?: boolean;
  prices?: Model['prices'];
}

/**
 * A deterministic model for runs without a key.
 *
 * The reply is a function of the conversation alone: the turn is chosen by counting the assistant's messages, because
 * workers die and the same turn is asked again, by a process that has never seen the first. So a turn that is a function
 * must not remember anything either.
 *
 * `complete` rejects when the script has no such turn, with the scripted failure, or with the signal's reason.
 */
export function scriptedModel(script: Script): Model {
  const asked = new Map<string, number>();
  return {
    name: `scripted:${script.name ?? 'script'}`,
    takesImages: script.takesImages ?? false,
    ...(script.prices && { prices: script.prices }),
    async complete(request) {
      request.signal.throwIfAborted();
      const conversation = new ScriptedConversation(request);
      const reply = await turnOf(script, conversation);
      if (reply.delayMs !== undefined) await pause(reply.delayMs, request.signal);
      const failure = reply.fail ?? failureToCome(reply, conversation, asked);
      if (failure) throw failureError(failure);
      return modelReply(reply, conversation.turn);
    },
  };
}

/** A script without an end, for long runs: `reply` is asked with the turn's number, the first being 0. */
export function endlessScript(
  reply: (turn: number, conversation: ScriptedConversation) => ScriptedReply,
  options: Omit<Script, 'turns'> = {},
): Model {
  return scriptedModel({ ...options, turns: (conversation) => reply(conversation.turn, conversation) });
}

async function turnOf(script: Script, conversation: ScriptedConversation): Promise<ScriptedReply> {
  const turn = typeof script.turns === 'function' ? script.turns : script.turns[conversation.turn];
  if (turn === undefined) {
    const { length } = script.turns;
    const turns = length === 1 ? '1 turn' : `${length} turns`;
    throw new Error(`scripted:${script.name ?? 'script'} has ${turns} and was asked for another`);
  }
  return typeof turn === 'function' ? turn(conversation) : turn;
}

function failureToCome(
  reply: ScriptedReply,
  conversation: ScriptedConversation,
  asked: Map<string, number>,
): ScriptedFailure | undefined {
  if (!reply.failFirst) return undefined;
  const question = conversation.fingerprint();
  const before = asked.get(question) ?? 0;
  asked.set(question, before + 1);
  return reply.failFirst[before];
}

function failureError({ status, headers, message, body }: ScriptedFailure): Error {
  if (status === undefined) {
    // As fetch reports it: the reason stands in the cause.
    const cause = Object.assign(new Error(message ?? 'read ECONNRESET'), { code: 'ECONNRESET' });
    return new TypeError('fetch failed', { cause });
  }
  const words = message ?? `scripted failure, HTTP ${status}`;
  const data = body ?? { error: { message: words } };
  return new ProviderAnswerError({
    message: words,
    url: 'scripted:',
    status,
    headers: headers ?? {},
    body: JSON.stringify(data),
    data,
  });
}

function modelReply(reply: ScriptedReply, turn: number): ModelReply {
  const calls = (reply.calls ?? []).map((call, index) => ({
    providerCallId: call.id === undefined ? `call_${turn}_${index}` : call.id,
    modelName: call.tool,
    rawArguments: call.rawArguments ?? JSON.stringify(call.input ?? {}),
  }));
  return {
    text: reply.text ?? '',
    calls,
    finishReason: reply.finishReason ?? (calls.length > 0 ? 'tool-calls' : 'stop'),
    ...(reply.usage && { usage: reply.usage }),
  };
}

async function pause(ms: number, signal: ModelRequest['signal']): Promise<void> {
  try {
    await delay(ms, undefined, { signal });
  } catch (error) {
    // The timer wraps the reason into an AbortError of its own.
    throw signal.aborted ? signal.reason : error;
  }
}
