import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunSummary } from '../../src/client/run-description.js';
import type { TranscriptEntry } from '../../src/client/run-reader.js';
import { Project } from '../support/command-line.js';

/** A tool that fails twice before it succeeds, waiting a second each time; one that always refuses; one that is quick. */
const config = `
import { defineConfig, defineTool, ToolError } from 'perdure';
const input = { type: 'object', properties: { id: { type: 'string' } }, required: ['id'], additionalProperties: false };
let starts = 0;
export default defineConfig({
  model: 'scripted:script.ts',
  limits: { calls: 10 },
  tools: [
    defineTool({ name: 'look', description: 'Look.', effect: 'read', input, execute: ({ id }) => ({ id, seen: true }) }),
    defineTool({ name: 'shaky', description: 'Fail twice.', effect: 'read', input, execute: () => {
      if ((starts += 1) < 3) throw new ToolError({ class: 'rate_limit', effect: 'none', publicMessage: 'slow down', retryAfterMs: 1500 });
      return { ok: true };
    } }),
    defineTool({ name: 'refuse', description: 'Refuse.', effect: 'once', input, execute: () => {
      throw new ToolError({ class: 'business_rule_violation', effect: 'none', publicMessage: 'not on Sundays' });
    } }),
  ],
});`;

const script = `
export default ({ messages }) => {
  const tool = messages[0].text;
  const turns = messages.filter((message) => message.role === 'assistant').length;
  return turns === 0 ? { text: 'I try.', calls: [{ tool, input: { id: '7' } }] } : { text: 'Done: ' + 'x'.repeat(5000) };
};`;

