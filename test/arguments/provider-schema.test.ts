import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { schemaForProvider } from '../../src/arguments/provider-schema.js';
import { createValidator } from '../../src/arguments/validator.js';
import type { JsonObject } from '../../src/contract/json.js';

describe('the schema for providers', () => {
  it('is an object at the root, without $schema and $id', () => {
    expect(schemaForProvider({ $schema: 'http://json-schema.org/draft-07/schema#', $id: 'x' })).toEqual({
      type: 'object',
      properties: {},
    });
  });

  it('keeps an ordinary schema as it is', () => {
    const schema = {
      type: 'object',
      description: 'd',
      properties: { a: { type: 'string' } },
      required: ['a'],
      additionalProperties: false,
    };
    expect(schemaForProvider(schema)).toEqual(schema);
  });

  it('keeps $defs and definitions with the references into them', () => {
    const schema = {
      type: 'object',
      properties: { f: { $ref: '#/definitions/F' }, g: { $ref: '#/$defs/G' }, self: { $ref: '#' } },
      definitions: { F: { type: 'string', enum: ['fit', 'raw'] } },
      $defs: { G: { type: 'integer' } },
    };
    expect(schemaForProvider(schema)).toEqual(schema);
  });

  it('makes one object of a union, requiring what every alternative requires', () => {
    const schema = {
      oneOf: [
        {
          type: 'object',
          properties: { kind: { const: 'id' }, id: { type: 'string' } },
          required: ['kind', 'id'],
          additionalProperties: false,
        },
        { $ref: '#/$defs/ByName' },
        { type: 'string' },
      ],
      $defs: {
        ByName: {
          type: 'object',
          properties: { kind: { const: 'name' }, name: { type: 'string' } },
          required: ['kind', 'name'],
          additionalProperties: false,
        },
      },
    };
    expect(schemaForProvider(schema)).toEqual({
      type: 'object',
      description: 'One of these forms: an object with kind = "id", id; an object with kind = "name", name.',
      properties: {
        kind: { anyOf: [{ const: 'id' }, { const: 'name' }] },
        id: { type: 'string' },
        name: { type: 'string' },
      },
      required: ['kind'],
      additionalProperties: false,
      $defs: schema.$defs,
    });
  });

  it('makes one object of allOf and of a reference at the root', () => {
    const schema = {
      $ref: '#/$defs/Whole',
      $defs: {
        Whole: {
          allOf: [{ $ref: '#/$defs/Base' }, { properties: { b: { type: 'integer' } }, required: ['b'] }],
          unevaluatedProperties: false,
        },
        Base: { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] },
      },
    };
    expect(schemaForProvider(schema)).toMatchObject({
      type: 'object',
      properties: { a: { type: 'string' }, b: { type: 'integer' } },
      required: ['a', 'b'],
      additionalProperties: false,
    });
  });

  it('lets no reference dangle that led into a part that is gone', async () => {
    const schema: JsonObject = {
      anyOf: [
        {
          type: 'object',
          properties: { a: { type: 'object', properties: { again: { $ref: '#/anyOf/0/properties/a' } } } },
        },
        { type: 'object', properties: { b: { $ref: '#/anyOf/0/properties/a' }, c: { $ref: '#thing' } } },
      ],
      $defs: { T: { $anchor: 'thing', type: 'integer' } },
    };
    const sent = schemaForProvider(schema);
    expect(sent['properties']).toMatchObject({
      b: { $ref: '#/$defs/ref1' },
      c: { $ref: expect.stringMatching(/^#\/\$defs\/ref\d$/) },
    });
    const validator = createValidator();
    await validator.checkSchema(sent, 'sent');
    expect(await validator.validate({ schema: sent, input: { value: { b: { again: { again: 1 } } } } })).toMatchObject({
      ok: false,
      failure: { violations: [{ path: '/b/again/again' }] },
    });
    await validator.close();
  });

  it('writes nullable as standard JSON Schema', () => {
    expect(schemaForProvider({ type: 'object', properties: { a: { type: 'string', nullable: true } } })).toEqual({
      type: 'object',
      properties: { a: { type: ['string', 'null'] } },
    });
  });

  it('never refuses what the original accepts, where the alternatives are closed', async () => {
    const type = fc.constantFrom('string', 'string', 'string', 'integer');
    const names = ['a', 'b', 'c'];
    const part = fc.record(
      {
        properties: fc.dictionary(
          fc.constantFrom(...names),
          type.map((name) => ({ type: name })),
        ),
        required: fc.subarray(names, { maxLength: 1 }),
        additionalProperties: fc.constantFrom(false, true, { type: 'integer' }),
      },
      { requiredKeys: [] },
    );
    const parts = fc.array(part, { minLength: 1, maxLength: 3 });
    const closed = parts.map((each) => each.map((branch) => ({ ...branch, additionalProperties: false })));
    const whole = fc.tuple(part, fc.record({ allOf: parts, anyOf: closed, oneOf: closed }, { requiredKeys: [] }));
    const args = fc.dictionary(fc.constantFrom(...names, 'd'), fc.constantFrom('x', 'x', 'x', 1), { maxKeys: 3 });
    const validator = createValidator();
    let accepted = 0;
    await fc.assert(
      fc.asyncProperty(whole, fc.array(args, { minLength: 5, maxLength: 10 }), async ([root, unions], samples) => {
        const schema = { ...root, ...unions } as JsonObject;
        const sent = schemaForProvider(schema);
        for (const value of samples) {
          if (!(await validator.validate({ schema, input: { value }, coerce: false })).ok) continue;
          accepted++;
          expect(await validator.validate({ schema: sent, input: { value }, coerce: false })).toMatchObject({
            ok: true,
          });
        }
      }),
      { numRuns: 150 },
    );
    expect(accepted).toBeGreaterThan(20);
    await validator.close();
  });

  it('does not change what it is given', () => {
    const schema = { anyOf: [{ properties: { a: {} } }, { properties: { b: {} } }] };
    const before = structuredClone(schema);
    schemaForProvider(schema);
    expect(schema).toEqual(before);
  });
});
