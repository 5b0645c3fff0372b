/** The commands as a person types them, in a project of their own, with the embedded server. Effects are lines of a file. */
import { existsSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Project } from '../../support/command-line.js';

/** `bug` is the line that is wrong at first. */
const config = (bug: string) => `
import { appendFileSync, existsSync } from 'node:fs';
import { defineConfig, defineTool } from 'perdure';
const input = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'], additionalProperties: false };
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const note = (tool, n, ctx) => appendFileSync('effects.txt', tool + ' ' + n + ' ' + ctx.idempotencyKey + '\\n');
export default defineConfig({
  model: 'scripted:script.ts',
  worker: { heartbeatTimeoutMs: 2000 },
  tools: [
    defineTool({ name: 'print', description: 'Print.', input, execute: ({ n }, ctx) => { note('print', n, ctx); return { n }; } }),
    defineTool({ name: 'refund', description: 'Refund.', effect: { idempotent: 'key' }, input, execute: ({ n }, ctx) => {
      ${bug}
      note('refund', n, ctx);
      return { n };
    } }),
    defineTool({ name: 'send', description: 'Send.', input, execute: ({ n }, ctx) => {
      note('send', n, ctx);
      if (!existsSync('line-mended')) throw Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' });
      return { sent: n };
    } }),
    defineTool({ name: 'slow', description: 'Slow.', effect: { idempotent: 'key' }, input, execute: async ({ n }, ctx) => {
      note('slow', n, ctx);
      for (let i = 0; i < 80 && !existsSync('be-quick'); i++) {
        ctx.signal.throwIfAborted();
        await wait(100);
      }
      return { n };
    } }),
  ],
});`;

/** Each word of the task is a step with one call; the key of the model is a file. */
const script = `
import { existsSync } from 'node:fs';
export default ({ messages }) => {
  const words = messages[0].text.split(' ');
  const turn = messages.filter((message) => message.role === 'assistant').length;
  if (turn > 0 && words.includes('keyless') && !existsSync('model-key')) return { fail: { status: 401 } };
  const calls = words.filter((word) => word !== 'keyless');
  if (turn < calls.length) return { calls: calls[turn].split('+').map((tool, n) => ({ tool, input: { n } })) };
  return { text: 'Done: ' + messages.filter((message) => message.role === 'tool').map(({ content }) => JSON.parse(content).status).join() };
};`;

const openProject = (bug: string) => Project.open({ 'perdure.config.ts': config(bug), 'script.ts': script });

/** `tool n` of each effect, in order, and the keys. */
async function effectsIn({ dir }: Project): Promise<{ done: string[]; keys: string[] }> {
  const file = join(dir, 'effects.txt');
  const lines = existsSync(file) ? (await readFile(file, 'utf8')).trim().split('\n') : [];
  const words = lines.map((line) => line.split(' '));
  return { done: words.map(([tool, n]) => `${tool} ${n}`), keys: words.map(([, , key]) => key ?? '') };
}

async function stateOf(project: Project, id: string): Promise<string> {
  return (JSON.parse((await project.run('show', id, '--json')).out) as { state: string }).state;
}

