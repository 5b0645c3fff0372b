/**
 * Cases L01 and L03 of cases.jsonl (test/cases/README.md) against the real policies: what a model writes goes through the
 * real parsing and validation, then through the guards that the workflow asks. The variants are spellings and orders of
 * our own.
 */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { prepareCalls } from '../../src/arguments/prepare-calls.js';
import { createValidator, type Validator } from '../../src/arguments/validator.js';
import { resolveLimits } from '../../src/config/resolve-config.js';
import type { Outcome, PreparedCall, ToolCall } from '../../src/contract/call.js';
import type { FuseState, LoopPolicy, LoopState } from '../../src/contract/guard-state.js';
import type { Json } from '../../src/contract/json.js';
import type { Manifest } from '../../src/contract/manifest.js';
import { usageOf } from '../../src/models/usage.js';
import { isStuck, loopLimitsOf, noLoop } from '../../src/policy/loop-defence.js';
import { admitCalls, noCounters, reachedCap } from '../../src/policy/run-budget.js';
import { defineTool } from '../../src/tools/define-tool.js';
import { buildManifest, summarizeManifest } from '../../src/tools/manifest.js';
import { refuse } from '../../src/workflows/refuse-call.js';
import { StepGuards } from '../../src/workflows/step-guards.js';

interface Case {
  id: string;
  input: { calls?: { name: string; args: string }[]; variants?: Record<string, Json>[] };
}
const cases = new Map(
  readFileSync(new URL('./cases.jsonl', import.meta.url), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Case)
    .map((each) => [each.id, each.input]),
);

const anything = { type: 'object' } as const;
const base = { description: 'For the tests.', input: anything, execute: () => null };
const manifest: Manifest = buildManifest([
  defineTool({ ...base, name: 'search', effect: 'read' }),
  defineTool({ ...base, name: 'read_page', effect: 'read' }),
  defineTool({ ...base, name: 'bash' }),
  defineTool({ ...base, name: 'open_valve' }),
  defineTool({ ...base, name: 'close_valve' }),
  defineTool({ ...base, name: 'job_status', effect: 'read', polling: true }),
  defineTool({
    ...base,
    name: 'book',
    input: { type: 'object', properties: { seats: { type: 'integer', minimum: 1 } }, required: ['seats'] },
  }),
]);

/** A call as a model writes it: the tool and the arguments' text. */
type Written = [tool: string, args: string];
/** What a body gives; `undefined` fails as a broken tool does. */
type Body = (call: { tool: string; run: number }) => Json | undefined;

let validator: Validator;
beforeAll(() => {
  validator = createValidator();
});
afterAll(() => validator.close());

/** A run's steps, with the state of its guards carried as JSON from one to the next, as continue-as-new does. */
class Run {
  state: { loop: LoopState; fuse: FuseState } = { loop: noLoop, fuse: {} };
  ran = 0;
  steps = 0;
  readonly classes: string[] = [];
  readonly policy: LoopPolicy;

  constructor(policy: LoopPolicy) {
    this.policy = policy;
  }

  get stuck(): boolean {
    return this.policy.onExhausted === 'stop' && isStuck(this.state.loop, loopLimitsOf(this.policy));
  }

  async step(calls: Written[], body: Body): Promise<string[]> {
    this.steps += 1;
    const guards = new StepGuards(
      { ...this.state, loopPolicy: this.policy, manifest: summarizeManifest(manifest) },
      this.steps * 1_000,
    );
    const outcomes = (await this.#prepare(calls)).map((call) => this.#execute(guards.admit(call), body));
    this.state = JSON.parse(JSON.stringify(guards.observe(outcomes))) as typeof this.state;
    const ended = outcomes.map((outcome) => ('failure' in outcome ? outcome.failure.class : outcome.status));
    this.classes.push(...ended);
    return ended;
  }

  async #prepare(calls: Written[]): Promise<PreparedCall[]> {
    const { prepared } = await prepareCalls({
      runKey: 'run',
      step: this.steps,
      reply: {
        calls: calls.map(([modelName, rawArguments], index) => ({
          providerCallId: `p${index}`,
          modelName,
          rawArguments,
        })),
        finishReason: 'tool-calls',
      },
      manifest,
      validator,
      isUsedProviderId: () => false,
      putBody: () => Promise.reject(new Error('no arguments of these tests are large')),
    });
    return prepared.map((call): PreparedCall => {
      if (call.status === 'ready') return call;
      return {
        status: 'answered',
        callId: call.callId,
        digest: call.folded,
        outcome: failed(call, call.failure.class),
      };
    });
  }

