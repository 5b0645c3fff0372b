/**
 * The cases from the field of groups A, S and M (test/cases/README.md), each with its variants, and other spellings of
 * the same kinds. M04 (orphans after compaction) belongs to compaction.
 */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { classifyTurn } from '../../src/arguments/classify-turn.js';
import { type PreparedCalls, prepareCalls } from '../../src/arguments/prepare-calls.js';
import { schemaForProvider } from '../../src/arguments/provider-schema.js';
import { createValidator, type Validator } from '../../src/arguments/validator.js';
import { ConfigError } from '../../src/config/config-error.js';
import type { Json, JsonObject } from '../../src/contract/json.js';
import type { ManifestTool } from '../../src/contract/manifest.js';
import type { ModelReply } from '../../src/models/model.js';
import { assignModelNames, checkToolName } from '../../src/tools/tool-names.js';

interface Case {
  id: string;
  kind: string;
  input: Record<string, never>;
  expected: { model_text_includes?: string[]; model_text_excludes?: string[] };
}

const cases = new Map(
  readFileSync(new URL('./cases.jsonl', import.meta.url), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Case)
    .map((each) => [each.id, each]),
);

function input<T>(id: string): T {
  const found = cases.get(id);
  if (!found) throw new Error(`there is no case ${id}`);
  return found.input as T;
}

let validator: Validator;
beforeAll(() => {
  validator = createValidator();
});
afterAll(() => validator.close());

function tool(name: string, inputSchema: JsonObject = { type: 'object' }, modelName = name): ManifestTool {
  return {
    name,
    modelName,
    description: '',
    inputSchema,
    examples: [],
    alternatives: [],
    policy: {},
  } as unknown as ManifestTool;
}

interface WireCall {
  id?: string | null;
  function: { name: string; arguments: string };
}

function turn(
  calls: WireCall[],
  tools: ManifestTool[],
  more: { finishReason?: ModelReply['finishReason']; step?: number; used?: string[] } = {},
): Promise<PreparedCalls> {
  return prepareCalls({
    runKey: 'run',
    step: more.step ?? 1,
    reply: {
      finishReason: more.finishReason ?? 'tool-calls',
      calls: calls.map((each) => ({
        providerCallId: each.id,
        modelName: each.function.name,
        rawArguments: each.function.arguments,
      })),
    },
    manifest: { hash: 'h', tools },
    validator,
    putBody: () => Promise.reject(new Error('nothing here is large')),
    isUsedProviderId: (id) => new Set(more.used).has(id),
  });
}

/** What became of one call with these arguments: what the tool would be given, or the model's text. */
async function outcomeOf(schema: JsonObject, raw: string, finishReason: ModelReply['finishReason'] = 'tool-calls') {
  const { recorded, prepared } = await turn(
    [{ id: 'p', function: { name: 't', arguments: raw } }],
    [tool('t', schema)],
    {
      finishReason,
    },
  );
  const [only] = prepared;
  expect(recorded[0]?.rawArguments).toBe(raw);
  if (only?.status === 'ready') {
    const { arguments: args } = only.call;
    return { given: 'inline' in args ? args.inline : undefined, repairs: recorded[0]?.repairs ?? [] };
  }
  const { failure } = only as Extract<typeof only, { status: 'refused' }>;
  expect(failure).toMatchObject({ class: 'validation_error', effectState: 'none' });
  return { refused: [failure.reason, failure.hint, JSON.stringify(failure.violations)].join(' '), failure };
}

function textHolds(id: string, text: string | undefined): void {
  const { model_text_includes: includes = [], model_text_excludes: excludes = [] } = cases.get(id)?.expected ?? {};
  for (const words of includes) expect(text).toContain(words);
  for (const words of excludes) expect(text).not.toContain(words);
}

it('every case of groups A, S and M here has its test', () => {
  const mine = [...cases.keys()].filter((id) => /^[AS]\d|^M0[1257]$/.test(id));
  expect(mine.sort()).toEqual('A01 A03 A05 A06 A07 A09 A10 A11 M01 M02 M05 M07 S01 S02 S03 S05 S07 S08 S09'.split(' '));
});

