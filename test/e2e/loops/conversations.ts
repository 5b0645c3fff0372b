/** Conversations that go round in circles, and honest ones that look alike: what a scripted model asks for, turn by turn. */
import type { Json, JsonObject } from '../../../src/contract/json.js';
import type { ScriptedCall } from '../../../src/models/scripted-model.js';
import { defineTool } from '../../../src/tools/define-tool.js';
import { ToolError } from '../../../src/tools/tool-error.js';
import type { Tool, ToolOptions } from '../../../src/tools/tool.js';

/** What a body is asked; `run` counts the bodies of its run, from 1. */
export interface Asked {
  tool: string;
  args: JsonObject;
  run: number;
}

export interface Conversation {
  way: string;
  /** The calls of a turn, the first being 0; none ends the run with an answer. */
  turn: (turn: number) => ScriptedCall[];
  /** Default: what the tool usually answers. */
  body?: (asked: Asked) => Json;
}

export interface Circle extends Conversation {
  /** Bodies that may run before the run is ended. */
  most: number;
}

const loop = { equalCalls: 2, equalAnswers: 5 };

/** One page of a list: the same for every question, as a backend gives that does not look at the arguments. */
const page = { items: Array.from({ length: 12 }, (_, n) => ({ id: `A-${n}`, title: `Item number ${n}` })), next: 'c2' };
const nothing = { items: [] };

/** `tool:{"json":1}`, or `tool` alone. */
function call(text: string): ScriptedCall {
  const at = text.indexOf(':');
  return at < 0 ? { tool: text } : { tool: text.slice(0, at), rawArguments: text.slice(at + 1) };
}
/** One call a turn, in turn. */
const inTurn =
  (...texts: string[]) =>
  (turn: number) => [call(texts[turn % texts.length] as string)];
/** One call a turn, made of the turn's number. */
const each = (text: (turn: number) => string) => (turn: number) => [call(text(turn))];

const letter = (turn: number) => String.fromCharCode(97 + (turn % 26)).repeat(1 + Math.floor(turn / 26));
const refuses = (failureClass: 'not_found' | 'business_rule_violation', words: string) => (): never => {
  throw new ToolError({ class: failureClass, effect: 'none', publicMessage: words });
};