  #execute(prepared: PreparedCall, body: Body): Outcome {
    if (prepared.status === 'answered') return prepared.outcome;
    const { callId, key, tool } = prepared.call;
    this.ran += 1;
    const inline = body({ tool, run: this.ran });
    if (inline === undefined) return failed(prepared.call, 'tool_bug');
    return { status: 'succeeded', callId, key, tool, attempts: 1, elapsedMs: 1, result: { inline } };
  }
}

/** A failure that a body (or the validation) ended with, not the workflow's guards. */
function failed(
  call: Pick<ToolCall, 'callId' | 'tool' | 'key'>,
  failureClass: 'tool_bug' | Parameters<typeof refuse>[1],
) {
  const { refusedByWorkflow: _mark, ...outcome } = refuse(call, failureClass);
  return outcome;
}

const same: Body = () => ({ items: [] });
const stop: LoopPolicy = { equalCalls: 2, equalAnswers: 5, onExhausted: 'stop' };

/** In turn, over and over. */
function inTurn<T>(...values: T[]): (turn: number) => T {
  return (turn) => values[turn % values.length] as T;
}
const each = (next: (turn: number) => Written) => (turn: number) => [next(turn)];
const search = (...args: string[]) => each(inTurn(...args.map((arg): Written => ['search', arg])));

/** Twenty and more ways to make one call again and again; `period` is the number of different calls in a round. */
const repetitions: {
  way: string;
  turn: (turn: number) => Written[];
  period?: number;
  perTurn?: number;
  body?: Body;
}[] = [
  { way: 'the very same text', turn: search('{"q":"weather in Berlin"}') },
  { way: 'key order', turn: search('{"q":"a b","n":1}', '{"n":1,"q":"a b"}') },
  { way: 'key order within', turn: search('{"f":{"a":1,"b":2}}', '{"f":{"b":2,"a":1}}') },
  { way: 'spacing of the JSON', turn: search('{"q":"a b"}', '{ "q" :\n "a b" }', '\t{"q":"a b"} ') },
  { way: 'spacing of the text', turn: search('{"q":"red shoes"}', '{"q":" red  shoes"}', '{"q":"red\\tshoes\\n"}') },
  { way: 'number form', turn: search('{"n":1}', '{"n":1.0}', '{"n":1e0}', '{"n":"1"}', '{"n":"1.0"}') },
  { way: 'exponents', turn: search('{"n":1000}', '{"n":1e3}', '{"n":"1e3"}') },
  { way: 'booleans as text', turn: search('{"on":true}', '{"on":"true"}', '{"on":"True"}') },
  { way: 'letter case of a sentence', turn: search('{"q":"Red Shoes"}', '{"q":"red shoes"}', '{"q":"RED SHOES"}') },
  { way: 'letter case of a word', turn: search('{"q":"Berlin"}', '{"q":"berlin"}', '{"q":"BERLIN"}') },
  { way: 'punctuation', turn: search('{"q":"red shoes"}', '{"q":"red, shoes!"}', '{"q":"\\"red\\" shoes?"}') },
  {
    way: 'empty fields',
    turn: search('{"q":"a b"}', '{"q":"a b","tags":[]}', '{"q":"a b","note":"","x":null,"f":{"g":{}}}'),
  },
  { way: 'empty items', turn: search('{"ids":["a"]}', '{"ids":["a",""]}', '{"ids":["a",null]}') },
  {
    way: 'escapes and composed letters',
    turn: search('{"q":"café au lait"}', '{"q":"caf\\u00e9 au lait"}', '{"q":"cafe\\u0301 au lait"}'),
  },
  { way: 'full-width letters', turn: search('{"q":"red shoes"}', '{"q":"ｒｅｄ ｓｈｏｅｓ"}') },
  {
    way: 'characters that nobody sees',
    turn: search('{"q":"red shoes"}', '{"q":"red\\u200b shoes"}', '{"q":"\\ufeffred shoes"}'),
  },
  { way: 'an id of the request', turn: (turn) => [['search', `{"q":"a b","request_id":"r-${turn}"}`]] },
  { way: 'a nonce and a trace id', turn: (turn) => [['search', `{"q":"a b","nonce":${turn},"traceId":"t${turn}"}`]] },
  { way: 'no arguments', turn: search('{}', '', ' {} ') },
  {
    way: 'a write',
    turn: each(inTurn<Written>(['bash', '{"cmd":"echo noop","t":1}'], ['bash', '{"t":1.0,"cmd":"echo noop"}'])),
  },
  {
    way: 'a result that differs in its time only',
    turn: search('{"q":"a b"}'),
    body: ({ run }) => ({ items: [], timestamp: 1_000 + run, took: run }),
  },
  {
    way: 'two reads in turn',
    turn: each(inTurn<Written>(['search', '{"q":"a"}'], ['read_page', '{"p":1}'])),
    period: 2,
  },
  {
    way: 'two writes in turn',
    turn: each(inTurn<Written>(['open_valve', '{"v":1}'], ['close_valve', '{"v":1}'])),
    period: 2,
  },
  {
    way: 'two writes in turn, respelt',
    turn: each(
      inTurn<Written>(
        ['open_valve', '{"v":1}'],
        ['close_valve', '{"v":"1"}'],
        ['open_valve', '{"v":"1.0"}'],
        ['close_valve', '{"v":1.0}'],
      ),
    ),
    period: 2,
  },
  {
    way: 'a round of a read and two writes',
    turn: each(inTurn<Written>(['search', '{"q":"a"}'], ['open_valve', '{"v":1}'], ['close_valve', '{"v":1}'])),
    period: 3,
  },
  {
    way: 'a batch of reads',
    turn: () => [
      ['search', '{"q":"a"}'],
      ['read_page', '{"p":1}'],
    ],
    period: 2,
    perTurn: 2,
  },
  {
    way: 'a batch of reads in changing order',
    turn: inTurn<Written[]>(
      [
        ['search', '{"q":"a"}'],
        ['read_page', '{"p":1}'],
      ],
      [
        ['read_page', '{"p":1}'],
        ['search', '{"q":"a"}'],
      ],
    ),
    period: 2,
    perTurn: 2,
  },
  {
    way: 'a batch of writes',
    turn: () => [
      ['open_valve', '{"v":1}'],
      ['close_valve', '{"v":1}'],
    ],
    period: 2,
    perTurn: 2,
  },
  {
    way: 'one call five times in a batch',
    turn: () => Array.from({ length: 5 }, (): Written => ['search', '{"q":"a"}']),
    perTurn: 5,
  },
  { way: 'a failing call whose words count on', turn: search('{"q":"a b"}'), body: () => undefined },
];

