import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Json, JsonObject } from '../../src/contract/json.js';
import { foldedDigest, foldedWordDigests, plainArguments } from '../../src/policy/fold-arguments.js';

const digest = (args: Json) => foldedDigest('search', args);

describe('arguments that mean the same fold alike', () => {
  it.each<[string, Json, Json]>([
    ['key order', { a: 1, b: 'x' }, { b: 'x', a: 1 }],
    ['spacing of text', { q: 'red shoes' }, { q: '  red   shoes ' }],
    ['letter case of free text', { q: 'Red Shoes' }, { q: 'red shoes' }],
    ['punctuation of free text', { q: 'red shoes, size 9!' }, { q: 'red shoes size 9' }],
    ['number form', { n: 1 }, { n: '1.0' }],
    ['number as text', { n: 10 }, { n: '10' }],
    ['empty fields', { q: 'a', tags: [], note: '', more: {}, none: null }, { q: 'a' }],
  ])('%s', (_what, one, other) => {
    expect(digest(one)).toBe(digest(other));
  });

  it('whatever the key order, at every depth', () => {
    const reversed = (value: Json): Json => {
      if (Array.isArray(value)) return value.map(reversed);
      if (typeof value !== 'object' || value === null) return value;
      return Object.fromEntries(
        Object.entries(value)
          .reverse()
          .map(([key, each]) => [key, reversed(each)]),
      );
    };
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
        const args = JSON.parse(JSON.stringify(value)) as Json;
        expect(digest(args)).toBe(digest(reversed(args)));
      }),
    );
  });
});

describe('arguments that differ stay apart', () => {
  it.each<[string, JsonObject, JsonObject]>([
    ['other words', { q: 'red shoes' }, { q: 'blue shoes' }],
    ['identifiers by letter case', { id: 'aB-1' }, { id: 'ab-1' }],
    ['identifiers by punctuation', { path: 'a/b' }, { path: 'a.b' }],
    ['leading zeros', { zip: '00501' }, { zip: '501' }],
    ['long digits', { id: '12345678901234567890' }, { id: '12345678901234567891' }],
    ['another sign', { n: -1 }, { n: 1 }],
    ['list order', { ids: ['a', 'b'] }, { ids: ['b', 'a'] }],
    ['true and its text', { on: true }, { on: false }],
  ])('%s', (_what, one, other) => {
    expect(digest(one)).not.toBe(digest(other));
  });

  it('by their tool', () => {
    expect(foldedDigest('a', {})).not.toBe(foldedDigest('b', {}));
  });
});

it('folding has 64 bits, and never throws on JSON', () => {
  fc.assert(
    fc.property(fc.string(), fc.jsonValue(), (tool, value) => {
      expect(foldedDigest(tool.toWellFormed(), JSON.parse(JSON.stringify(value)) as Json)).toMatch(/^[0-9a-f]{16}$/);
    }),
  );
});

describe('arguments as the tool can take notice of them', () => {
  const schema = { type: 'object', properties: { q: { type: 'string' }, tags: { type: 'array' } } };

  it('have no fields that its schema does not name', () => {
    expect(plainArguments({ q: 'a', zzz: 1 }, schema)).toEqual({ q: 'a' });
  });

  it.each<[string, JsonObject]>([
    ['says that others are welcome', { ...schema, additionalProperties: true }],
    ['describes others', { ...schema, additionalProperties: { type: 'number' } }],
    ['names them by pattern', { ...schema, patternProperties: { '^z': {} } }],
    ['composes', { ...schema, anyOf: [{ properties: { zzz: {} } }] }],
    ['names none', { type: 'object' }],
  ])('keep them where the schema %s', (_what, open) => {
    expect(plainArguments({ q: 'a', zzz: 1 }, open)).toEqual({ q: 'a', zzz: 1 });
  });

  it('keep them where nothing else is there', () => {
    expect(plainArguments({ zzz: 1 }, schema)).toEqual({ zzz: 1 });
  });

  it('hold nothing where a word stands for it', () => {
    const plain = plainArguments({ q: 'None', tags: ['null', { x: 'N/A ' }, 'none of it'] }, schema);
    expect(plain).toEqual({ q: null, tags: [null, { x: null }, 'none of it'] });
  });
});

describe('words of arguments', () => {
  it('are those of the folded values, each once', () => {
    expect(foldedWordDigests([{ q: 'Red  shoes, red!' }])).toEqual(foldedWordDigests([{ q: 'red shoes' }]));
    expect(foldedWordDigests([{ q: 'red shoes' }])).toHaveLength(3);
  });

  it('tell identifiers apart that differ in letter case', () => {
    expect(foldedWordDigests([{ id: 'aAx' }])).not.toEqual(foldedWordDigests([{ id: 'aaX' }]));
  });
});