describe('A01 arguments cut off by the token limit', () => {
  interface Input {
    tool: { name: string; parameters: JsonObject };
    model_message: { tool_calls: WireCall[] };
  }

  it('are refused with the number of characters, and kept as they came', async () => {
    const { tool: purge, model_message: message } = input<Input>('A01');
    const raw = message.tool_calls[0]?.function.arguments ?? '';
    const { refused } = await outcomeOf(purge.parameters, raw, 'length');
    textHolds('A01', refused);
    expect(refused).toContain(`${raw.length} characters were received`);
    expect(refused).toMatch(/shorter arguments.*several calls/);
  });

  it.each([
    '{"table":"orders"',
    '{"table":"ord',
    '{"table":"orders","dry_run":',
    '{',
    '{"table":"orders","where":"id > 1',
    '{"table":"orders","dry_run":true,',
  ])('also where the reason was not told: %s', async (raw) => {
    for (const reason of ['length', 'stop', 'tool-calls', 'other'] as const) {
      const { refused } = await outcomeOf(input<Input>('A01').tool.parameters, raw, reason);
      expect(refused).toContain('cut off');
    }
  });

  it.each(['```json\n{"table":"orders"}\n```', '"{\\"table\\":\\"orders\\"}"', ''])(
    'are not repaired even where a repair would give a whole: %j',
    async (raw) => {
      expect((await outcomeOf(input<Input>('A01').tool.parameters, raw, 'length')).refused).toContain('cut off');
    },
  );
});

describe('A02 no arguments', () => {
  it.each(['', ' ', '\n'])('are {} for a tool that needs none, recorded as a repair: %j', async (raw) => {
    expect(await outcomeOf({ type: 'object', properties: { a: {} } }, raw)).toMatchObject({
      given: {},
      repairs: [expect.any(String)],
    });
  });

  it('are named as the cause where a tool needs some', async () => {
    const { refused, failure } = await outcomeOf({ type: 'object', properties: { a: {} }, required: ['a'] }, '');
    expect(refused).toContain('No arguments were sent');
    expect(failure?.code).toBe('PARAM_MISSING_001');
  });
});

describe('A03 double-encoded arguments', () => {
  interface Input {
    schema: JsonObject;
    variants: { arguments: string }[];
  }
  const { schema, variants } = input<Input>('A03');

  it.each(variants.slice(0, 2))('are unwrapped: $arguments', async ({ arguments: raw }) => {
    expect(await outcomeOf(schema, raw)).toMatchObject({ given: { order_id: '27422' } });
  });

  it.each([...variants.slice(2).map((each) => each.arguments), 'null', '"[]"', '"7"', '""', 'true', '"[{}]"'])(
    'that hold no object are refused, never {}: %s',
    async (raw) => {
      for (const each of [schema, { type: 'object' }]) {
        expect((await outcomeOf(each, raw)).refused).toContain('must be a JSON object');
      }
    },
  );

  it('are unwrapped with a fence inside or outside', async () => {
    const inner = '{"order_id":"27422"}';
    const fence = (text: string): string => `\`\`\`json\n${text}\n\`\`\``;
    for (const raw of [fence(JSON.stringify(inner)), JSON.stringify(fence(inner))]) {
      expect(await outcomeOf(schema, raw)).toMatchObject({
        given: { order_id: '27422' },
        repairs: [expect.any(String), expect.any(String)],
      });
    }
  });

  it('are not unwrapped without end', async () => {
    let raw = '{"order_id":"1"}';
    for (let i = 0; i < 5; i++) raw = JSON.stringify(raw);
    expect((await outcomeOf(schema, raw)).refused).toContain('more than 3 times');
  });
});

describe('A04 fields sent as JSON text', () => {
  const schema: JsonObject = {
    type: 'object',
    properties: {
      filter: { type: 'object', properties: { q: { type: 'string' } } },
      ids: { type: 'array', items: { type: 'integer' } },
      body: { type: 'string' },
    },
  };

  it('are read where only the object or list fits, and are text where text fits', async () => {
    expect(await outcomeOf(schema, '{"filter":"{\\"q\\":\\"x\\"}","ids":"[1,2]","body":"{\\"q\\":1}"}')).toMatchObject({
      given: { filter: { q: 'x' }, ids: [1, 2], body: '{"q":1}' },
      repairs: [expect.stringContaining('filter'), expect.stringContaining('ids')],
    });
  });

  it.each(['{"filter":"q=x"}', '{"ids":"1,2"}', '{"filter":"{\\"q\\":"}', '{"filter":"[]"}'])(
    'are refused otherwise: %s',
    async (raw) => {
      expect((await outcomeOf(schema, raw)).refused).toMatch(/must be (an object|a list)/);
    },
  );
});