describe('L01: a model that repeats itself', () => {
  it('as in the case: two run, the third and the fourth are refused, and the run ends', async () => {
    const run = new Run(stop);
    const calls = cases.get('L01')?.calls ?? [];
    for (const { name, args } of calls) await run.step([[name, args]], () => 'noop');
    expect(run.classes).toEqual(['succeeded', 'succeeded', 'repeated_call_blocked', 'repeated_call_blocked']);
    expect(run.stuck).toBe(true);
  });

  it('is tried in twenty ways and more', () => {
    expect(repetitions.length).toBeGreaterThanOrEqual(20);
  });

  describe.each([2, 3, 4])('with equalCalls %i', (equalCalls) => {
    it.each(repetitions)('by $way, is stopped', async ({ turn, period = 1, perTurn = 1, body = same }) => {
      const run = new Run({ ...stop, equalCalls });
      for (let number = 0; number < 60 && !run.stuck; number += 1) await run.step(turn(number), body);
      expect(run.stuck).toBe(true);
      // A fuse may end a failing tool's calls sooner.
      expect(run.ran).toBeLessThanOrEqual(equalCalls * period);
      // The first refusal is read, the second one ends the run: never more than two rounds later.
      expect(run.steps).toBeLessThanOrEqual(Math.ceil((equalCalls * period) / perTurn) + 2 * period);
    });

    it('by invalid arguments written in other ways, is stopped', async () => {
      const run = new Run({ ...stop, equalCalls });
      const ways = inTurn('{"seats":"many"}', '{ "seats": "MANY" }', '{"seats":"many","note":""}');
      for (let number = 0; number < 60 && !run.stuck; number += 1) await run.step([['book', ways(number)]], same);
      expect(run).toMatchObject({ stuck: true, ran: 0, steps: equalCalls + 2 });
      expect(new Set(run.classes)).toEqual(new Set(['validation_error']));
    });

    it('by arguments that cannot be read, is stopped', async () => {
      const run = new Run({ ...stop, equalCalls });
      const ways = inTurn('{"seats": 2, oops', '{"seats":2,oops', '{ "seats": 2,\n oops');
      for (let number = 0; number < 60 && !run.stuck; number += 1) await run.step([['book', ways(number)]], same);
      expect(run).toMatchObject({ stuck: true, ran: 0, steps: equalCalls + 2 });
    });

    it('by a tool that is not there, is stopped', async () => {
      const run = new Run({ ...stop, equalCalls });
      for (let number = 0; number < 60 && !run.stuck; number += 1) await run.step([['find', '{"q":1}']], same);
      expect(run).toMatchObject({ stuck: true, ran: 0, steps: equalCalls + 2 });
    });
  });

  it('by ever new arguments to a tool that is switched off, is stopped', async () => {
    const run = new Run(stop);
    for (let number = 0; number < 60 && !run.stuck; number += 1) {
      await run.step([['search', `{"q":"attempt ${String.fromCharCode(97 + number)}"}`]], () => undefined);
    }
    expect(run).toMatchObject({ stuck: true, ran: 3, steps: 8 });
    expect(run.classes.slice(3)).toEqual(Array.from({ length: 5 }, () => 'tool_temporarily_disabled'));
  });

  it("is refused on and on where `onExhausted` is 'model'", async () => {
    const run = new Run({ ...stop, onExhausted: 'model' });
    for (let number = 0; number < 30; number += 1) await run.step([['search', '{"q":"a b"}']], same);
    expect(run).toMatchObject({ stuck: false, ran: 2 });
    expect(run.classes.slice(2)).toEqual(Array.from({ length: 28 }, () => 'repeated_call_blocked'));
  });

  it('is not ended by the refusals of one step, which it has not read yet', async () => {
    const run = new Run(stop);
    const batch = ['a', 'b', 'c', 'd', 'e', 'f'].map((q): Written => ['search', `{"q":"${q}"}`]);
    for (let number = 0; number < 2; number += 1) await run.step(batch, same);
    expect(await run.step(batch, same)).toEqual(batch.map(() => 'repeated_call_blocked'));
    expect(run.stuck).toBe(false);
    await run.step(batch, same);
    expect(run.stuck).toBe(true);
  });
});

