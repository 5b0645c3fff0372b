/** The cases of group O (results), and P01 and P07 on recorded shapes; `respelt` are other inputs of the same kind. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { Json, JsonObject } from '../../src/contract/json.js';
import { normalizeResult } from '../../src/results/normalize-result.js';
import type { NormalizedResult } from '../../src/results/normalized-result.js';
import { shapeForModel, type ShapedResult } from '../../src/results/shape-for-model.js';
import { ToolError } from '../../src/tools/tool-error.js';

interface FieldCase {
  id: string;
  kind: string;
  input: JsonObject;
  expected: { model_text_includes?: string[]; model_text_excludes?: string[] };
}

const cases = new Map(
  readFileSync(new URL('cases.jsonl', import.meta.url), 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as FieldCase)
    .map((each) => [each.id, each]),
);

const base64 = (bytes: Buffer) => bytes.toString('base64');
const png = Buffer.concat([Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]), Buffer.alloc(349_992)]);
const wav = Buffer.concat([Buffer.from('RIFF....WAVE'), Buffer.alloc(100)]);
const log = 'line of log\n'.repeat(40_000);
const odd = () => ({
  err: new TypeError('bad id'),
  at: new Date(0),
  m: new Map([['k', 1]]),
  s: new Set([1]),
  n: NaN,
  bad: new Date(NaN),
});
const mcp07 = () =>
  (cases.get('P07')?.input['results'] as JsonObject[]).map((result): [unknown, (seen: Seen) => void] => [
    result,
    (seen) => {
      if (result['isError'] === true) {
        expect(seen.result.failure?.thrown).toMatchObject({ class: 'tool_error', publicMessage: 'no sensor' });
      } else {
        // Only this is validated against the output schema: what is missing or wrong is left for it to find.
        expect(seen.result.json).toEqual(result['structuredContent'] ?? '21');
        expect(seen.result.failure).toBeUndefined();
      }
    },
  ]);

interface Seen {
  result: NormalizedResult;
  shaped: ShapedResult;
  /** What a model reads: the shaped result, and a failure's public words. */
  text: string;
}

const table: Record<string, { given: [unknown, (seen: Seen) => void][]; respelt?: [unknown, (seen: Seen) => void][] }> =
  {
    O01: {
      given: [[log, expectCut(480_000)]],
      respelt: [
        [{ content: [{ type: 'text', text: log }] }, expectCut(480_000)],
        [{ exitCode: 0, stdout: log }, expectCut(520_026)],
        [log.split('\n'), expectCut(560_004)],
        [Buffer.from(log), expectCut(480_000)],
        ['語'.repeat(160_000), expectCut(160_000)],
      ],
    },
    O05: {
      given: [
        [undefined, expectNothing('no_output')],
        [null, expectNothing('no_value')],
        ['', expectNothing('empty_text')],
        [() => 1, expectNothing('no_output')],
        [Symbol('x'), expectNothing('no_output')],
      ],
      respelt: [
        ['  \n', expectNothing('empty_text')],
        [class {}, expectNothing('no_output')],
        [Promise.resolve(undefined), ({ text }) => { expect(text).toContain('not awaited'); }], // prettier-ignore
        [{ content: [] as unknown[], isError: false }, expectNothing('no_output')],
        [new Response(null, { status: 204 }), expectNothing('empty_text')],
      ],
    },
    O06: {
      given: [
        [
          odd(),
          ({ result }) => {
            expect(result.json).toEqual({
              err: { message: 'bad id' },
              at: '1970-01-01T00:00:00.000Z',
              m: { k: 1 },
              s: [1],
              n: 'NaN',
              bad: 'Invalid Date',
            });
          },
        ],
      ],
      respelt: [
        [
          new RangeError('bad id'),
          ({ result }) => {
            expect(result.failure?.thrown).toMatchObject({ message: 'bad id' });
          },
        ],
        [[new Map([[1, odd()]])], ({ text }) => { expect(text).toContain('"message":"bad id"'); }], // prettier-ignore
        [{ e: new AggregateError([new Error('bad id')]) }, ({ text }) => { expect(text).not.toContain('"e":{}'); }], // prettier-ignore
      ],
    },
    O07: {
      given: [
        [
          {
            content: [
              { type: 'text', text: 'chart ready' },
              { type: 'image', mimeType: 'image/png', data: base64(png) },
              { type: 'audio', mimeType: 'audio/wav', data: base64(wav) },
              {
                type: 'resource',
                resource: { uri: 'file:///x.bin', mimeType: 'application/octet-stream', blob: 'AAEC' },
              },
            ],
          },
          ({ text, result }) => {
            expect(text).toBe(
              'chart ready\n(image/png, 350 kB)\n(audio/wav, 112 bytes)\nfile:///x.bin (binary, 3 bytes)',
            );
            expect(result.attachments.map(({ mediaType }) => mediaType)).toEqual([
              'image/png',
              'audio/wav',
              'application/octet-stream',
            ]);
          },
        ],
      ],
      respelt: [
        [
          { content: [{ type: 'hologram', data: base64(png) }] },
          expectText('(content of the type hologram, which cannot be shown)'),
        ],
        [
          { content: [{ type: 'image', mimeType: 'image/png', data: 'not base64!' }] },
          expectText('(image/png, unreadable)'),
        ],
        [{ content: [{ type: 'image' }] }, expectText('(application/octet-stream, unreadable)')],
        [{ chart: `data:image/png;base64,${base64(png)}` }, expectText('{"chart":"(image/png, 350 kB)"}')],
        [{ chart: base64(png) }, expectText('{"chart":"(image/png, 350 kB)"}')],
        [png, expectText('(image/png, 350 kB)')],
      ],
    },
    O09: {
      given: [
        [Buffer.from([0xff, 0xfe, 0x00, 0x41]), expectText('(binary, 4 bytes)')],
        [new Uint8Array(5_000_000), expectText('(binary, 5 MB)')],
        ['a\u0000b\u001b[31mred', expectText('abred')],
      ],
      respelt: [
        [{ file: new DataView(new ArrayBuffer(4)) }, expectText('{"file":"(binary, 4 bytes)"}')],
        [JSON.parse(JSON.stringify({ b: Buffer.from([0, 255]) })), expectText('{"b":"(binary, 2 bytes)"}')],
        [new Blob([new Uint8Array(3)]), expectText('(binary, 3 bytes)')],
        [{ out: ['\u001b]0;title\u0007x\u009b2Jy'] }, expectText('{"out":["xy"]}')],
        [
          new Uint8Array(11_000_000),
          ({ result }) => {
            expect(result.tooLarge).toBe('11 MB, where 10.5 MB is the limit');
          },
        ],
      ],
    },
    P01: {
      given: [
        [
          cases.get('P01')?.input['result'],
          ({ result }) => {
            expect(result.failure?.thrown).toMatchObject({ class: 'tool_error', effect: 'unknown' });
          },
        ],
      ],
      respelt: [
        [{ isError: true, content: [] }, expectFailure('The tool reported an error without saying which.')],
        [{ isError: true, content: [], structuredContent: { code: 7 } }, expectFailure('{"code":7}')],
      ],
    },
    P07: { given: mcp07() },
  };

