import { describe, expect, it } from 'vitest';
import fc from 'fast-check';
import type { Json, JsonObject } from '../../src/contract/json.js';
import { shapeForModel } from '../../src/results/shape-for-model.js';

const artifactId = 'a1b2';
const png = Buffer.concat([Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]), Buffer.alloc(349_992, 7)]);
const log = 'line of log\n'.repeat(40_000);

describe('shapeForModel', () => {
  it('leaves a small result as it is', () => {
    const json = { a: [1, 'grüße'], b: null };
    expect(shapeForModel(json, { artifactId })).toEqual({ json, attachments: [] });
  });

  it('keeps head and tail of a long text, says how much is missing and where it is', () => {
    const { json, truncated } = shapeForModel(`first\n${log}last`, { artifactId, maxTokens: 4000 });
    const text = json as string;
    expect(text.length).toBeLessThan(16_000 + 150);
    expect(text).toMatch(/^first\nline of log\n/);
    expect(text).toMatch(/\nline of log\nlast$/);
    expect(text).toContain('characters omitted; read_artifact shows the whole: artifact_id a1b2');
    expect(truncated).toMatchObject({ total: 480_010, artifact_id: artifactId });
    expect(truncated?.shown).toBeGreaterThan(15_900);
  });

  it('keeps a long list a list, with both ends', () => {
    const rows = Array.from({ length: 5000 }, (_, id) => ({ id, name: `row ${String(id)}` }));
    const { json, truncated } = shapeForModel({ total: 5000, rows }, { artifactId, maxTokens: 1000 });
    const shaped = json as { total: number; rows: Json[] };
    expect(shaped.total).toBe(5000);
    expect(shaped.rows[0]).toEqual({ id: 0, name: 'row 0' });
    expect(shaped.rows.at(-1)).toEqual({ id: 4999, name: 'row 4999' });
    expect(shaped.rows.filter((row) => typeof row === 'string')).toEqual([
      expect.stringMatching(/^… \([\d,]+ items omitted\) …$/),
    ]);
    expect(truncated?.artifact_id).toBe(artifactId);
    expect(JSON.stringify(json).length).toBeLessThanOrEqual(4000);
  });

  it('cuts the one long text of an object and keeps its other fields', () => {
    const json: JsonObject = { exit: 1, files: ['a', 'b', 'c'], stdout: log };
    const shaped = shapeForModel(json, { artifactId, maxTokens: 1000 }).json as JsonObject;
    expect(shaped).toMatchObject({ exit: 1, files: ['a', 'b', 'c'] });
    expect(shaped['stdout']).toMatch(/characters omitted/);
    expect((shaped['stdout'] as string).length).toBeGreaterThan(2000);
  });

  it('cuts an object of very many fields', () => {
    const json = Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`key${String(index)}`, index]));
    const shaped = shapeForModel(json, { artifactId, maxTokens: 500 }).json as JsonObject;
    expect(shaped['key0']).toBe(0);
    expect(shaped['key19999']).toBe(19_999);
    expect(shaped['…']).toMatch(/fields omitted/);
  });

  it.each<[string, Json]>([
    ['NUL and colours', 'a\u0000b\u001b[31mred\u001b[0m'],
    ['other controls', '\u0007ab\u0008\u0085red'],
    ['a link of the terminal', '\u001b]8;;https://x.example\u0007abred\u001b]8;;\u0007'],
  ])('removes %s', (_name, json) => {
    expect(shapeForModel(json, { artifactId }).json).toBe('abred');
    expect(shapeForModel({ deep: [json] }, { artifactId }).json).toEqual({ deep: ['abred'] });
  });

  it('keeps tabs and line ends, and cleans keys without losing a field', () => {
    expect(shapeForModel('a\tb\r\nc', { artifactId }).json).toBe('a\tb\r\nc');
    expect(shapeForModel({ k: 1, 'k\u0000': 2 }, { artifactId }).json).toEqual({ k: 1, k_: 2 });
  });

  it('puts an image in base64 into an attachment, alone or as a data URI', () => {
    const base64 = png.toString('base64');
    const { json, attachments } = shapeForModel(
      { bare: base64, uri: `see data:image/png;base64,${base64} here` },
      { artifactId },
    );
    expect(json).toEqual({ bare: '(image/png, 350 kB)', uri: 'see (image/png, 350 kB) here' });
    expect(attachments.map(({ mediaType, bytes }) => [mediaType, bytes.length])).toEqual([
      ['image/png', 350_000],
      ['image/png', 350_000],
    ]);
  });

  it('leaves hashes, tokens and ordinary long texts alone', () => {
    const json = ['ab12'.repeat(16), 'eyJhbGciOi'.repeat(40), 'words and words '.repeat(30)];
    expect(shapeForModel(json, { artifactId })).toEqual({ json, attachments: [] });
  });

  it('is JSON, well formed and within the limit and its notices, whatever it is given', () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: 'binary' }), fc.integer({ min: 30, max: 200 }), (value, maxTokens) => {
        const { json, truncated } = shapeForModel(value as Json, { artifactId, maxTokens });
        const text = typeof json === 'string' ? json : JSON.stringify(json);
        expect(text.isWellFormed()).toBe(true);
        expect(Buffer.byteLength(text)).toBeLessThanOrEqual(maxTokens * 4 + (truncated ? 150 : 0));
      }),
    );
  });
});
