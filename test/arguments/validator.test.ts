import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { createValidator, type Validator } from '../../src/arguments/validator.js';
import { ConfigError } from '../../src/config/config-error.js';
import type { Json, JsonObject } from '../../src/contract/json.js';

let validator: Validator;
beforeAll(() => {
  validator = createValidator({ timeLimitMs: 1500 });
});
afterAll(() => validator.close());

function validate(schema: object, args: Json, examples: JsonObject[] = []) {
  return validator.validate({ schema: schema as JsonObject, input: { value: args }, examples });
}

async function violationsOf(schema: object, args: Json, examples: JsonObject[] = []) {
  const result = await validate(schema, args, examples);
  if (result.ok) throw new Error(`accepted as ${JSON.stringify(result.value)}`);
  return result.failure.violations ?? [];
}

const order = {
  type: 'object',
  properties: {
    order_id: { type: 'string', pattern: '^ORD-\\d{4}$' },
    amount: { type: 'integer', minimum: 1, maximum: 500 },
    reason: { enum: ['damaged', 'late'] },
    when: { type: 'string', format: 'date' },
    lines: { type: 'array', items: { type: 'object', properties: { sku: { type: 'string' } }, required: ['sku'] } },
  },
  required: ['order_id', 'amount'],
  additionalProperties: false,
};

