import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Project } from '../support/command-line.js';

const config = `
import { defineConfig, defineTool } from 'perdure';
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const input = { type: 'object', properties: { id: { type: 'string' } }, required: ['id'], additionalProperties: false };
export default defineConfig({
  model: 'scripted:script.ts',
  tools: [
    defineTool({ name: 'look', description: 'Look.', effect: 'read', input, execute: ({ id }) => ({ id, seen: true }) }),
    defineTool({ name: 'dawdle', description: 'Take long.', effect: 'read', input, execute: async ({ id }, ctx) => {
      for (let i = 0; i < 30 && !ctx.signal.aborted; i++) await wait(100);
      return { id };
    } }),
  ],
});`;

/** Each task has its own conversation: the model looks at what was asked first. */
const script = `
export default ({ messages }) => {
  const task = messages[0].text;
  const turns = messages.filter((message) => message.role === 'assistant').length;
  if (turns === 0) {
    const tool = task === 'slow' ? 'dawdle' : 'look';
    return { text: 'I look first.', calls: [{ tool, input: { id: '7' } }, { tool: 'look', input: { no: 1 } }] };
  }
  return { text: 'Seen: ' + task };
};`;

const openShop = (): Promise<Project> => Project.open({ 'perdure.config.ts': config, 'script.ts': script });

describe('without a server', () => {
  let shop: Project;
  beforeAll(async () => {
    shop = await openShop();
  });
  afterAll(() => shop[Symbol.asyncDispose]());

  it('run starts one, prints the answer alone on standard output, and leaves nothing running', async () => {
    const { code, out, err } = await shop.run('run', '--id', 'first', 'task one');
    expect(err).toContain('✓ c1.0  look {"id":"7"}');
    expect(err).toContain('✗ c1.1  look {"no":1}  validation_error, not run');
    expect(out).toBe('Seen: task one\n');
    expect(code).toBe(0);
    expect((await readdir(join(shop.dir, '.perdure'))).filter((name) => name.startsWith('dev.'))).toEqual([]);
  });

  it('show and list tell of the run that has ended', async () => {
    const shown = await shop.run('show', 'fir');
    expect(shown.out).toContain('first  completed after');
    expect(shown.out).toContain('Seen: task one');
    expect(JSON.parse((await shop.run('list', '--json')).out)).toMatchObject([{ id: 'first', state: 'completed' }]);
    const call = await shop.run('show', 'first', '--call', 'c1.1');
    expect(call.out).toContain('"no": 1');
    expect(call.out).toContain('the body was never started');
  });

  it('Ctrl-C pauses a run, which the next one brings to its end', async () => {
    const { child, ended, errHas } = shop.start(['run', '--id', 'paused', 'slow']);
    await errHas('step 1');
    child.kill('SIGINT');
    const { code, out, err } = await ended;
    expect(code).toBe(130);
    expect(out).toBe('');
    expect(err).toContain('paused is paused: it goes on when perdure dev or perdure run is started next');
    expect((await shop.run('show', 'paused')).out).toContain('paused  running');

    const next = shop.start(['dev']);
    await next.errHas('Ctrl-C stops.');
    await expect
      .poll(async () => (JSON.parse((await shop.run('show', 'paused', '--json')).out) as { state: string }).state, {
        timeout: 60_000,
        interval: 500,
      })
      .toBe('completed');
    next.child.kill('SIGINT');
    expect((await next.ended).code).toBe(0);
  });

  it('cancel ends a paused run: it starts the server for that, and leaves nothing running', async () => {
    const { child, ended, errHas } = shop.start(['run', '--id', 'unwanted', 'slow']);
    await errHas('step 1');
    child.kill('SIGINT');
    expect((await ended).code).toBe(130);
    const { code, err } = await shop.run('cancel', 'unwanted');
    expect(err).toContain('unwanted cancelled  perdure show unwanted\n');
    expect(code).toBe(0);
    expect((await shop.run('show', 'unwanted')).out).toContain('unwanted  cancelled after');
    expect((await readdir(join(shop.dir, '.perdure'))).filter((name) => name.startsWith('dev.'))).toEqual([]);
    expect((await shop.run('cancel', 'unwanted')).err).toContain('has ended already (cancelled)');
  });

  it('run without following and worker say how to start one', async () => {
    expect(await shop.run('worker')).toMatchObject({ code: 2, err: expect.stringContaining('perdure dev') });
    expect(await shop.run('run', '--no-follow', 'x')).toMatchObject({
      code: 2,
      err: expect.stringContaining('perdure dev'),
    });
  });
});

describe('with perdure dev', () => {
  let shop: Project;
  let dev: ReturnType<Project['start']>;
  beforeAll(async () => {
    shop = await openShop();
    dev = shop.start(['dev']);
    await dev.errHas('Ctrl-C stops.');
  });
  afterAll(async () => {
    dev.child.kill('SIGINT');
    const { code } = await dev.ended;
    await shop[Symbol.asyncDispose]();
    expect(code).toBe(0);
  });

  it('run in a pipe prints the id and leaves', async () => {
    const { code, out, err } = await shop.run('run', 'task two');
    expect(code).toBe(0);
    expect(out).toMatch(/^run-[a-z2-9]{6}\n$/);
    expect(err).toContain(`perdure show ${out.trim()}`);
  });

  it('run --follow --json prints one JSON value on standard output', async () => {
    const { code, out } = await shop.run('run', '--follow', '--json', '--id', 'json', 'task three');
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ id: 'json', status: 'completed', answer: 'Seen: task three' });
  });

  it('a capped run ends with 3 and its last answer', async () => {
    const { code, out, err } = await shop.run('run', '--follow', '--max-steps', '1', '--id', 'capped', 'task four');
    expect(out).toBe('Seen: task four\n');
    expect(err).toContain('capped capped: ');
    expect(code).toBe(3);
  });

  it('an id that is taken is refused', async () => {
    await shop.run('run', '--follow', '--id', 'taken', 'x');
    const { code, out, err } = await shop.run('run', '--id', 'taken', 'x');
    expect(code).toBe(2);
    expect(out).toBe('');
    expect(err).toContain('A run with the id "taken" exists already');
  });

  it('cancel ends a run that is in the middle of a call, and following it ends with 4', async () => {
    const { ended, errHas } = shop.start(['run', '--follow', '--id', 'cancel-me', 'slow']);
    await errHas('step 1');
    expect((await shop.run('cancel', 'cancel')).code).toBe(0);
    const { code, err } = await ended;
    expect(err).toContain('cancel-me cancelled');
    expect(code).toBe(4);
    expect((await shop.run('cancel', 'cancel-me')).err).toContain('has ended already');
    expect((await shop.run('logs', 'cancel-me')).out).toMatch(
      /run {2}asked to end by \S+@\S+\n(.*\n)*.*run {2}cancelled/,
    );
  });

  it('Ctrl-C while following leaves the run alive', async () => {
    const { child, ended, errHas } = shop.start(['run', '--follow', '--id', 'detached', 'slow']);
    await errHas('step 1');
    child.kill('SIGINT');
    const { code, err } = await ended;
    expect(code).toBe(130);
    expect(err).toContain('detached goes on without this terminal.\nSee it again: perdure show detached');
    await expect
      .poll(async () => (await shop.run('show', 'detached')).out, { timeout: 30_000, interval: 500 })
      .toContain('detached  completed');
  });

  it('a second dev is refused and points to the first', async () => {
    const { code, err } = await shop.run('dev');
    expect(code).toBe(2);
    expect(err).toContain('The server of this folder runs already');
  });
});