describe('A05 several objects in one text', () => {
  const { schema, arguments: raw } = input<{ schema: JsonObject; arguments: string }>('A05');

  it.each([
    raw,
    '{"q":"a"} {"q":"b"}',
    '{"q":"a"}\n{"q":"b"}',
    '{"q":"a"},{"q":"b"}',
    '{"q":"a"}{"q":"a"}',
    '{}{"q":"a"}',
    '{"q":"a"}{"q":"b',
  ])('are not run, not even the first: %j', async (text) => {
    const { refused } = await outcomeOf(schema, text);
    textHolds('A05', refused);
    expect(refused).toMatch(/JSON values were sent one after another.*one call for each/s);
  });
});

describe('A06 arguments wrapped in something', () => {
  const { schema, variants } = input<{ schema: JsonObject; variants: string[] }>('A06');

  it.each([
    variants[0] as string,
    '```\n{"path":"src"}\n```',
    '``` json\n{"path":"src"}```',
    '\n```JSON\r\n{"path":"src"}\r\n```\n',
    '~~~json\n{"path":"src"}\n~~~',
  ])('are taken out of a fence: %j', async (raw) => {
    expect(await outcomeOf(schema, raw)).toMatchObject({ given: { path: 'src' } });
  });

  it.each([
    ...variants.slice(1),
    'Here you go:\n```json\n{"path":"src"}\n```',
    '```json\n{"path":"src"}\n``` Done.',
    '<tool_call>{"path":"src"}</tool_call>',
    'path=src',
    'path: src',
    'ls(path="src")',
  ])('are otherwise refused by the syntax: %j', async (raw) => {
    const { refused } = await outcomeOf(schema, raw);
    textHolds('A06', refused);
    expect(refused).not.toMatch(/missing|required/);
    expect(refused).toMatch(/not JSON|«/);
  });
});

describe('A07 other notations', () => {
  const [python = '', apostrophes = ''] = input<{ variants: string[] }>('A07').variants;

  it.each([python, "{'a': 'b'}", '{"a": True}', '{"a": None}', '{"a": \'b\'}', '{a: 1}', '{"a": undefined}'])(
    'are refused: %s',
    async (raw) => {
      expect((await outcomeOf({ type: 'object' }, raw)).refused).toMatch(/JSON/);
    },
  );

  it('leave apostrophes in JSON alone, byte for byte', async () => {
    expect(await outcomeOf({ type: 'object' }, apostrophes)).toEqual({
      given: { query: "what's the user's plan" },
      repairs: [],
    });
  });
});

describe('A08 keys that reach a prototype', () => {
  it.each([
    '{"__proto__":{"admin":true}}',
    '{"a":{"__proto__":1}}',
    '{"\\u005f\\u005fproto__":{}}',
    '{"constructor":{"prototype":{"admin":true}}}',
  ])('are refused and pollute nothing: %s', async (raw) => {
    expect((await outcomeOf({ type: 'object' }, raw)).refused).toContain('not allowed');
    expect(({} as Record<string, unknown>)['admin']).toBeUndefined();
  });
});

describe('A09 numbers and booleans as text', () => {
  const { schema, variants } = input<{ schema: JsonObject; variants: JsonObject[] }>('A09');
  const expected: (JsonObject | undefined)[] = [
    { limit: 10 },
    undefined,
    undefined,
    undefined,
    { flag: true },
    { zip: '00501' },
    { either: '42' },
  ];

  it.each(variants.map((args, index) => ({ args, given: expected[index] })))(
    '$args gives $given',
    async ({ args, given }) => {
      const outcome = await outcomeOf(schema, JSON.stringify(args));
      if (given) expect(outcome.given).toEqual(given);
      else expect(outcome.refused).toContain('must be a whole number');
    },
  );

  it('are coerced before the key is made: both spellings have one digest', async () => {
    const { prepared } = await turn(
      ['{"limit":"10"}', '{ "limit": 10 }'].map((raw) => ({ function: { name: 't', arguments: raw } })),
      [tool('t', schema)],
    );
    const [first, second] = prepared.map((each) => (each.status === 'ready' ? each.call.digest : undefined));
    expect(first).toBeDefined();
    expect(first).toBe(second);
  });

  it.each<[JsonObject, boolean]>([
    [{ limit: null }, true],
    [{ limit: ' 7' }, false],
    [{ limit: '07' }, false],
    [{ limit: true }, false],
    [{ flag: 'yes' }, false],
    [{ flag: 1 }, false],
    [{ flag: '' }, false],
    [{ zip: 501 }, false],
  ])('%j runs: %j', async (args, runs) => {
    expect('given' in (await outcomeOf(schema, JSON.stringify(args)))).toBe(runs);
  });
});