describe('violations', () => {
  it('are all listed at once, each with place, problem, format and a correct example', async () => {
    const args = { orderId: 'ORD-1', amount: 0, reason: 'lost', when: 'tomorrow', lines: [{}, { sku: 3 }] };
    expect(await violationsOf(order, args)).toEqual([
      {
        path: '/order_id',
        problem: 'is missing (you sent "orderId" instead)',
        expected: 'text, matching ^ORD-\\d{4}$',
        example: 'ORD-1111',
      },
      {
        path: '/orderId',
        problem: 'is an unknown argument (did you mean order_id?)',
        expected: 'only order_id, amount, reason, when, lines',
      },
      {
        path: '/amount',
        problem: 'must be 1 or more, but is 0',
        expected: 'a whole number, 1 to 500',
        example: 1,
      },
      {
        path: '/reason',
        problem: 'must be one of "damaged", "late", but is the text "lost"',
        expected: 'one of "damaged", "late"',
        example: 'damaged',
      },
      {
        path: '/when',
        problem: 'must be a date (YYYY-MM-DD), but is the text "tomorrow"',
        expected: 'a date (YYYY-MM-DD)',
        example: '2026-01-31',
      },
      { path: '/lines/0/sku', problem: 'is missing', expected: 'text', example: 'text' },
      { path: '/lines/1/sku', problem: 'must be text, but is 3', expected: 'text', example: 'text' },
    ]);
  });

  it('quote the examples of the tool before made-up ones', async () => {
    const [violation] = await violationsOf(order, { order_id: 'x', amount: 3 }, [{ order_id: 'ORD-1042', amount: 5 }]);
    expect(violation).toMatchObject({ path: '/order_id', example: 'ORD-1042' });
  });

  it('carry the code of a missing field where one is missing', async () => {
    const codeOf = async (args: Json) => {
      const result = await validate(order, args);
      return result.ok ? 'ok' : result.failure.code;
    };
    expect(await codeOf({ order_id: 'ORD-1042' })).toBe('PARAM_MISSING_001');
    expect(await codeOf({ order_id: 'ORD-1042', amount: 900 })).toBe('PARAM_INVALID_001');
  });

  it('are counted where there are too many to read', async () => {
    const schema = { type: 'object', properties: { n: { type: 'array', items: { type: 'integer' } } } };
    const result = await validate(schema, { n: Array.from({ length: 60 }, () => 'no') });
    expect(result.ok).toBe(false);
    if (!result.ok) {
      expect(result.failure.violations).toHaveLength(25);
      expect(result.failure.reason).toBe('60 things are wrong, these are the first 25');
    }
  });

  it.each([
    [{ minLength: 3 }, 'ab', 'must have at least 3 characters, but is the text "ab"'],
    [{ maxLength: 1 }, 'ab', 'must have at most 1 character, but is the text "ab"'],
    [{ minItems: 1 }, [], 'must have at least 1 item, but is a list'],
    [{ uniqueItems: true }, [1, 1], 'must not list the same item twice (items 0 and 1), but is a list'],
    [{ exclusiveMinimum: 0 }, 0, 'must be more than 0, but is 0'],
    [{ multipleOf: 5 }, 7, 'must be a multiple of 5, but is 7'],
    [{ const: 'x' }, 'y', 'must be exactly "x", but is the text "y"'],
    [{ not: { type: 'string' } }, 'y', 'has a form that is not allowed, but is the text "y"'],
    [false, 1, 'is not allowed here'],
    [{ type: ['string', 'null'] }, 5, 'must be text or null, but is 5'],
    [
      { type: 'object', propertyNames: { pattern: '^[a-z]+$' } },
      { B: 1 },
      'is not allowed as a name: it must match ^[a-z]+$',
    ],
    [{ type: 'object', dependentRequired: { b: ['c'] } }, { b: 1 }, 'is missing (needed beside b)'],
    [{ contains: { const: 1 } }, [2], 'must contain at least 1 item of the form asked for, but is a list'],
    [{ type: 'array', prefixItems: [{}], items: false }, [1, 2], 'must not have more than 1 item, but is a list'],
  ])('read as sentences: %j', async (schema, value, problem) => {
    const [violation, ...more] = await violationsOf(
      { type: 'object', properties: { a: schema } },
      { a: value as Json },
    );
    expect(violation?.problem).toBe(problem);
    expect(more).toEqual([]);
  });

  it('say a format in words where a generated expression says the same', async () => {
    const pattern = `^${'(?:[0-9]|[0-9]{1})'.repeat(4)}-[0-9]{2}-[0-9]{2}$`;
    const schema = { type: 'object', properties: { a: { type: 'string', format: 'date', pattern } } };
    expect(await violationsOf(schema, { a: 'May' })).toEqual([
      {
        path: '/a',
        problem: 'must be a date (YYYY-MM-DD), but is the text "May"',
        expected: 'a date (YYYY-MM-DD)',
        example: '2026-01-31',
      },
    ]);
  });

  it('name the arguments of every part of a schema', async () => {
    const schema = {
      type: 'object',
      properties: { a: {} },
      allOf: [{ $ref: '#/$defs/More' }],
      unevaluatedProperties: false,
      $defs: { More: { properties: { limit: {} } } },
    };
    expect(await violationsOf(schema, { limits: 1 })).toEqual([
      { path: '/limits', problem: 'is an unknown argument (did you mean limit?)', expected: 'only a, limit' },
    ]);
  });

  it('say once what a value must be, not its type as well', async () => {
    const schema = { type: 'object', properties: { a: { type: 'integer', enum: [1, 2] } } };
    expect(await violationsOf(schema, { a: 'x' })).toEqual([
      { path: '/a', problem: 'must be one of 1, 2, but is the text "x"', expected: 'one of 1, 2', example: 1 },
    ]);
  });

  it('stay small whatever was sent', async () => {
    const long = 'x'.repeat(100_000);
    const schema = {
      type: 'object',
      properties: { a: { enum: [long] }, b: { pattern: `^${'x'.repeat(5000)}$` } },
      additionalProperties: false,
    };
    const result = await validate(schema, { a: long + long, b: long + long, [long]: 1 });
    expect(JSON.stringify(result.ok || result.failure).length).toBeLessThan(4000);
  });

  it('see own keys only: an argument named toString is missing until it is sent', async () => {
    const schema = { type: 'object', properties: { toString: { type: 'string' } }, required: ['toString'] };
    expect(await violationsOf(schema, {})).toMatchObject([{ path: '/toString', problem: 'is missing' }]);
  });
});

describe('unions', () => {
  const pet = {
    type: 'object',
    properties: {
      pet: { oneOf: [{ $ref: '#/$defs/Cat' }, { $ref: '#/$defs/Dog' }] },
      note: { anyOf: [{ type: 'string', maxLength: 3 }, { type: 'null' }] },
    },
    $defs: {
      Cat: {
        type: 'object',
        properties: { kind: { const: 'cat' }, lives: { type: 'integer' } },
        required: ['kind', 'lives'],
      },
      Dog: {
        type: 'object',
        properties: { kind: { const: 'dog' }, born: { type: 'string', format: 'date' } },
        required: ['kind', 'born'],
      },
    },
  };

  it('complain about the alternative that was meant', async () => {
    expect(await violationsOf(pet, { pet: { kind: 'dog', born: 'May' }, note: 'long' })).toMatchObject([
      { path: '/pet/born', problem: 'must be a date (YYYY-MM-DD), but is the text "May"' },
      { path: '/note', problem: 'must have at most 3 characters, but is the text "long"' },
    ]);
  });

  it('say the allowed forms once where none was meant', async () => {
    expect(await violationsOf(pet, { pet: { kind: 'fish' } })).toEqual([
      {
        path: '/pet',
        problem: 'has none of the allowed forms',
        expected: 'an object with kind = "cat", lives or an object with kind = "dog", born',
        example: { kind: 'cat', lives: 1 },
      },
    ]);
  });

  it('say so where a value fits more than one form of oneOf', async () => {
    const schema = { type: 'object', properties: { a: { oneOf: [{ type: 'integer' }, { minimum: 0 }] } } };
    expect(await violationsOf(schema, { a: 1 })).toMatchObject([
      { problem: 'fits more than one of the allowed forms, and must fit exactly one, but is 1' },
    ]);
  });
});

