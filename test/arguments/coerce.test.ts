import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createValidator, type Validator } from '../../src/arguments/validator.js';
import type { Json, JsonObject } from '../../src/contract/json.js';

let validator: Validator;
beforeAll(() => {
  validator = createValidator();
});
afterAll(() => validator.close());

async function coerced(property: object, value: Json, more: object = {}) {
  const schema = { type: 'object', properties: { a: property }, ...more } as JsonObject;
  return validator.validate({ schema, input: { raw: JSON.stringify({ a: value }), finishReason: 'stop' } });
}

describe('coercion', () => {
  it.each<[object, Json, Json, string]>([
    [{ type: 'integer' }, '10', 10, 'a: read the text "10" as the number 10'],
    [{ type: 'integer' }, '-0', 0, 'a: read the text "-0" as the number 0'],
    [{ type: 'number' }, '3.50', 3.5, 'a: read the text "3.50" as the number 3.5'],
    [{ type: 'boolean' }, 'true', true, 'a: read the text "true" as the boolean true'],
    [{ type: 'boolean' }, 'False', false, 'a: read the text "False" as the boolean false'],
    [{ type: 'object' }, '{"b":1}', { b: 1 }, 'a: read the text "{\\"b\\":1}" as the object that it holds'],
    [{ type: 'array' }, '[1]', [1], 'a: read the text "[1]" as the list that it holds'],
    [{ anyOf: [{ type: 'integer' }, { type: 'null' }] }, '7', 7, 'a: read the text "7" as the number 7'],
    [{ type: ['integer', 'number'] }, '7', 7, 'a: read the text "7" as the number 7'],
    [{ $ref: '#/$defs/N' }, '7', 7, 'a: read the text "7" as the number 7'],
    [{ allOf: [{ $ref: '#/$defs/N' }, { minimum: 1 }] }, '7', 7, 'a: read the text "7" as the number 7'],
  ])('changes the type where nothing is lost: %j from %j', async (property, from, to, repair) => {
    const result = await coerced(property, from, { $defs: { N: { type: 'integer' } } });
    expect(result).toEqual({ ok: true, value: { a: to }, repairs: [repair] });
  });

  it.each<[object, Json]>([
    [{ type: 'integer' }, ''],
    [{ type: 'integer' }, ' 10 '],
    [{ type: 'integer' }, '3.5'],
    [{ type: 'integer' }, '0010'],
    [{ type: 'integer' }, '1e3'],
    [{ type: 'integer' }, '2512292042121000001'],
    [{ type: 'number' }, '0.1000000000000000055511151231257827'],
    [{ type: 'number' }, '1e999'],
    [{ type: 'number' }, 'NaN'],
    [{ type: 'boolean' }, 'yes'],
    [{ type: 'boolean' }, 1],
    [{ type: 'boolean' }, ''],
    [{ type: 'string' }, 501],
    [{ type: 'object' }, '{"b":1'],
    [{ type: 'object' }, '{"b":1,"b":2}'],
    [{ type: 'object' }, '{"b":2512292042121000001}'],
    [{ type: 'array' }, 'a,b'],
    [{ type: 'array', items: { type: 'integer' } }, 5],
    [{ anyOf: [{ type: 'boolean' }, { type: 'object', required: ['x'] }] }, 'maybe'],
  ])('leaves the rest alone and refuses it: %j from %j', async (property, value) => {
    expect(await coerced(property, value)).toMatchObject({ ok: false, value: { a: value } });
  });

  it.each<[object, Json]>([
    [{ type: ['integer', 'string'] }, '42'],
    [{ anyOf: [{ type: 'integer' }, { type: 'string' }] }, '42'],
    [{ type: 'string' }, '00501'],
    [{ type: 'string' }, '{"b":1}'],
    [{}, '42'],
    [{ type: ['string', 'null'] }, null],
  ])('never touches what is valid: %j with %j', async (property, value) => {
    expect(await coerced(property, value)).toEqual({ ok: true, value: { a: value }, repairs: [] });
  });

  it('leaves an optional null out, and asks for a required one', async () => {
    expect(await coerced({ type: 'string' }, null)).toEqual({
      ok: true,
      value: {},
      repairs: ['a: left out, because null is not a value of it'],
    });
    expect(await coerced({ type: 'string' }, null, { required: ['a'] })).toMatchObject({
      ok: false,
      value: { a: null },
      failure: { violations: [{ path: '/a', problem: 'must be text, but is null' }] },
    });
  });

  it('follows text inside text, and reports only what it could not read', async () => {
    const filter = { type: 'object', properties: { from: { type: 'integer' }, to: { type: 'integer' } } };
    expect(await coerced(filter, '{"from":"1","to":"{}"}')).toMatchObject({
      ok: false,
      value: { a: { from: 1, to: '{}' } },
      failure: { violations: [{ path: '/a/to' }] },
    });
  });

  it('mends a long list, and keeps the record of it short', async () => {
    const list = Array.from({ length: 1500 }, (_, i) => i);
    const result = await coerced({ type: 'array', items: { type: 'integer' } }, list.map(String));
    expect(result).toMatchObject({ ok: true, value: { a: list } });
    expect(result.ok && result.repairs.slice(-2)).toEqual([
      'a[19]: read the text "19" as the number 19',
      'and 1480 more like these',
    ]);
  });

  it('does not take the wrong alternative of a union for a type', async () => {
    const schema = {
      oneOf: [
        { type: 'object', properties: { k: { const: 'n' }, v: { type: 'integer' } }, required: ['k', 'v'] },
        { type: 'object', properties: { k: { const: 's' }, v: { type: 'string' } }, required: ['k', 'v', 'w'] },
      ],
    };
    expect(await coerced(schema, { k: 's', v: '10' })).toMatchObject({ ok: false, value: { a: { k: 's', v: '10' } } });
  });

  it('keeps text valid against a string schema byte for byte', async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.string({ unit: 'binary' }), fc.integer().map(String), fc.json()), async (text) => {
        expect(await coerced({ type: 'string' }, text)).toEqual({ ok: true, value: { a: text }, repairs: [] });
      }),
      { numRuns: 60 },
    );
  });
});