describe('A10 integers beyond 2^53', () => {
  const { schema, arguments: raw } = input<{ schema: JsonObject; arguments: string }>('A10');

  it('reach the tool with every digit, as text where text is admitted', async () => {
    expect(await outcomeOf(schema, raw)).toMatchObject({ given: { id: '2512292042121000001' } });
  });

  it.each(['9007199254740993', '-9223372036854775808', '18446744073709551615', '100000000000000000000000001'])(
    'keep %s deep inside, too',
    async (digits) => {
      expect(await outcomeOf({ type: 'object' }, `{"a":[{"id":${digits}}]}`)).toMatchObject({
        given: { a: [{ id: digits }] },
      });
    },
  );

  it.each(['{"id":2512292042121000001}', '{"id":"2512292042121000001"}'])(
    'are refused where only a number fits, never rounded: %s',
    async (text) => {
      const { refused } = await outcomeOf({ type: 'object', properties: { id: { type: 'integer' } } }, text);
      expect(refused).toContain('2512292042121000001');
      expect(refused).not.toContain('2512292042121000000');
    },
  );

  it.each(['1e999', '-1e999', 'NaN', 'Infinity', '-Infinity', '12345678901234567890.5'])(
    '%s is refused',
    async (number) => {
      expect(await outcomeOf({ type: 'object' }, `{"a":${number}}`)).toHaveProperty('refused');
    },
  );
});

describe('A11 a key that appears twice', () => {
  const { arguments: raw } = input<{ arguments: string }>('A11');

  it.each([
    raw,
    '{"path":1,"path":1}',
    '{"x":[{"path":1,"b":2,"path":3}]}',
    '{"path":1,"p\\u0061th":2}',
    '"{\\"path\\":1,\\"path\\":2}"',
  ])('is refused at any depth: %s', async (text) => {
    const { refused } = await outcomeOf({ type: 'object' }, text);
    textHolds('A11', refused);
    expect(refused).toContain('appears twice');
  });

  it('is refused inside a text that is read as an object', async () => {
    const schema: JsonObject = { type: 'object', properties: { f: { type: 'object' } } };
    expect(await outcomeOf(schema, '{"f":"{\\"path\\":1,\\"path\\":2}"}')).toHaveProperty('refused');
  });
});

describe('M01 missing call ids', () => {
  it('are made up from run, turn and index', async () => {
    const { tool_calls: calls } = input<{ model_message: { tool_calls: WireCall[] } }>('M01').model_message;
    const tools = [tool('a'), tool('b')];
    const first = await turn(calls, tools);
    expect(first.prepared.map(({ status }) => status)).toEqual(['ready', 'ready', 'ready']);
    const ids = first.recorded.map(({ providerCallId }) => providerCallId);
    expect(new Set(ids).size).toBe(3);
    expect(ids.every((id) => id.length > 0)).toBe(true);
    expect((await turn(calls, tools)).recorded).toEqual(first.recorded);
    expect((await turn(calls, tools, { step: 2 })).recorded[0]?.providerCallId).not.toBe(ids[0]);
  });
});

