import { describe, expect, it } from 'vitest';
import { shapeForModel } from '../../src/results/shape-for-model.js';
import { normalizeResult } from '../../src/results/normalize-result.js';
import { readArtifactTool } from '../../src/tools/read-artifact.js';
import type { ToolContext } from '../../src/tools/tool.js';

const log = Array.from({ length: 5000 }, (_, line) => `line ${String(line + 1)}: ${'grüße '.repeat(3)}`).join('\n');
const bodies: Record<string, Uint8Array> = {
  log: Buffer.from(JSON.stringify(log)),
  json: Buffer.from(JSON.stringify({ rows: [{ id: 1, name: 'Ada' }] })),
  wide: Buffer.from(JSON.stringify('😀'.repeat(3000))),
  image: Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
};
const asked: unknown[] = [];
const tool = readArtifactTool((id, run) => {
  asked.push(run.runId);
  return Promise.resolve(Object.hasOwn(bodies, id) ? bodies[id] : undefined);
});
const ctx = { runId: 'run-1', callId: 'c2.0', signal: new AbortController().signal } as ToolContext;
const read = (input: object) => tool.execute(input, ctx);

describe('read_artifact', () => {
  it('is a built-in read whose schema refuses other arguments', () => {
    expect(tool).toMatchObject({
      source: 'builtin',
      definition: { name: 'read_artifact', policy: { effect: { kind: 'read' } } },
    });
    expect(tool.definition.inputSchema['additionalProperties']).toBe(false);
  });

  it('reads a stored text line by line and says where to go on', async () => {
    expect(await read({ artifact_id: 'log', first_line: 4999 })).toEqual({
      artifact_id: 'log',
      first_line: 4999,
      last_line: 5000,
      total_lines: 5000,
      text: log.split('\n').slice(4998).join('\n'),
    });
    expect(await read({ artifact_id: 'log', line_count: 2 })).toMatchObject({ last_line: 2, next_line: 3 });
  });

  it('never gives more than a message may hold, and loses no line on the way', async () => {
    const seen: string[] = [];
    for (let next: number | undefined = 1; next !== undefined;) {
      const answer = await read({ artifact_id: 'log', first_line: next, line_count: 2000 });
      const { json } = await normalizeResult(answer);
      expect(shapeForModel(json, { artifactId: 'x' }).truncated).toBeUndefined();
      const part = answer as { text: string; next_line?: number };
      seen.push(part.text);
      next = part.next_line;
    }
    expect(seen.join('\n')).toBe(log);
  });

  it('indents JSON, and wraps a line that is too wide without breaking a character', async () => {
    expect(await read({ artifact_id: 'json' })).toMatchObject({
      text: '{\n  "rows": [\n    {\n      "id": 1,\n      "name": "Ada"\n    }\n  ]\n}',
    });
    expect(await read({ artifact_id: 'wide', first_line: 2, line_count: 1 })).toMatchObject({
      total_lines: 3,
      text: '😀'.repeat(1000),
    });
  });

  it('finds lines by a text in any case', async () => {
    expect(await read({ artifact_id: 'log', search: 'LINE 77:' })).toMatchObject({
      total_matches: 1,
      matches: [{ line: 77, text: log.split('\n')[76] }],
    });
    expect(await read({ artifact_id: 'log', search: 'line' })).toMatchObject({ total_matches: 5000, next_line: 51 });
    expect(await read({ artifact_id: 'log', search: 'line', first_line: 4990 })).toMatchObject({ total_matches: 11 });
    expect(await read({ artifact_id: 'log', search: '(a+)+$' })).toMatchObject({ total_matches: 0, matches: [] });
  });

  it('says what a binary is instead of showing it', async () => {
    expect(await read({ artifact_id: 'image' })).toMatchObject({ content: '(image/png, 8 bytes)' });
  });

  it('asks the loader for this run, and refuses an id that it does not know', async () => {
    await expect(read({ artifact_id: '__proto__' })).rejects.toMatchObject({
      class: 'not_found',
      effect: 'none',
      publicMessage: 'This run has no stored result with the artifact_id "__proto__".',
    });
    expect(asked.at(-1)).toBe('run-1');
    await expect(read({ artifact_id: 'json', first_line: 100 })).rejects.toMatchObject({
      class: 'validation_error',
      publicMessage: 'first_line is 100, but this result has 8 lines.',
    });
  });
});