export const circles: Circle[] = [
  { way: 'the very same call', turn: inTurn('search:{"q":"a b"}'), most: 2 },
  { way: 'key order', turn: inTurn('search:{"q":"a b","n":1}', 'search:{"n":1,"q":"a b"}'), most: 2 },
  { way: 'spacing', turn: inTurn('search:{"q":"a b"}', 'search:{ "q" : " a  b " }'), most: 2 },
  { way: 'letter case', turn: inTurn('search:{"q":"Red Shoes"}', 'search:{"q":"red shoes"}'), most: 2 },
  { way: 'punctuation', turn: inTurn('search:{"q":"red shoes"}', 'search:{"q":"red, shoes!"}'), most: 2 },
  { way: 'number form', turn: inTurn('search:{"n":1}', 'search:{"n":1.0}', 'search:{"n":"1"}'), most: 2 },
  {
    way: 'words for nothing',
    turn: inTurn('search:{"q":"a b"}', 'search:{"q":"a b","n":null}', 'search:{"q":"a b","n":"none"}'),
    most: 2,
  },
  { way: 'empty arguments', turn: inTurn('search:{}', 'search:', 'search: {} '), most: 2 },
  { way: 'a request id', turn: each((n) => `search:{"q":"a b","request_id":"r${n}"}`), most: 2 },
  { way: 'a made-up field, new each time', turn: each((n) => `search:{"q":"a b","zzz":"${n}"}`), most: 2 },
  { way: 'two reads in turn (A B A B)', turn: inTurn('search:{"q":"a"}', 'look_up:{"id":"7"}'), most: 4 },
  { way: 'two writes in turn (A B A B)', turn: inTurn('open_valve:{"v":1}', 'close_valve:{"v":1}'), most: 4 },
  {
    way: 'three writes in no order',
    turn: (turn) => {
      const writes = ['open_valve:{"v":1}', 'close_valve:{"v":1}', 'write_note:{"text":"checked"}'];
      // A fixed shuffle: no period that a look at the last rounds could find.
      return [call(writes['0102120120210210120021201021021012'.charCodeAt(turn % 34) % 3] as string)];
    },
    most: 18,
  },
  {
    way: 'the same question to four tools in turn',
    turn: inTurn('search:{"q":"x"}', 'find:{"q":"x"}', 'look_up:{"q":"x"}', 'browse:{"q":"x"}'),
    most: 8,
  },
  {
    way: 'one call five times in a turn',
    turn: () => Array.from({ length: 5 }, () => call('search:{"q":"a"}')),
    most: 2,
  },
  {
    way: 'a batch in changing order',
    turn: (turn) => {
      const batch = ['search:{"q":"a"}', 'look_up:{"id":"7"}'];
      return (turn % 2 ? batch.reverse() : batch).map(call);
    },
    most: 4,
  },
  {
    way: 'a new time in every result',
    turn: inTurn('search:{"q":"a"}'),
    body: ({ run }) => ({ ...nothing, timestamp: run }),
    most: 2,
  },
  { way: 'paging that gives the same page', turn: each((n) => `browse:{"page":${n}}`), body: () => page, most: 6 },
  { way: 'rotating ids, one long answer', turn: each((n) => `look_up:{"id":"id-${n}"}`), body: () => page, most: 6 },
  {
    way: 'a declared nonce, one long answer',
    turn: each((n) => `search:{"q":"a","n":${n * 7}}`),
    body: () => page,
    most: 6,
  },
  {
    way: 'a string that grows',
    turn: each((n) => `search:{"q":"red shoes ${Array.from({ length: n }, (_, i) => letter(i)).join(' ')}"}`),
    body: () => nothing,
    most: 6,
  },
  {
    way: 'a batch of pages, all the same',
    turn: (turn) => [0, 1, 2].map((n) => call(`browse:{"page":${turn * 3 + n}}`)),
    body: () => page,
    most: 18,
  },
  {
    way: 'a failed call, made again',
    turn: inTurn('look_up:{"id":"7"}'),
    body: refuses('not_found', 'There is no 7.'),
    most: 2,
  },
  { way: 'a broken tool with ever new arguments', turn: each((n) => `broken:{"q":"${letter(n)}"}`), most: 3 },
  { way: 'bad arguments, new each time', turn: each((n) => `book:{"seats":"${letter(n)}"}`), most: 0 },
  { way: 'tools that are not there', turn: each((n) => `tool_${n}:{"q":"x"}`), most: 0 },
  {
    way: 'guessed ids that are not found',
    turn: each((n) => `look_up:{"id":"guess ${letter(n)}"}`),
    body: ({ args }) => refuses('not_found', `There is no ${JSON.stringify(args['id'])}.`)(),
    most: 21,
  },
];

/** After so many turns an honest model has what it wanted. */
const honestTurns = 24;
const until =
  (turn: Conversation['turn'], turns = honestTurns): Conversation['turn'] =>
  (number) =>
    number < turns ? turn(number) : [];