describe('perdure retry, one command at a time', () => {
  let project: Project;
  beforeAll(async () => {
    project = await openProject('undefined.amount;');
  });
  afterAll(() => project[Symbol.asyncDispose]());

  it('goes on after a tool and a credential were mended, with each effect once', async () => {
    const failed = await project.run('run', '--id', 'broken', 'print+refund keyless');
    expect(failed.err).toContain('c1.1  refund {"n":1}  tool_bug');
    expect(failed.code).toBe(4);
    await project.write('perdure.config.ts', config(''));
    await project.write('model-key', 'secret');
    const { code, out, err } = await project.run('retry', 'brok', '--note', 'the amount is there now');
    expect(err).toContain('runs now: c1.1 refund (formerly tool_bug)\n');
    expect(err).not.toContain('✗');
    expect(out).toBe('Done: succeeded,succeeded\n');
    expect(code).toBe(0);
    expect((await effectsIn(project)).done).toEqual(['print 0', 'refund 1']);
    const shown = (await project.run('show', 'broken')).out;
    expect(shown).toContain('broken  completed');
    expect(shown.match(/c1\.1/g)).toHaveLength(1);
  });

  it('leaves what happened to be found: in the log, in the list, in the figures', async () => {
    const { out } = await project.run('logs', 'broken');
    expect(out).toMatch(
      /c1\.1 refund {2}failed: tool_bug .*\n(.*\n)*.*run {2}failed: .*\n(.*\n)*.*c1\.1 refund {2}succeeded/,
    );
    expect(out).toMatch(/run {2}retried by .+: the amount is there now; runs again: c1\.1\n/);
    expect((await project.run('list', '--class', 'tool_bug')).out).toMatch(/^broken +completed/m);
    expect((await project.run('stats')).out).toMatch(/^tool_bug +1 /m);
  });

  it('refuses what has no sense, and says what to type', async () => {
    expect(await project.run('retry', 'broken')).toMatchObject({
      code: 2,
      err: expect.stringContaining('perdure retry broken --ask-again'),
    });
    expect(await project.run('retry', 'nothing-like-it')).toMatchObject({
      code: 2,
      err: expect.stringContaining('There is no run "nothing-like-it"'),
    });
    expect(await project.run('resolve', 'broken', '--call', 'c1.1')).toMatchObject({
      code: 2,
      err: expect.stringContaining('either --happened or --did-not'),
    });
  });

  it('starts no server where the store knows that it would be in vain', async () => {
    // No server can be started by this command.
    const env = { TEMPORAL_CLI_PATH: '/nowhere/temporal' };
    const refused = async (...args: string[]) => {
      const { code, err } = await project.start(args, env).ended;
      expect({ args, code, err }).toEqual({ args, code: 2, err: expect.not.stringContaining('/nowhere/temporal') });
      return err;
    };
    expect(await refused('run', '--id', 'broken', 'print')).toContain('A run with the id "broken" exists already');
    expect(await refused('run', ' ')).toContain('The task is empty.');
    expect(await refused('run', '--no-follow', 'print')).toContain('nobody would run the task');
    expect(await refused('retry', 'broken')).toContain('perdure retry broken --ask-again');
    expect(await refused('retry', 'nothing-like-it')).toContain('There is no run "nothing-like-it"');
  });

  it('goes on from a cap with a raised limit', async () => {
    expect(await project.run('run', '--id', 'capped', '--max-steps', '1', 'refund refund')).toMatchObject({ code: 3 });
    const refused = await project.run('retry', 'capped');
    expect(refused).toMatchObject({ code: 2, err: expect.stringContaining('perdure retry capped --max-steps …') });
    expect(await project.run('retry', 'capped', '--max-steps', '5')).toMatchObject({
      code: 0,
      out: 'Done: succeeded,succeeded\n',
    });
    expect((await project.run('logs', 'capped')).out).toMatch(
      /run {2}no more tools: the run's limit of 1 step is used up\n.*run {2}capped: .*\n.*run {2}retried by /,
    );
  });

  it('runs a call that a person says did not happen, and shows the model one that did', async () => {
    await rm(join(project.dir, 'model-key'));
    await project.run('run', '--id', 'lost', 'send keyless');
    await project.run('run', '--id', 'found', 'send keyless');
    await project.write('model-key', 'secret');
    await project.write('line-mended', '');
    await project.write('sent.json', '{"sent":"by hand"}');
    const before = (await effectsIn(project)).done.filter((effect) => effect === 'send 0').length;

    const didNot = await project.run('resolve', 'lost', '--call', 'c1.0', '--did-not', '--note', 'not in the outbox');
    expect(didNot).toMatchObject({ code: 0, err: expect.stringContaining('perdure retry lost') });
    const happened = await project.run('resolve', 'found', '--call', 'c1.0', '--happened', '--result', 'sent.json');
    expect(happened.code).toBe(0);
    for (const id of ['lost', 'found']) {
      expect(await project.run('retry', id)).toMatchObject({ code: 0, out: 'Done: succeeded\n' });
    }
    expect((await effectsIn(project)).done.filter((effect) => effect === 'send 0')).toHaveLength(before + 1);
    expect((await project.run('show', 'found', '--call', 'c1.0')).out).toContain('by hand');
  });
});

describe('perdure retry, beside perdure dev', () => {
  let project: Project;
  let dev: ReturnType<Project['start']>;
  const startDev = async (): Promise<void> => {
    dev = project.start(['dev']);
    await dev.errHas('Ctrl-C stops.');
  };
  beforeAll(async () => {
    project = await openProject('');
    await startDev();
  });
  afterAll(async () => {
    dev.child.kill('SIGINT');
    await dev.ended;
    await project[Symbol.asyncDispose]();
  });

  it('goes on with a run that was terminated in mid-call, and over the death of its worker', async () => {
    await project.run('run', '--no-follow', '--id', 'ended', 'refund slow');
    const slow = async () => (await effectsIn(project)).done.filter((effect) => effect === 'slow 0').length;
    await expect.poll(slow, { timeout: 20_000 }).toBe(1);
    expect(await project.run('retry', 'ended')).toMatchObject({
      code: 2,
      err: expect.stringContaining('has not ended'),
    });
    const { address } = JSON.parse(await readFile(join(project.dir, '.perdure', 'dev.json'), 'utf8')) as {
      address: string;
    };
    const connection = await Connection.connect({ address });
    await new Client({ connection }).workflow.getHandle('ended').terminate('the test wants it');
    await connection.close();
    expect(await stateOf(project, 'ended')).toBe('terminated');

    const again = await project.run('retry', 'ended', '--no-follow');
    expect(again).toMatchObject({ code: 0, out: 'ended\n', err: expect.stringContaining('runs now: c2.0 slow') });
    await expect.poll(slow, { timeout: 20_000 }).toBe(2);
    dev.child.kill('SIGKILL');
    await dev.ended;
    await project.write('be-quick', '');
    await startDev();
    await expect.poll(() => stateOf(project, 'ended'), { timeout: 60_000, interval: 500 }).toBe('completed');
    const { done, keys } = await effectsIn(project);
    expect(done.filter((effect) => effect === 'refund 0')).toHaveLength(1);
    expect(new Set(keys.filter((_, index) => done[index] === 'slow 0')).size).toBe(1);
  });
});
