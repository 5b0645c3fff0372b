import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { exampleOf } from '../../src/arguments/example-value.js';
import { exampleOfPattern } from '../../src/arguments/pattern-example.js';
import { createValidator, type Validator } from '../../src/arguments/validator.js';
import type { JsonObject } from '../../src/contract/json.js';

let validator: Validator;
beforeAll(() => {
  validator = createValidator();
});
afterAll(() => validator.close());

describe('examples made from a schema', () => {
  it.each<[JsonObject, unknown]>([
    [{ type: 'string' }, 'text'],
    [{ type: 'string', minLength: 6, maxLength: 8 }, 'textxx'],
    [{ type: 'string', format: 'email' }, 'ada@example.com'],
    [{ type: 'integer', minimum: 5 }, 10],
    [{ type: 'number', exclusiveMinimum: 0, exclusiveMaximum: 1 }, 0.5],
    [{ type: 'integer', minimum: 21, maximum: 29, multipleOf: 7 }, 21],
    [{ enum: ['b', 'a'] }, 'b'],
    [{ default: 3, type: 'integer' }, 3],
    [{ type: 'array', items: { type: 'boolean' }, minItems: 2 }, [true, true]],
    [{ type: ['null', 'integer'] }, 1],
    [{ anyOf: [{ type: 'null' }, { type: 'boolean' }] }, true],
    [{ allOf: [{ type: 'object', properties: { a: { const: 1 } } }, { required: ['a'] }] }, { a: 1 }],
    [
      { type: 'object', properties: { a: { $ref: '#/$defs/A' } }, required: ['a'], $defs: { A: { const: 'x' } } },
      { a: 'x' },
    ],
  ])('fit it: %j', async (schema, example) => {
    expect(exampleOf(schema, schema)).toEqual(example);
    const wrapped = {
      type: 'object',
      properties: { v: schema.$defs ? { ...schema, $defs: undefined } : schema },
      $defs: schema['$defs'],
    };
    const result = await validator.validate({
      schema: wrapped as never,
      input: { value: { v: example as never } },
      coerce: false,
    });
    expect(result).toMatchObject({ ok: true });
  });

  it('are none where none can be made', () => {
    const endless: JsonObject = { type: 'object', properties: { a: { $ref: '#' } }, required: ['a'] };
    expect(exampleOf(endless, endless)).toBeUndefined();
    expect(exampleOf({}, { type: 'string', pattern: '^(?=x)' })).toBeUndefined();
    expect(exampleOf({}, { type: 'integer', minimum: 3, maximum: 2 })).toBeUndefined();
  });
});

describe('examples made from a pattern', () => {
  it.each([
    ['^ORD-\\d{4}$', 'ORD-1111'],
    ['^[A-Z]{2,3}-[0-9]+$', 'AA-0'],
    ['^(?:pay|ref)_[a-z0-9]{6}$', 'pay_aaaaaa'],
    ['^[^/\\s]+@x\\.org$', 'a@x.org'],
    ['^\\+?\\d{3}$', '111'],
    ['^(?<year>\\d{4})-\\d\\d$', '1111-11'],
    ['(?!x)a', undefined],
    ['(a)\\1', undefined],
    ['a{100000}', undefined],
    ['[', undefined],
  ])('%s gives %j', (pattern, example) => {
    expect(exampleOfPattern(pattern)).toBe(example);
    if (example !== undefined) expect(example).toMatch(new RegExp(pattern, 'u'));
  });

  it('match it, whatever it is made of', () => {
    const atom = fc.constantFrom('a', '\\d', '\\w', '[b-e]', '[^a]', '(?:x|yz)', '(q)', '.', '\\.', '\\-');
    const piece = fc
      .tuple(atom, fc.constantFrom('', '?', '*', '+', '{2}', '{1,3}', '{0,2}'))
      .map(([a, count]) => a + count);
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 6 }), (pieces) => {
        const pattern = `^${pieces.join('')}$`;
        expect(exampleOfPattern(pattern)).toMatch(new RegExp(pattern));
      }),
    );
  });
});