describe('M02 repeated call ids', () => {
  it('belong to different calls, in one turn and in the next', async () => {
    interface Input {
      model_message: { tool_calls: WireCall[] };
      next_turn: { tool_calls: WireCall[] };
    }
    const { model_message: message, next_turn: next } = input<Input>('M02');
    const first = await turn(message.tool_calls, [tool('get')]);
    const used = first.recorded.map(({ providerCallId }) => providerCallId);
    const second = await turn(next.tool_calls, [tool('get')], { step: 2, used });
    const all = [...first.prepared, ...second.prepared].map((each) =>
      each.status === 'ready' ? each.call : undefined,
    );
    expect(all.map((call) => call?.arguments)).toEqual([
      { inline: { k: 1 } },
      { inline: { k: 2 } },
      { inline: { k: 3 } },
    ]);
    expect(all.map((call) => call?.callId)).toEqual(['c1.0', 'c1.1', 'c2.0']);
    expect(new Set(all.map((call) => call?.key)).size).toBe(3);
    expect(new Set([...used, second.recorded[0]?.providerCallId]).size).toBe(3);
  });
});

describe('M05 unknown tools', () => {
  const { offered, model_message: message } = input<{ offered: string[]; model_message: { tool_calls: WireCall[] } }>(
    'M05',
  );
  const spelled = ['Read_File', 'readFile', 'read_file ', 'constructor', 'hasOwnProperty', ''].map((name) => ({
    id: null,
    function: { name, arguments: '{}' },
  }));

  it('are refused by name, with the tools that there are, and never run as the nearest', async () => {
    const { prepared } = await turn(
      [...message.tool_calls, ...spelled],
      offered.map((name) => tool(name)),
    );
    const texts = prepared.map((each) => {
      expect(each).toMatchObject({ status: 'refused', failure: { class: 'unknown_tool', effectState: 'none' } });
      return each.status === 'refused' ? `${each.failure.reason} ${each.failure.hint}` : '';
    });
    for (const text of texts) textHolds('M05', text);
    expect(texts[0]).toContain('The nearest names are read_file.');
    expect(texts[1]).toContain('"__proto__"');
    expect(texts[1]).not.toContain('nearest');
  });

  it('have one digest for one mistake, so that repeats are seen', async () => {
    const same = { function: { name: 'nope', arguments: '{"a":1}' } };
    const { prepared } = await turn([same, same], []);
    const [first, second] = prepared.map((each) => (each.status === 'refused' ? each.digest : ''));
    expect(first).toBe(second);
  });
});

describe('M07 empty turns and calls as text', () => {
  interface Variant {
    content: string | null;
    tool_calls: WireCall[];
  }
  const { variants } = input<{ variants: Variant[] }>('M07');

  it('are known by what they hold, not by the finish reason', () => {
    const kinds = variants.map(({ content, tool_calls: calls }) =>
      classifyTurn(
        {
          text: content ?? '',
          calls: calls.map((each) => ({
            providerCallId: each.id,
            modelName: each.function.name,
            rawArguments: each.function.arguments,
          })),
        },
        ['get_traffic'],
      ),
    );
    expect(kinds).toEqual(['empty', 'textual-call', 'calls']);
  });
});

describe('S01–S03 tool names', () => {
  it('S01: illegal ones are mapped both ways, an empty one is refused with its server', () => {
    const tools = input<{ mcp_tools: string[] }>('S01').mcp_tools.map((name) => ({ name, server: 'shop' }));
    const refused: string[] = [];
    const usable = tools.filter((each) => {
      try {
        checkToolName(each);
        return true;
      } catch (error) {
        expect(error).toBeInstanceOf(ConfigError);
        refused.push((error as ConfigError).message);
        return false;
      }
    });
    expect(refused).toEqual([expect.stringContaining('"shop"')]);
    const names = assignModelNames(usable);
    expect([...names.values()]).toEqual(tools.slice(0, 4));
    for (const name of names.keys()) expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
  });

  it('S02: two long ones stay two', () => {
    const tools = input<{ names: string[] }>('S02').names.map((name) => ({ name }));
    const names = assignModelNames(tools);
    expect([...names.values()]).toEqual(tools);
    for (const name of names.keys()) expect(name.length).toBeLessThanOrEqual(64);
    expect([...assignModelNames([...tools].reverse()).keys()].reverse()).toEqual([...names.keys()]);
  });

  it('S03: one name on two servers, and two that are sanitised to one', () => {
    const { servers } = input<{ servers: Record<string, string[]> }>('S03');
    const tools = Object.entries(servers).flatMap(([server, names]) =>
      names.map((name) => (server === 'local' ? { name } : { name, server })),
    );
    const there = assignModelNames(tools);
    expect([...there.values()]).toEqual(tools);
    const back = assignModelNames([...tools].reverse());
    for (const [name, each] of there) expect(back.get(name)).toBe(each);
  });
});