describe('with perdure dev', () => {
  let shop: Project;
  let dev: ReturnType<Project['start']>;
  beforeAll(async () => {
    shop = await Project.open({ 'perdure.config.ts': config, 'script.ts': script });
    dev = shop.start(['dev']);
    await dev.errHas('Ctrl-C stops.');
  });
  afterAll(async () => {
    if (dev.child.exitCode === null) dev.child.kill('SIGINT');
    await dev.ended;
    await shop[Symbol.asyncDispose]();
  });

  it('watch tells of each attempt until the run ends, and ends as the run did', async () => {
    expect((await shop.run('run', '--id', 'shaky', 'shaky')).code).toBe(0);
    const { code, out } = await shop.run('watch', 'shaky');
    expect(out).toContain('step 1  I try.');
    expect(out).toContain('✓ c1.0  shaky {"id":"7"}');
    expect(out).toMatch(/shaky completed {2}perdure show shaky\n {2}steps 2 of 25, calls 1 of 10\n$/);
    expect(code).toBe(0);
  });

  it('logs tells starts, failures and outcomes in the order of time', async () => {
    const { code, out } = await shop.run('logs', 'shaky', '--call', 'c1.0', '--json');
    const entries = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(entries.map(({ event, start }) => [event, start])).toEqual([
      ['attempt_started', 1],
      ['attempt_failed', 1],
      ['attempt_started', 2],
      ['attempt_failed', 2],
      ['attempt_started', 3],
      ['attempt_ended', 3],
      ['outcome', undefined],
    ]);
    expect(entries[1]).toMatchObject({ callId: 'c1.0', tool: 'shaky', record: { error_type: 'rate_limit' } });
    expect(code).toBe(0);
    const lines = (await shop.run('logs', 'shaky')).out.trim().split('\n');
    expect(lines[0]).toMatch(/^\S+Z {2}run {2}started: shaky$/);
    expect(lines.at(-1)).toContain('run  completed: the model gave its answer');
    expect(await shop.run('logs', 'shaky', '--call', 'c9.9')).toMatchObject({
      code: 2,
      err: expect.stringContaining('has no call "c9.9"; it made c1.0'),
    });
  });

  it('logs --follow goes on until the run has ended', async () => {
    expect((await shop.run('run', '--id', 'refused', 'refuse')).code).toBe(0);
    const { code, out } = await shop.run('logs', 'refused', '--follow');
    expect(out).toContain('c1.0 refuse  failed: business_rule_violation (TOOL_CONFLICT_001)');
    expect(out).toMatch(/run {2}completed: .*\n$/);
    expect(code).toBe(0);
  });

  it('transcript is the conversation, whole or one step of it, for people and for programs', async () => {
    const { out } = await shop.run('transcript', 'refused');
    expect(out).toContain('user\n  refuse\n');
    expect(out).toContain('assistant  step 1\n  I try.\n  → c1.0 refuse {"id":"7"}\n');
    expect(out).toContain('tool c1.0 refuse  step 1  failed\n');
    expect(out).toContain('x'.repeat(5000));
    const step = JSON.parse(
      (await shop.run('transcript', 'refused', '--step', '1', '--json')).out,
    ) as TranscriptEntry[];
    expect(step.map(({ message }) => message.role)).toEqual(['assistant', 'tool']);
    expect((await shop.run('transcript', 'refused', '--step', '1', '--markdown')).out).toContain(
      '# refused\n\n## assistant (step 1)\n\nI try.\n\nCall c1.0 of `refuse`:\n\n```json\n',
    );
    expect(await shop.run('transcript', 'refused', '--step', '9')).toMatchObject({
      code: 2,
      err: expect.stringContaining("the model's last turn is step 2"),
    });
  });

  it('show and run have the whole answer, however long', async () => {
    expect((await shop.run('show', 'refused', '--json')).out).toContain('x'.repeat(5000));
    expect((await shop.run('show', 'refused')).out).toContain('x'.repeat(5000));
  });

  it('list chooses by tool, failure class and time, also when the server is gone, and says so within seconds', async () => {
    const ids = async (...args: string[]): Promise<string[]> =>
      (JSON.parse((await shop.run('list', '--json', ...args)).out) as RunSummary[]).map(({ id }) => id);
    expect(await ids('--tool', 'shaky')).toEqual(['shaky']);
    expect(await ids('--class', 'business_rule_violation', '--since', '1h')).toEqual(['refused']);
    expect(await ids('--since', '2020-01-01', '--until', '1h')).toEqual([]);
    expect(await ids('--class', 'rate_limit')).toEqual([]);
    dev.child.kill('SIGINT');
    expect((await dev.ended).code).toBe(0);
    const asked = Date.now();
    const far = shop.start(['list', '--tool', 'refuse', '--status', 'completed'], { TEMPORAL_ADDRESS: '127.0.0.1:9' });
    const { code, out, err } = await far.ended;
    expect(Date.now() - asked).toBeLessThan(9_000);
    expect(err).toContain('The server was not reached: no Temporal server answers at 127.0.0.1:9');
    expect(out).toMatch(/refused +completed/);
    expect(code).toBe(0);
  });

  it('whatever only reads needs no model, and doctor says what is wrong with it', async () => {
    await rm(join(shop.dir, 'script.ts'));
    const readings = [
      ...['list', 'show refused', 'show refused --call c1.0', 'logs refused', 'transcript refused', 'watch refused'],
      ...[
        'stats',
        'export failures',
        'tools',
        'store stats',
        'store check',
        'store gc --dry-run',
        'complete -- show r',
      ],
    ];
    for (const line of readings) {
      expect({ line, ...(await shop.run(...line.split(' '))) }).toMatchObject({ code: 0 });
    }
    const asked = await shop.run('run', 'look');
    expect(asked).toMatchObject({ code: 2, err: expect.stringContaining('scripted:script.ts') });
    const { out } = await shop.run('doctor');
    expect(out).toMatch(/problem +model +model: scripted:script\.ts/);
    expect(out).toMatch(/ok +store +/);
    expect(out).toMatch(/problem +server +there is none/);
  });
});
