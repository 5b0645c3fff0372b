import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, extname, resolve } from 'node:path';
import { createJiti } from 'jiti';
import { at, didYouMean } from '../config/check-options.js';
import { ConfigError } from '../config/config-error.js';
import { moduleErrorWords } from '../config/module-error.js';
import type { Model } from './model.js';
import { isRecord } from './provider-error.js';
import { scriptedModel, type Script, type ScriptedCall, type ScriptedReply } from './scripted-model.js';

const EXTENSIONS = ['.json', '.ts', '.mts', '.js', '.mjs'];

/**
 * The model of `scripted:FILE`. A `.json` file holds `{ "turns": [ … ] }`; a TypeScript or JavaScript file exports by
 * default a script, one function for all turns, or what `scriptedModel` made. `file` is relative to `rootDir`.
 *
 * Throws ConfigError, with the path of the mistake, where the file is missing, does not load, or holds something else.
 */
export async function loadScriptedModel(file: string, rootDir: string, prices?: Model['prices']): Promise<Model> {
  const path = resolve(rootDir, file);
  const extension = extname(path);
  if (!EXTENSIONS.includes(extension)) {
    throw new ConfigError('model', `scripted:${file}: expected a file ending in ${EXTENSIONS.join(', ')}`);
  }
  const loaded = extension === '.json' ? await readJson(path, file) : await importDefault(path, file);
  if (isRecord(loaded) && typeof loaded['complete'] === 'function') return loaded as unknown as Model;
  const script = asScript(loaded, file);
  return scriptedModel({ name: basename(file), ...(prices && { prices }), ...script });
}

async function readJson(path: string, file: string): Promise<unknown> {
  const text = await readFile(path, 'utf8').catch((cause: unknown) => {
    throw new ConfigError('model', `scripted:${file}: ${unreadable(cause, path)}`, { cause });
  });
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    throw new ConfigError('model', `scripted:${file}: ${jsonErrorWords(cause, path)}`, { cause });
  }
}

function unreadable(cause: unknown, path: string): string {
  const isMissing = cause instanceof Error && (cause as NodeJS.ErrnoException).code === 'ENOENT';
  return isMissing ? `there is no file ${path}` : `cannot read ${path} (${String(cause)})`;
}

/** With the line and column where the parser tells them; where it does not, it quotes the text around. */
function jsonErrorWords(cause: unknown, path: string): string {
  const message = cause instanceof Error ? cause.message : String(cause);
  const place = / in JSON at position \d+ \(line (\d+) column (\d+)\)$/.exec(message);
  const words = place ? message.slice(0, place.index) : message.replace(/ is not valid JSON$/, '');
  return `${path}${place ? `:${place[1] ?? ''}:${place[2] ?? ''}` : ''}: is not JSON: ${words}`;
}

async function importDefault(path: string, file: string): Promise<unknown> {
  if (!existsSync(path)) throw new ConfigError('model', `scripted:${file}: there is no file ${path}`);
  try {
    return await createJiti(import.meta.url).import(path, { default: true });
  } catch (cause) {
    throw new ConfigError('model', `scripted:${file}: ${moduleErrorWords(cause, path)}`, { cause });
  }
}

function asScript(loaded: unknown, file: string): Script {
  if (typeof loaded === 'function') return { turns: loaded as Script['turns'] };
  const turns = isRecord(loaded) ? loaded['turns'] : undefined;
  if (typeof turns !== 'function' && !Array.isArray(turns)) {
    throw new ConfigError('model', `scripted:${file}: expected ${EXAMPLE}, got ${shown(loaded)}`);
  }
  if (Array.isArray(turns)) turns.forEach((turn, index) => checkTurn(turn, `scripted:${file}: turns[${index}]`));
  return loaded as Script;
}

const EXAMPLE = '{ "turns": [{ "calls": [{ "tool": "look", "input": { … } }] }, { "text": "the answer" }] }';

const REPLY_KEYS: readonly string[] = [
  'text',
  'calls',
  'finishReason',
  'usage',
  'delayMs',
  'fail',
  'failFirst',
] satisfies (keyof ScriptedReply)[];
const CALL_KEYS: readonly string[] = ['tool', 'input', 'rawArguments', 'id'] satisfies (keyof ScriptedCall)[];

/** A misspelt key would be a turn that says nothing. */
function refuseOtherKeys(value: Record<string, unknown>, known: readonly string[], where: string): void {
  const other = Object.keys(value).find((key) => !known.includes(key));
  if (other === undefined) return;
  const expected = didYouMean(other, known) || `; expected ${known.join(', ')}`;
  throw new ConfigError('model', `${at(where, other)}: unknown${expected}`);
}

function checkTurn(turn: unknown, where: string): void {
  if (typeof turn === 'function') return;
  if (!isRecord(turn)) {
    throw new ConfigError(
      'model',
      `${where}: expected { "text": … }, { "calls": [ … ] } or a function, got ${shown(turn)}`,
    );
  }
  refuseOtherKeys(turn, REPLY_KEYS, where);
  if (turn['text'] !== undefined && typeof turn['text'] !== 'string') {
    throw new ConfigError('model', `${where}.text: expected a string, got ${shown(turn['text'])}`);
  }
  const calls = turn['calls'] ?? [];
  if (!Array.isArray(calls)) throw new ConfigError('model', `${where}.calls: expected a list, got ${shown(calls)}`);
  calls.forEach((call: unknown, index) => {
    const tool = isRecord(call) ? call['tool'] : undefined;
    if (isRecord(call)) refuseOtherKeys(call, CALL_KEYS, `${where}.calls[${index}]`);
    if (typeof tool === 'string' && tool !== '') return;
    throw new ConfigError('model', `${where}.calls[${index}].tool: expected the name of a tool, got ${shown(tool)}`);
  });
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
