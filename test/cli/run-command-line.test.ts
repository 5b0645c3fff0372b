import { describe, expect, it } from 'vitest';
import { PerdureError } from '../../src/client/perdure-error.js';
import { ConfigError } from '../../src/config/config-error.js';
import { StoreError } from '../../src/store/store-error.js';
import { runScripted } from './scripted-platform.js';

describe('without a command', () => {
  it('prints the help and ends with 2', async () => {
    const { exitCode, out, err } = await runScripted([]);
    expect(exitCode).toBe(2);
    expect(out).toBe('');
    expect(err).toContain('Usage: perdure');
    expect(err).toContain('list [options]');
  });
});

describe('--help and --version', () => {
  it('show commands, examples and exit codes on standard output', async () => {
    const { exitCode, out, err } = await runScripted(['--help']);
    expect(exitCode).toBe(0);
    expect(err).toBe('');
    expect(out).toContain('perdure run "Refund order 1042"');
    expect(out).toContain("\n  5    a recorded history does not replay with today's code\n");
    for (const line of out.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
  });

  it('show the version', async () => {
    expect(await runScripted(['--version'])).toMatchObject({ exitCode: 0, out: '1.2.3\n' });
  });

  it.each([
    ['run', ['0', '1', '2', '3', '4', '130']],
    ['list', ['0', '1', '2']],
  ])('say how %s may end', async (command, codes) => {
    const { out } = await runScripted([command, '--help']);
    const said = out.slice(out.indexOf('Exit codes:')).trim().split('\n').slice(1);
    expect(said.map((line) => line.trim().split(' ')[0])).toEqual(codes);
  });
});

describe('a mistake in the command', () => {
  it.each([
    ['perdure', ['lst'], "unknown command 'lst'\n(Did you mean list?)"],
    ['perdure run', ['run', 'x', '--max-step', '3'], "unknown option '--max-step'\n(Did you mean --max-steps?)"],
    ['perdure run', ['--config', 'list', 'run'], "missing required argument 'task'"],
    ['perdure show', ['show'], "missing required argument 'run'"],
    ['perdure run', ['run', 'x', '--max-steps', '-1'], "argument '-1' is invalid. Expected a whole number, or none."],
    ['perdure run', ['run', 'x', '--max-steps', '2.5'], "argument '2.5' is invalid. Expected a whole number, or none."],
    ['perdure list', ['list', '--limit', '0'], "argument '0' is invalid. Expected a whole number, 1 or more."],
    ['perdure list', ['list', '--status', 'done'], "argument 'done' is invalid. Allowed choices are running, waiting,"],
    ['perdure cancel', ['cancel', 'a', 'b'], "too many arguments for 'cancel'"],
    ['perdure store gc', ['store', 'gc', '--dry'], "unknown option '--dry'"],
    ['perdure store', ['store', 'chek'], "unknown command 'chek'\n(Did you mean check?)"],
  ])('is answered with what is wrong, %s --help, and 2', async (command, args, sentence) => {
    const { exitCode, out, err } = await runScripted(args);
    expect(exitCode).toBe(2);
    expect(out).toBe('');
    expect(err).toContain(sentence);
    expect(err).toMatch(/^perdure: /);
    expect(err).toMatch(new RegExp(`\n${command} --help\n$`));
    expect(err).not.toContain('    at ');
  });
});

describe('--config', () => {
  it.each([[['--config', 'a.ts', 'list']], [['list', '--config', 'a.ts']]])('is taken from %j', async (args) => {
    expect((await runScripted(args, { runs: [] })).asked[0]).toBe('config a.ts');
  });
});

describe('an error', () => {
  it('is one sentence and what to type next', async () => {
    const openFails = new PerdureError('no_model', 'No model is set.', {
      next: 'perdure run --model openai:gpt-5 "…"',
    });
    const { exitCode, err } = await runScripted(['run', 'x'], { openFails });
    expect(exitCode).toBe(2);
    expect(err).toBe('perdure: No model is set.\nperdure run --model openai:gpt-5 "…"\n');
  });

  it('in the configuration names path and value', async () => {
    const openFails = new ConfigError('tools[0].timeoutMs', "expected a duration, got 'soon'");
    const { exitCode, err } = await runScripted(['list'], { openFails });
    expect(exitCode).toBe(2);
    expect(err).toBe("perdure: tools[0].timeoutMs: expected a duration, got 'soon'\nCorrect it and try again.\n");
  });

  it('of a newer store says how to update', async () => {
    const openFails = new StoreError('newer_schema', 'The store was written by a newer perdure.');
    expect((await runScripted(['list'], { openFails })).err).toContain('npm install perdure@latest');
  });

  it('that nobody foresaw ends with 1 and without its stack', async () => {
    const { exitCode, err } = await runScripted(['list'], { openFails: new TypeError('x is not a function') });
    expect(exitCode).toBe(1);
    expect(err).toBe('perdure: x is not a function\nRun it again with PERDURE_DEBUG=1 to see where.\n');
  });

  it('shows its stack and its causes where they are asked for', async () => {
    const openFails = new Error('outer', { cause: new Error('inner') });
    const { err } = await runScripted(['list'], { openFails, debug: true });
    expect(err).toMatch(/Error: outer\n {4}at [\s\S]*caused by Error: inner\n {4}at /);
  });

  it('steers no terminal', async () => {
    const { err } = await runScripted(['list'], { openFails: new Error('\u001b[2Jgone') });
    expect(err).toContain('perdure: ␛[2Jgone');
  });
});

describe('dev and worker', () => {
  it('print links, wait for Ctrl-C and stop what they started', async () => {
    const server = {
      address: '127.0.0.1:7000',
      namespace: 'default',
      source: '.perdure/dev.json',
      uiUrl: 'http://127.0.0.1:8000',
      startedHere: true,
    };
    const { exitCode, out, err, asked } = await runScripted(['dev'], { worker: { server } });
    expect(exitCode).toBe(0);
    expect(out).toBe('');
    expect(err).toMatchInlineSnapshot(`
      "server         127.0.0.1:7000 (started here, state in .perdure/)
      Temporal UI    http://127.0.0.1:8000
      worker         task queue perdure-0a1b2c3d, namespace default
      tools          find_order
      model          none: give --model to perdure run, or set model in perdure.config.ts
      configuration  /shop/perdure.config.ts

      Next, in another terminal: perdure run "what the agent is to do"
      Ctrl-C stops.
      Stopping: calls under way may end first.
      "
    `);
    expect(asked).toEqual(['worker {"embed":true}', 'stop']);
  });

  it('start no server with worker', async () => {
    const { asked, err } = await runScripted(['worker']);
    expect(asked).toEqual(['worker {"embed":false}', 'stop']);
    expect(err).toContain('127.0.0.1:7000 (TEMPORAL_ADDRESS)');
  });

  it('end with the error of a server that ends by itself, after stopping the rest', async () => {
    const broken = Promise.reject(new Error('The embedded Temporal server has ended.'));
    broken.catch(() => undefined);
    const { exitCode, err, asked } = await runScripted(['dev'], { broken });
    expect(exitCode).toBe(1);
    expect(err).toContain('The embedded Temporal server has ended.');
    expect(asked.at(-1)).toBe('stop');
  });

  it.each(['store', 'export'])('shows the help of %s, which is a group of commands', async (group) => {
    const { exitCode, err } = await runScripted([group]);
    expect(exitCode).toBe(2);
    expect(err).toContain(`Usage: perdure ${group}`);
    expect(err).not.toContain('outputHelp');
  });
});