function expectCut(total: number) {
  return ({ text, shaped }: Seen) => {
    expect(text).toContain('omitted');
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(16_000 + 150);
    expect(shaped.truncated).toMatchObject({ total, artifact_id: 'artifact-1' });
  };
}

function expectNothing(reason: string) {
  return ({ text, result }: Seen) => {
    expect(typeof text).toBe('string');
    expect(result.emptyReason).toBe(reason);
  };
}

function expectText(expected: string) {
  return ({ text }: Seen) => {
    expect(text).toBe(expected);
  };
}

function expectFailure(words: string) {
  return ({ result }: Seen) => {
    expect(result.failure?.thrown).toMatchObject({ publicMessage: words });
  };
}

async function see(value: unknown): Promise<Seen> {
  const result = await normalizeResult(value);
  const shaped = shapeForModel(result.json, { maxTokens: 4000, artifactId: 'artifact-1' });
  const text = textOf(shaped.json);
  const thrown = result.failure?.thrown;
  return { result, shaped, text: thrown instanceof ToolError ? `${text} ${String(thrown.publicMessage)}` : text };
}

function textOf(json: Json): string {
  return typeof json === 'string' ? json : JSON.stringify(json);
}

describe.each(Object.entries(table))('case %s', (id, { given, respelt = [] }) => {
  const { kind, expected } = cases.get(id) ?? { kind: 'missing', expected: {} };

  it.each(given.map(([value, check], index) => ({ index, value, check })))(
    `${kind}, variant $index`,
    async ({ value, check }) => {
      const seen = await see(value);
      check(seen);
      for (const words of expected.model_text_excludes ?? []) expect(seen.text).not.toContain(words);
      const isWhole = given.length === 1 || seen.result.failure !== undefined;
      for (const words of isWhole ? (expected.model_text_includes ?? []) : []) expect(seen.text).toContain(words);
    },
  );

  it.each(respelt.map(([value, check], index) => ({ index, value, check })))(
    `${kind}, respelt $index`,
    async ({ value, check }) => {
      const seen = await see(value);
      check(seen);
      for (const words of expected.model_text_excludes ?? []) expect(seen.text).not.toContain(words);
    },
  );
});