describe('drafts', () => {
  it.each([
    [
      '2020-12 by $schema',
      {
        $schema: 'https://json-schema.org/draft/2020-12/schema',
        properties: { a: { prefixItems: [{ type: 'integer' }] } },
      },
      { a: ['x'] },
    ],
    [
      '2019-09 by $schema',
      {
        $schema: 'https://json-schema.org/draft/2019-09/schema',
        properties: { a: { items: [{ type: 'integer' }], minItems: 2 } },
      },
      { a: [1] },
    ],
    [
      'draft 7 by $schema',
      { $schema: 'http://json-schema.org/draft-07/schema#', properties: { a: { items: [{ type: 'integer' }] } } },
      { a: ['x'] },
    ],
    [
      'draft 4 by $schema',
      {
        $schema: 'http://json-schema.org/draft-04/schema#',
        id: 'x',
        properties: { a: { minimum: 0, exclusiveMinimum: true } },
      },
      { a: 0 },
    ],
    ['2020-12 by default', { type: 'object', properties: { b: {} }, unevaluatedProperties: false }, { a: 1 }],
    ['draft 7 where only it fits', { properties: { a: { items: [{ type: 'integer' }] } } }, { a: ['x'] }],
    [
      'unevaluatedProperties over allOf',
      { allOf: [{ properties: { a: {} } }], unevaluatedProperties: false },
      { a: 1, z: 1 },
    ],
  ])('are chosen: %s', async (_name, schema, bad) => {
    await validator.checkSchema(schema, 'tools.t.input');
    expect(await violationsOf(schema, bad)).toHaveLength(1);
    expect(await validate(schema, {})).toMatchObject({ ok: true });
  });

  it('understand nullable beside a type, an enum and a reference', async () => {
    const schema = {
      type: 'object',
      properties: {
        a: { type: 'string', nullable: true },
        b: { type: 'string', enum: ['x'], nullable: true },
        c: { $ref: '#/$defs/C', nullable: true },
        d: { type: 'string', nullable: false },
      },
      required: ['a', 'b', 'c', 'd'],
      $defs: { C: { type: 'integer' } },
    };
    await validator.checkSchema(schema, 'tools.t.input');
    expect(await validate(schema, { a: null, b: null, c: null, d: 'x' })).toMatchObject({ ok: true, repairs: [] });
    expect(await violationsOf(schema, { a: 1, b: 'y', c: 'z', d: null })).toHaveLength(4);
  });

  it('print nothing about formats and keywords that nobody knows', async () => {
    const written = [vi.spyOn(process.stdout, 'write'), vi.spyOn(process.stderr, 'write'), vi.spyOn(console, 'warn')];
    await validator.checkSchema(
      { type: 'object', properties: { a: { type: 'integer', format: 'uint64', 'x-y': 1 } } },
      'p',
    );
    for (const spy of written) {
      expect(spy).not.toHaveBeenCalled();
      spy.mockRestore();
    }
  });
});

