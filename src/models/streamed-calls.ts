import type { JsonObject } from '../contract/json.js';
import { isRecord } from './provider-error.js';

export interface StreamedCall {
  index: number | undefined;
  /** As sent: may be missing, empty or repeated. */
  id: string | null | undefined;
  name: string;
  arguments: string;
  extraContent?: JsonObject;
}

/**
 * The tool calls of one Chat Completions answer, put together from fragments.
 *
 * OpenAI names a call once (index, id, name) and then sends fragments with the index alone. Others leave out the index
 * (Gemini), the id, or both; repeat id and name in every fragment; use one index or one id for all calls; or send arguments
 * as an object. So a fragment belongs to a call seen before unless something says that it begins another one: a rule that
 * is wrong loses a call, or runs two into one text, which is then refused as two JSON values.
 */
export class StreamedCalls {
  readonly #calls: StreamedCall[] = [];

  /** Takes one entry of `tool_calls`. Entries of an answer that did not stream are `whole` calls, each its own. */
  add(entry: Record<string, unknown>, form: 'fragments' | 'whole'): void {
    const called = isRecord(entry['function']) ? entry['function'] : {};
    const fragment: Fragment = {
      index: typeof entry['index'] === 'number' ? entry['index'] : undefined,
      id: entry['id'] === null || typeof entry['id'] === 'string' ? entry['id'] : undefined,
      name: typeof called['name'] === 'string' ? called['name'] : '',
      text: argumentsText(called['arguments']),
    };
    const known = form === 'fragments' ? this.#callOf(fragment) : undefined;
    const call = known ?? this.#open(fragment);
    call.arguments += fragment.text;
    call.index ??= fragment.index;
    if (!call.id) call.id = fragment.id ?? call.id;
    if (call.name === '') call.name = fragment.name;
    if (isRecord(entry['extra_content'])) call.extraContent = entry['extra_content'] as JsonObject;
  }

  /** By index where every call has one, else as they began. Calls that share an index stay as they began. */
  inOrder(): StreamedCall[] {
    if (this.#calls.some((call) => call.index === undefined)) return this.#calls;
    return this.#calls.toSorted((a, b) => (a.index as number) - (b.index as number));
  }

  #open(fragment: Fragment): StreamedCall {
    const call: StreamedCall = { index: fragment.index, id: fragment.id, name: fragment.name, arguments: '' };
    this.#calls.push(call);
    return call;
  }

  #callOf(fragment: Fragment): StreamedCall | undefined {
    const last = this.#lastLike(fragment);
    if (!last || fragment.name === '') return last;
    if (last.name !== '' && last.name !== fragment.name) return undefined;
    const otherId = Boolean(fragment.id && last.id && fragment.id !== last.id);
    const text = fragment.text.trimStart();
    // A name again, alone: a repeated head unless its id is new. With the start of an object: a new call, if its id is new
    // or the arguments so far are whole.
    if (text === '') return otherId ? undefined : last;
    return text.startsWith('{') && (otherId || isJson(last.arguments)) ? undefined : last;
  }

  #lastLike(fragment: Fragment): StreamedCall | undefined {
    if (fragment.index !== undefined) {
      const sameIndex = this.#calls.filter((call) => call.index === fragment.index);
      return sameIndex.findLast((call) => fragment.id && call.id === fragment.id) ?? sameIndex.at(-1);
    }
    const sameId = fragment.id ? this.#calls.findLast((call) => call.id === fragment.id) : undefined;
    return sameId ?? (fragment.name === '' ? this.#calls.at(-1) : undefined);
  }
}

interface Fragment {
  index: number | undefined;
  id: string | null | undefined;
  name: string;
  text: string;
}

/** Some servers send arguments as an object. Its numbers were parsed with their digits kept, so it stringifies exactly. */
function argumentsText(value: unknown): string {
  if (typeof value === 'string') return value;
  return value === undefined || value === null ? '' : JSON.stringify(value);
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