describe('honest work goes on', () => {
  it.each<{ what: string; turn: (turn: number) => Written[]; body?: Body }>([
    { what: 'polling', turn: each(() => ['job_status', '{"job":7}']) },
    {
      what: 'a call whose result changes',
      turn: search('{"q":"queue length"}'),
      body: ({ run }) => ({ waiting: 100 - run }),
    },
    {
      what: 'a test run after each edit',
      turn: (turn) => [turn % 2 ? ['read_page', '{"p":"tests"}'] : ['bash', `{"cmd":"edit ${turn}"}`]],
    },
    { what: 'one row after another', turn: (turn) => [['bash', `{"row":${turn}}`]] },
    { what: 'identifiers that differ in a sign or a digit', turn: (turn) => [['search', `{"id":"order-${turn}"}`]] },
    {
      what: 'identifiers that differ in letter case',
      turn: (turn) => [['search', `{"id":"${(turn + 16).toString(2).replaceAll('1', 'A').replaceAll('0', 'a')}x"}`]],
    },
    {
      what: 'page after page in batches',
      turn: (turn) => [0, 1, 2].map((n): Written => ['read_page', `{"p":${turn * 3 + n}}`]),
    },
    {
      what: 'writes in turn whose results change',
      turn: each(inTurn<Written>(['open_valve', '{"v":1}'], ['close_valve', '{"v":1}'])),
      body: ({ run }) => ({ litres: run }),
    },
  ])('$what', async ({ turn, body = same }) => {
    const run = new Run(stop);
    for (let number = 0; number < 60; number += 1) await run.step(turn(number), body);
    expect(new Set(run.classes)).toEqual(new Set(['succeeded']));
    expect(run.stuck).toBe(false);
  });
});

describe('L03: the edges of budgets', () => {
  const limitsOf = (calls: number) => resolveLimits('limits', { calls });

  it('none left is no "no limit"', () => {
    expect(cases.get('L03')?.variants?.[0]).toEqual({ remaining: 0 });
    expect(reachedCap({ ...noCounters, calls: 5 }, limitsOf(5), 0)).toBe('calls_cap');
    expect(reachedCap(noCounters, limitsOf(0), 0)).toBe('calls_cap');
    expect(admitCalls({ ...noCounters, calls: 5 }, limitsOf(5), 3)).toBe(0);
  });

  it.each(['abc', '', NaN, Infinity, -1, '5', true, {}])('a limit of %j is a ConfigError, never no limit', (limit) => {
    expect(() => resolveLimits('limits', { calls: limit })).toThrow(/^limits\.calls: /);
  });

  it.each([{}, { usage: {} }, { usage: { inputTokens: NaN, outputTokens: NaN } }, { usage: { inputTokens: -5 } }])(
    'usage that is missing or no number is estimated: %j',
    (reported) => {
      const request = {
        system: 'x'.repeat(400),
        messages: [],
        tools: [],
        signal: AbortSignal.abort(),
        loadBody: () => Promise.resolve(undefined),
      };
      const usage = usageOf({ text: 'y'.repeat(40), calls: [], finishReason: 'stop', ...reported }, request, undefined);
      expect(usage).toEqual({ inputTokens: 100, outputTokens: 10, costUsd: 0, estimated: true });
    },
  );

  it('of five calls side by side exactly three are admitted where three are left', () => {
    expect(cases.get('L03')?.variants?.[4]).toEqual({ limit_calls: 3, parallel_calls: 5 });
    expect(admitCalls(noCounters, limitsOf(3), 5)).toBe(3);
    expect(admitCalls({ ...noCounters, calls: 3 }, limitsOf(3), 5)).toBe(0);
  });
});
