import { execFile } from 'node:child_process';
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ReplayedExecution } from '../../src/replay/replay-executions.js';
import { findTemporalCli } from '../../src/server/temporal-cli.js';
import { Project } from '../support/command-line.js';

const root = fileURLToPath(new URL('../../', import.meta.url));

const config = `
import { defineConfig, defineTool } from 'perdure';
const input = { type: 'object', properties: { id: { type: 'string' } }, required: ['id'], additionalProperties: false };
export default defineConfig({
  model: 'scripted:script.json',
  workflows: './workflows.ts',
  tools: [defineTool({ name: 'look', description: 'Look.', effect: 'read', input, execute: ({ id }) => ({ id }) })],
});`;

const script = JSON.stringify({ turns: [{ calls: [{ tool: 'look', input: { id: '7' } }] }, { text: 'Seen.' }] });

/** A run of two executions, by the code of before. */
const before = `
import { continueAsNew } from '@temporalio/workflow';
import { agentRun as perdureRun } from 'perdure/workflow';
export async function agentRun(input) {
  if (!input.again) await continueAsNew({ ...input, again: true });
  return await perdureRun(input);
}`;

/** A wait before the agent begins, without \`patched\`. */
const after = before
  .replace('{ continueAsNew }', '{ continueAsNew, sleep }')
  .replace('return await', 'await sleep(5_000);\n  return await');

describe('perdure replay', () => {
  let shop: Project;
  let dev: ReturnType<Project['start']>;
  beforeAll(async () => {
    shop = await Project.open({ 'perdure.config.ts': config, 'script.json': script, 'workflows.ts': before });
    // As npm would install it.
    await mkdir(join(shop.dir, 'node_modules'));
    await symlink(root, join(shop.dir, 'node_modules', 'perdure'));
    await symlink(join(root, 'node_modules', '@temporalio'), join(shop.dir, 'node_modules', '@temporalio'));
    dev = shop.start(['dev']);
    await dev.errHas('Ctrl-C stops.');
    expect(await shop.run('run', '--follow', '--id', 'seen', 'look')).toMatchObject({ code: 0, out: 'Seen.\n' });
  });
  afterAll(async () => {
    dev.child.kill('SIGINT');
    await dev.ended;
    await shop[Symbol.asyncDispose]();
  });

  it('replays every execution of a run and ends with 0', async () => {
    const { code, out } = await shop.run('replay', 'se');
    expect(out.match(/✓ replays {2}seen /g)).toHaveLength(2);
    expect(code).toBe(0);
  });

  it('explains where changed code would go another way, and ends with 5', async () => {
    await writeFile(join(shop.dir, 'workflows.ts'), after);
    const { code, out, err } = await shop.run('replay', 'seen');
    expect(out).toContain('✓ replays  seen');
    expect(out).toContain('✗ diverges at event 5  seen');
    expect(out).toContain('the history    the start of the run (activity startRun, id 1)');
    expect(out).toContain('the code       a timer');
    expect(out).toContain("if (patched('my-change')) { new } else { old }");
    expect(out + err).not.toMatch(/\n\s+at /);
    expect(code).toBe(5);
  });

  it('is a gate over all runs, with a table', async () => {
    const { code, out } = await shop.run('replay', '--all', '--since', '1h');
    expect(out).toMatch(/WORKFLOW +EXECUTIONS +EVENTS +REPLAY +DIVERGE +FAIL\nagentRun +2 +\d+ +1 +1 +0\n$/);
    expect(code).toBe(5);
    const all = JSON.parse((await shop.run('replay', '--all', '--json')).out) as ReplayedExecution[];
    expect(all.map(({ id, status, closed }) => [id, status, closed])).toEqual([
      ['seen', 'diverges', true],
      ['seen', 'replays', true],
    ]);
  });

  it('reads a file as the temporal command exports it', async () => {
    await writeFile(join(shop.dir, 'workflows.ts'), before);
    const { address } = JSON.parse(await readFile(join(shop.dir, '.perdure', 'dev.json'), 'utf8')) as {
      address: string;
    };
    const show = ['workflow', 'show', '--workflow-id', 'seen', '--output', 'json', '--address', address];
    const { stdout } = await promisify(execFile)(findTemporalCli(process.env)?.path ?? 'temporal', show);
    await writeFile(join(shop.dir, 'seen.json'), stdout);
    const { code, out } = await shop.run('replay', '--history', 'seen.json');
    expect(out).toMatch(/^✓ replays {2}seen /);
    expect(code).toBe(0);
  });

  it('says what to type where it is not said what to replay, and where the code cannot be bundled', async () => {
    expect(await shop.run('replay')).toMatchObject({ code: 2, err: expect.stringContaining('perdure replay RUN') });
    await writeFile(join(shop.dir, 'workflows.ts'), 'export { nope } from "./missing.js";');
    const { code, err } = await shop.run('replay', 'seen');
    expect(err).toMatch(/^perdure: workflows: .*workflows\.ts cannot be bundled: .*missing/);
    expect(code).toBe(2);
  });
});