export const honest: Conversation[] = [
  { way: 'polling', turn: until(inTurn('job_status:{"job":7}')) },
  {
    way: 'a result that changes',
    turn: until(inTurn('search:{"q":"queue"}')),
    body: ({ run }) => ({ waiting: 100 - run }),
  },
  {
    way: 'a test run after each edit',
    turn: until((n) => [call(n % 2 ? 'look_up:{"id":"tests"}' : `write_note:{"text":"edit ${n}"}`)]),
  },
  {
    way: 'a file that is read after each edit, unchanged',
    turn: until((n) => [call(n % 2 ? 'look_up:{"id":"file"}' : `write_note:{"text":"edit ${n}"}`)]),
    body: ({ tool }) => (tool === 'look_up' ? page : { ok: true }),
  },
  {
    way: 'one row after another, all fine',
    turn: until(each((n) => `write_note:{"text":"row ${n}"}`)),
    body: () => ({ ok: true }),
  },
  {
    way: 'host after host, all up',
    turn: until(each((n) => `look_up:{"id":"web-${n}"}`)),
    body: () => ({ status: 'up' }),
  },
  {
    way: 'hosts in batches, all up',
    turn: until((n) => Array.from({ length: 8 }, (_, i) => call(`look_up:{"id":"web-${n * 8 + i}"}`)), 6),
    body: () => ({ status: 'up' }),
  },
  {
    way: 'page after page',
    turn: until(each((n) => `browse:{"page":${n}}`)),
    body: ({ run }) => ({ ...page, next: `c${run}` }),
  },
  {
    way: 'the same licence in four packages, then other files',
    turn: until(each((n) => `look_up:{"id":"packages/${letter(n)}/${n < 4 ? 'LICENSE' : 'README'}"}`)),
    body: ({ run }) => (run <= 4 ? page : { ...page, next: `c${run}` }),
  },
  {
    way: 'writes in turn whose results change',
    turn: until(inTurn('open_valve:{"v":1}', 'close_valve:{"v":1}')),
    body: ({ run }) => ({ litres: run }),
  },
  {
    way: 'ids of which a third is found',
    turn: until(each((n) => `look_up:{"id":"order-${n}"}`)),
    body: ({ run, args }) =>
      run % 3 === 0 ? { id: args['id'] as Json } : refuses('not_found', 'There is no such order.')(),
  },
  {
    way: 'arguments put right at the third try',
    turn: until(each((n) => `book:{"seats":${n % 3 === 2 ? n : `"${letter(n)}"`}}`)),
    body: ({ args }) => ({ booked: args['seats'] as Json }),
  },
  {
    way: 'tests that go on failing after each edit',
    turn: until((n) => [call(n % 2 ? 'run_tests' : `write_note:{"text":"edit ${n}"}`)]),
    body: ({ tool }) => {
      if (tool !== 'run_tests') return { ok: true };
      throw new ToolError({ class: 'tool_error', effect: 'none', publicMessage: '2 tests failed: adds, subtracts' });
    },
  },
  {
    way: 'two calls to make sure',
    turn: until(each((n) => `search:{"q":"question ${letter(Math.floor(n / 2))}"}`)),
    body: ({ args }) => ({ about: args['q'] as Json }),
  },
  {
    way: 'identifiers that differ in letter case',
    turn: until(each((n) => `look_up:{"id":"${(n + 16).toString(2).replaceAll('1', 'A').replaceAll('0', 'a')}x"}`)),
  },
];

const text = { type: 'string' };
const anything = {};
/** `body` is asked for the run's own conversation. */
export function conversationTools(body: (asked: Omit<Asked, 'run'>, runId: string) => Json): Tool[] {
  const tool = (
    name: string,
    properties: JsonObject,
    more: Partial<Omit<ToolOptions<JsonObject, unknown>, 'name'>> = {},
  ) =>
    defineTool({
      name,
      description: `Does ${name}.`,
      effect: 'read',
      input: { type: 'object', properties },
      execute: (args, ctx) => body({ tool: name, args }, ctx.runId),
      ...more,
    });
  const effect = { idempotent: 'nature' } as const;
  return [
    tool('search', { q: text, n: anything }),
    tool('find', { q: text }),
    tool('look_up', { id: text, q: text }),
    tool('browse', { page: { type: 'integer' }, q: text }),
    tool('job_status', { job: { type: 'integer' } }, { polling: true }),
    tool('book', { seats: { type: 'integer' } }, { effect }),
    tool('open_valve', { v: anything }, { effect }),
    tool('close_valve', { v: anything }, { effect }),
    tool('write_note', { text }, { effect: 'once' }),
    tool('run_tests', {}, { failureOutput: 'verbatim' }),
    tool(
      'broken',
      { q: text },
      {
        execute: (args, ctx) => {
          body({ tool: 'broken', args }, ctx.runId);
          throw new TypeError("Cannot read properties of undefined (reading 'id')");
        },
      },
    ),
  ];
}

export const loopPolicy = { ...loop, stalledRounds: 2, onExhausted: 'stop' } as const;