describe('schemas that cannot be used', () => {
  const cyclic: JsonObject = { type: 'object', properties: {} };
  (cyclic['properties'] as JsonObject)['self'] = cyclic;
  const deep = Array.from({ length: 5000 }).reduce<JsonObject>((inner) => ({ not: inner }), {});
  const shared = Array.from({ length: 60 }).reduce<JsonObject>((inner) => ({ anyOf: [inner, inner] }), {});

  it.each<[string, unknown, RegExp]>([
    ['a type that does not exist', { type: 'strnig' }, /not valid: \/type must be/],
    ['a reference to nothing', { properties: { a: { $ref: '#/$defs/no' } } }, /"#\/\$defs\/no" points at nothing/],
    ['a remote reference', { properties: { a: { $ref: 'https://127.0.0.1:1/x.json' } } }, /never fetched/],
    [
      'a reference to itself',
      { $ref: '#/definitions/x', definitions: { x: { $ref: '#/definitions/x' } } },
      /leads back to itself/,
    ],
    [
      'references in a ring through allOf',
      { $ref: '#/$defs/a', $defs: { a: { allOf: [{ $ref: '#/$defs/b' }] }, b: { anyOf: [{ $ref: '#/$defs/a' }] } } },
      /leads back to itself/,
    ],
    ['an object that contains itself', cyclic, /contains itself/],
    ['endless nesting', deep, /nested more than 200 levels/],
    ['an object that unfolds without end', shared, /more than 50000 values/],
    [
      'a pattern that backtracks without end',
      { properties: { a: { pattern: '^(\\w+\\s?)*$' } } },
      /pattern "\^\(\\\\w\+\\\\s\?\)\*\$" takes/,
    ],
    [
      'a pattern that is no regular expression',
      { properties: { a: { pattern: '(?P<x>a)' } } },
      /Invalid regular expression/,
    ],
    ['a function', { properties: { a: () => true } }, /plain JSON, but this is a function/],
    ['a class instance', { properties: new Map() }, /plain JSON, but this is a Map/],
    ['no object', 'string', /must be an object/],
  ])('are refused by name: %s', async (_name, schema, words) => {
    const error = await validator.checkSchema(schema, 'tools.refund.input').then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(ConfigError);
    expect((error as ConfigError).message).toMatch(words);
    expect((error as ConfigError).path).toMatch(/^tools\.refund\.input/);
  });

  it('leave the others usable', async () => {
    await validator.checkSchema(order, 'tools.order.input');
    expect(await validate(order, { order_id: 'ORD-1042', amount: 1 })).toMatchObject({ ok: true });
  });

  it('may be recursive: fifty levels of data are checked', async () => {
    const tree = {
      type: 'object',
      properties: { name: { type: 'string' }, children: { type: 'array', items: { $ref: '#' } } },
    };
    const nest = (name: Json) =>
      Array.from({ length: 50 }).reduce<JsonObject>((child) => ({ name: 'x', children: [child] }), { name });
    await validator.checkSchema(tree, 'tools.tree.input');
    expect(await validate(tree, nest('leaf'))).toMatchObject({ ok: true });
    expect(await violationsOf(tree, nest(3))).toHaveLength(1);
  });

  it('may use one $id twice for different things', async () => {
    const of = (type: string) => ({ $id: 'https://example.com/s', type: 'object', properties: { a: { type } } });
    expect(await validate(of('string'), { a: 'x' })).toMatchObject({ ok: true });
    expect(await validate(of('boolean'), { a: true })).toMatchObject({ ok: true });
  });
});

describe('the time limit', () => {
  it('ends a check that hangs, and the calls behind it are answered', async () => {
    const impatient = createValidator({ timeLimitMs: 1000 });
    const hostile = { type: 'object', properties: { a: { type: 'string', pattern: '^(a+)+$' } } };
    const started = performance.now();
    const [hung, other, again] = await Promise.all([
      impatient.validate({ schema: hostile, input: { value: { a: `${'a'.repeat(50)}!` } } }),
      impatient.validate({ schema: { type: 'object' }, input: { value: { b: 1 } } }),
      impatient.validate({ schema: hostile, input: { value: { a: 'aaa' } } }),
    ]);
    expect(hung).toMatchObject({ ok: false, failure: { class: 'validation_error', effectState: 'none' } });
    expect(hung.ok || hung.failure.reason).toContain('could not be checked');
    expect([other.ok, again.ok]).toEqual([true, true]);
    expect(performance.now() - started).toBeLessThan(10_000);
    await impatient.close();
  });

  it('does not block the event loop meanwhile', async () => {
    const impatient = createValidator({ timeLimitMs: 300 });
    let ticks = 0;
    const clock = setInterval(() => ticks++, 10);
    const hostile = { type: 'object', properties: { a: { type: 'string', pattern: '^(a+)+$' } } };
    await impatient.validate({ schema: hostile, input: { value: { a: `${'a'.repeat(50)}!` } } });
    clearInterval(clock);
    expect(ticks).toBeGreaterThan(10);
    await impatient.close();
  });

  it('refuses what still waits when the validator is closed', async () => {
    const closing = createValidator();
    const waiting = closing.validate({ schema: { type: 'object' }, input: { value: {} } });
    await closing.close();
    expect(await waiting).toMatchObject({ ok: false });
    expect(await closing.validate({ schema: { type: 'object' }, input: { value: {} } })).toMatchObject({ ok: false });
  });
});
