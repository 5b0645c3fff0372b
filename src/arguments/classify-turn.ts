import type { ModelReply } from '../models/model.js';
import { scanJson } from './json-scanner.js';

/**
 * What a model turn is, by what it holds and never by its finish reason alone.
 *
 * - `calls`: it asks for tools.
 * - `answer`: text for the user.
 * - `empty`: neither; to be asked once more.
 * - `textual-call`: a tool call written as text. Nobody checked it against a schema: it is never run.
 */
export type TurnKind = 'calls' | 'answer' | 'empty' | 'textual-call';

/** Classifies a reply. `toolNames` are the names that the model was shown; without them a call is known by its form only. */
export function classifyTurn(reply: Pick<ModelReply, 'text' | 'calls'>, toolNames: Iterable<string> = []): TurnKind {
  if (reply.calls.length > 0) return 'calls';
  // Zero-width characters are seen by nobody.
  const text = reply.text.replace(/[\u200b-\u200d\u2060\ufeff]/g, '').trim();
  if (text === '') return 'empty';
  return isTextualCall(text, new Set(toolNames)) ? 'textual-call' : 'answer';
}

/** Marks that models put around calls which their server failed to recognise. */
const CALL_MARKS =
  /^(?:<tool_call>|<\|tool_call\|?>|<function[=_]|<invoke\b|<\|python_tag\|>|<\|channel\|>commentary to=|<\|start\|>assistant<\|channel\|>commentary to=|\[TOOL_CALLS\]|<｜tool▁calls?▁begin｜>|functools\[)/;

function isTextualCall(text: string, names: ReadonlySet<string>): boolean {
  if (CALL_MARKS.test(text)) return true;
  // `[get(q=1)]`, as Llama writes calls.
  const pythonic = /^\[([\w-]{1,64})\(/.exec(text)?.[1];
  if (pythonic !== undefined && names.has(pythonic) && text.endsWith(')]')) return true;
  // A sentence may stand before the fence, nothing after it.
  const fenced = lastFence(text);
  const scanned = scanJson(fenced ?? text);
  if (!scanned.ok || (fenced ?? text).slice(scanned.end).trim() !== '') return false;
  const values = Array.isArray(scanned.value) ? scanned.value : [scanned.value];
  return values.length > 0 && values.every((value) => isCallObject(value, names));
}

/** What stands in the code fence that ends the text, where it is the only one. */
function lastFence(text: string): string | undefined {
  const [before, block, after, ...more] = text.split('```');
  if (before === undefined || block === undefined || after?.trim() !== '' || more.length > 0) return undefined;
  return block.replace(/^[\w-]*\s/, '').trim();
}

/** `{"name": …, "arguments": {…}}` in its spellings. Without a call's own mark it must name a tool that exists. */
function isCallObject(value: unknown, names: ReadonlySet<string>): boolean {
  if (!isRecord(value)) return false;
  const wrapped = value['function'] ?? value['tool_call'] ?? value['function_call'];
  const isMarked = value['type'] === 'function' || value['type'] === 'tool_use' || isRecord(wrapped);
  const call = isRecord(wrapped) ? wrapped : value;
  const name = call['name'] ?? call['tool'] ?? call['tool_name'] ?? (typeof wrapped === 'string' ? wrapped : undefined);
  if (typeof name !== 'string') return isRecord(value['tool_calls']) || Array.isArray(value['tool_calls']);
  const hasArguments = ['arguments', 'parameters', 'input', 'args', 'tool_input'].some((key) => key in call);
  return hasArguments && (isMarked || names.has(name));
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
