import { describe, expect, it } from 'vitest';
import { checkToolSchema } from '../../src/arguments/check-tool-schema.js';
import type { JsonObject } from '../../src/contract/json.js';

function warningsOf(inputSchema: JsonObject, tool: { name?: string; description?: string } = {}): string[] {
  return checkToolSchema({ name: 'refund', description: 'Refunds.', ...tool, inputSchema }).map(
    ({ path, problem }) => `${path} ${problem}`,
  );
}

const text = { type: 'string', description: 'Something.' };

describe('the check of a tool', () => {
  it('says nothing of a tool that is fine', () => {
    expect(
      warningsOf({
        type: 'object',
        properties: { a: text, b: { $ref: '#/$defs/B' } },
        required: ['a'],
        additionalProperties: false,
        $defs: { B: { type: 'object', description: 'B.', properties: { c: text } } },
      }),
    ).toEqual([]);
  });

  it.each<[string, JsonObject, { name?: string; description?: string }, string[]]>([
    ['an undescribed property', { properties: { a: { type: 'string' } } }, {}, ['/properties/a has no description']],
    [
      'a nested one',
      { properties: { l: { type: 'array', description: 'L.', items: { properties: { x: { type: 'number' } } } } } },
      {},
      ['/properties/l/items/properties/x has no description'],
    ],
    [
      'a bare object',
      { properties: { a: { type: 'object', description: 'A.' } } },
      {},
      ['/properties/a is an object of which nothing is said: name its properties, or say what goes into it'],
    ],
    [
      'a list without items',
      { properties: { a: { type: 'array', description: 'A.' } } },
      {},
      ['/properties/a is a list without items: some providers refuse it'],
    ],
    [
      'a name that providers refuse',
      {},
      { name: 'a.b' },
      [' the name is not one that providers accept (1 to 64 of a-z, A-Z, 0-9, _ and -): models are shown another one'],
    ],
    [
      'a name that one provider refuses',
      {},
      { name: '2fa' },
      [' the name does not begin with a letter or _: some providers (Gemini) refuse it'],
    ],
    ['a missing description', {}, { description: ' ' }, [' has no description: a model cannot know when to use it']],
    [
      'a union at the root',
      { oneOf: [{}] },
      {},
      [
        ' has oneOf at the root, which providers refuse: models are shown one object instead, and calls are checked against the original',
      ],
    ],
    [
      'a required name that is no property',
      { properties: { a: text }, required: ['b'] },
      {},
      [' requires "b", which is not among its properties'],
    ],
    [
      'a closed object beside a union',
      {
        properties: {
          x: { description: 'X.', properties: { a: text }, additionalProperties: false, anyOf: [{ required: ['a'] }] },
        },
      },
      {},
      [
        '/properties/x has additionalProperties: false beside a union: properties of its parts are refused; use unevaluatedProperties',
      ],
    ],
    [
      'the keyword in the wrong place',
      { properties: { additionalProperties: text } },
      {},
      [' has a property named additionalProperties: was the keyword meant?'],
    ],
  ])('warns of %s', (_name, schema, tool, warnings) => {
    expect(warningsOf({ type: 'object', ...schema }, tool)).toEqual(warnings);
  });
});