describe('S05 $ref, $defs and definitions', () => {
  interface Input {
    schema: JsonObject;
    args_bad: JsonObject;
    args_ok: JsonObject;
  }
  const { schema, args_bad: bad, args_ok: ok } = input<Input>('S05');

  it('are followed, and none dangles in what providers get', async () => {
    for (const each of [schema, schemaForProvider(schema)]) {
      await validator.checkSchema(each, 'tools.t.input');
      expect(await outcomeOf(each, JSON.stringify(ok))).toMatchObject({ given: ok });
      expect((await outcomeOf(each, JSON.stringify(bad))).failure?.violations).toMatchObject([{ path: '/f' }]);
    }
  });

  it('are never fetched', async () => {
    const fetched = vi.spyOn(globalThis, 'fetch');
    await expect(
      validator.checkSchema({ properties: { a: { $ref: 'http://127.0.0.1:9/schema.json' } } }, 'tools.t.input'),
    ).rejects.toThrow('never fetched');
    expect(fetched).not.toHaveBeenCalled();
    fetched.mockRestore();
  });
});

describe('S07 recursion', () => {
  const [tree, , selfRef] = input<{ variants: JsonObject[] }>('S07').variants as [JsonObject, string, JsonObject];

  it('through # validates deep data', async () => {
    await validator.checkSchema(tree, 'tools.tree.input');
    const deep = Array.from({ length: 50 }).reduce<JsonObject>((child) => ({ name: 'n', children: [child] }), {
      name: 'leaf',
    });
    expect(await outcomeOf(tree, JSON.stringify(deep))).toMatchObject({ given: deep });
    expect(await outcomeOf(tree, JSON.stringify({ children: [{ name: 1 }] }))).toHaveProperty('refused');
    expect(await outcomeOf(schemaForProvider(tree), JSON.stringify(deep))).toMatchObject({ given: deep });
  });

  it('without end is refused at registration by the tool’s name, quickly', async () => {
    const cyclic: { type: string; properties: Record<string, Json> } = { type: 'object', properties: {} };
    cyclic.properties['self'] = cyclic;
    const started = performance.now();
    for (const schema of [cyclic, selfRef]) {
      await expect(validator.checkSchema(schema, 'tools.loop.input')).rejects.toThrow(/^tools\.loop\.input.*(itself)/);
      expect(() => schemaForProvider(schema)).toThrow(ConfigError);
    }
    expect(performance.now() - started).toBeLessThan(1000);
    expect(await outcomeOf(tree, '{"name":"still here"}')).toHaveProperty('given');
  });
});

describe('S08 unknown formats', () => {
  const { schema, variants } = input<{ schema: JsonObject; variants: JsonObject[] }>('S08');

  it('are annotations, silently; types and bounds and known formats are checked', async () => {
    const written = [vi.spyOn(process.stdout, 'write'), vi.spyOn(process.stderr, 'write')];
    await validator.checkSchema(schema, 'tools.t.input');
    const outcomes = await Promise.all(variants.map((args) => outcomeOf(schema, JSON.stringify(args))));
    expect(outcomes.map((each) => 'given' in each)).toEqual([true, false, false]);
    for (const spy of written) {
      expect(spy).not.toHaveBeenCalled();
      spy.mockRestore();
    }
  });
});

describe('S09 additionalProperties', () => {
  const { variants } = input<{ variants: { schema: JsonObject; args: JsonObject }[] }>('S09');

  it.each(variants.map((each, index) => ({ ...each, runs: [0, 3, 4].includes(index) })))(
    '$schema.additionalProperties with $args runs: $runs, every key kept',
    async ({ schema, args, runs }) => {
      const outcome = await outcomeOf(schema, JSON.stringify(args));
      if (runs) expect(outcome).toEqual({ given: args, repairs: [] });
      else
        expect(outcome.refused).toMatch(
          /"\/bogus","problem":"is an unknown argument|"\/n","problem":"must be a number/,
        );
      expect(schemaForProvider(schema)['additionalProperties']).toEqual(schema['additionalProperties']);
    },
  );
});
