import { describe, expect, it } from 'vitest';
import { PerdureError } from '../../src/client/perdure-error.js';
import type { AgentRunResult } from '../../src/contract/run.js';
import type { RunDescription } from '../../src/client/run-description.js';
import { defineTool } from '../../src/tools/define-tool.js';
import { buildManifest } from '../../src/tools/manifest.js';
import { runScripted } from './scripted-platform.js';
import { runningRun, sampleRun, sampleSummaries, START_MS } from './sample-run.js';

const ended = sampleRun();
const result = ended.result as AgentRunResult;
const silence = new PerdureError('server_unreachable', 'No Temporal server answers at 127.0.0.1:7000.');

/** The workflow is open a moment longer than the run. */
function closing(): RunDescription {
  const run = sampleRun();
  return { ...run, server: { ...run.server!, status: 'running' } };
}

function running(): RunDescription {
  const run = runningRun();
  return { ...run, server: { ...run.server!, status: 'running' } };
}

describe('run, followed in a pipe', () => {
  it('prints the answer on standard output and plain progress on standard error', async () => {
    const script = { looks: [running(), closing(), ended], result, embedded: true };
    const { exitCode, out, err, asked } = await runScripted(['run', 'Refund it'], script);
    expect(exitCode).toBe(0);
    expect(out).toBe('Order 1042 was already refunded in full.\nNothing was charged twice.\n');
    expect(err).toMatchInlineSnapshot(`
      "run-4kx9mz  http://ui/run-4kx9mz
      step 1  I'll look the order up first.
        ✓ c1.1  find_order {"orderId":"1042"}  120 ms
      step 2
        ↻ c2.1 refund_payment start 1: external_service_unavailable, trying again
        ✗ c2.2  print_label {"order":7}  validation_error, not run
                The arguments do not fit: "orderId" is missing (a string, for example "1042"). Correct the arguments and call the tool again.
        ✗ c2.1  refund_payment {"paymentId":"pay_77","amountCents":129900}  business_rule_violation, 2.3 s, 2 starts
                The payment service refused: the payment was already refunded in full. Look the payment up before you try another way.
      run-4kx9mz completed  perdure show run-4kx9mz
      "
    `);
    expect(asked).toEqual(['checkStart', 'engine {}', 'stop']);
  });

  it.each([
    ['capped', 3],
    ['failed', 4],
    ['cancelled', 4],
  ] as const)('ends a %s run with %i and says why', async (status, code) => {
    const end: AgentRunResult = {
      ...result,
      status,
      answer: status === 'capped' ? 'As far as I got.' : '',
      termination: { reason: 'steps_cap', summary: '25 of 25 steps were used' },
    };
    const { exitCode, out, err } = await runScripted(['run', 'x', '--follow'], { looks: [ended], result: end });
    expect(exitCode).toBe(code);
    expect(out).toBe(status === 'capped' ? 'As far as I got.\n' : '');
    expect(err).toContain(`run-4kx9mz ${status}: 25 of 25 steps were used`);
  });

  it('prints nothing but JSON on standard output with --json', async () => {
    const { out } = await runScripted(['run', 'x', '--json', '--follow'], { looks: [ended], result });
    expect(JSON.parse(out)).toEqual({ id: 'run-4kx9mz', runKey: 'key-1', ...result });
  });

  it('passes id, model and caps on, and reads the task from standard input', async () => {
    const args = ['run', '-', '--id', 'mine', '--model', 'a:b', '--max-steps', 'none'];
    const { startedWith, asked } = await runScripted(args, { stdin: 'from a file\n' });
    expect(startedWith).toEqual([{ task: 'from a file\n', id: 'mine', model: 'a:b', limits: { steps: null } }]);
    expect(asked[0]).toBe('engine {"model":"a:b"}');
  });

  it('starts no server for an id that is taken', async () => {
    const startFails = new PerdureError('run_exists', 'A run with the id "mine" exists already (completed).');
    const { exitCode, err, asked } = await runScripted(['run', 'x', '--id', 'mine'], { embedded: true, startFails });
    expect({ exitCode, asked }).toEqual({ exitCode: 2, asked: ['checkStart mine'] });
    expect(err).toContain('exists already');
  });

  it('ends with the error of a worker that breaks down', async () => {
    const broken = Promise.reject(new Error('The worker stopped.'));
    broken.catch(() => undefined);
    const { exitCode, err } = await runScripted(['run', 'x'], { looks: [running()], embedded: true, broken });
    expect(exitCode).toBe(1);
    expect(err).toContain('The worker stopped.');
  });
});

describe('run, followed on a terminal', () => {
  it('redraws the live lines and leaves the ended calls', async () => {
    const script = { looks: [running(), ended], result, terminal: true };
    const { err } = await runScripted(['run', 'x'], script);
    expect(err).toContain('calling');
    // Two live lines (the call under way, the state) are taken back before anything is written in their place.
    expect(err.split('\u001b[2A\r\u001b[0J')).toHaveLength(2);
    expect(err).toContain('  ✓ c1.1  find_order {"orderId":"1042"}  120 ms\n');
  });

  it('keeps escape sequences of an answer from the terminal, and from nothing else', async () => {
    const end = { ...result, answer: '\u001b[31mred' };
    const looks = [ended];
    expect((await runScripted(['run', 'x'], { looks, result: end, terminal: true })).out).toBe('␛[31mred\n');
    expect((await runScripted(['run', 'x', '--follow'], { looks, result: end })).out).toBe('\u001b[31mred\n');
  });
});

describe('Ctrl-C while following', () => {
  it('leaves the run alive, says how to see it again, and ends with 130', async () => {
    const { exitCode, out, err } = await runScripted(['run', 'x', '--follow'], {
      looks: [running(), running()],
      interruptAtLook: 2,
    });
    expect(exitCode).toBe(130);
    expect(out).toBe('');
    expect(err).toMatch(/run-4kx9mz goes on without this terminal\.\nSee it again: perdure show run-4kx9mz\n$/);
  });

  it('says that a run of the embedded server goes on at the next start', async () => {
    const script = { looks: [running()], interruptAtLook: 1, embedded: true };
    const { exitCode, err, asked } = await runScripted(['run', 'x'], script);
    expect(exitCode).toBe(130);
    expect(err).toContain('run-4kx9mz is paused: it goes on when perdure dev or perdure run is started next');
    expect(asked.at(-1)).toBe('stop');
  });

  it('that comes when the run has just ended changes nothing', async () => {
    const script = { looks: [ended], result, interruptAtLook: 1 };
    expect((await runScripted(['run', 'x', '--follow'], script)).exitCode).toBe(0);
  });
});

describe('a server that falls silent while following', () => {
  it('is waited for', async () => {
    const looks = [running(), silence, silence, ended];
    const { exitCode, err } = await runScripted(['run', 'x', '--follow'], { looks, result });
    expect(exitCode).toBe(0);
    expect(err.match(/Trying again for 30 s/g)).toHaveLength(1);
  });

  it('is given up after 30 s', async () => {
    const looks = [running(), ...Array.from({ length: 102 }, () => silence)];
    const { exitCode, err } = await runScripted(['run', 'x', '--follow'], { looks });
    expect(exitCode).toBe(2);
    expect(err).toContain('perdure: No Temporal server answers at 127.0.0.1:7000.');
  });
});

describe('run without a worker', () => {
  it('says after five quiet seconds how to start one, once', async () => {
    const waiting: RunDescription = { ...running(), state: 'waiting', steps: [] };
    const looks = [...Array.from({ length: 40 }, () => waiting), ended];
    const { err } = await runScripted(['run', 'x', '--follow'], { looks, result, workerIsThere: false });
    expect(err.match(/No worker is there for this run/g)).toHaveLength(1);
  });
});

describe('run, not followed', () => {
  it("prints the run's id alone in a pipe", async () => {
    const { exitCode, out, err } = await runScripted(['run', 'x']);
    expect(exitCode).toBe(0);
    expect(out).toBe('run-4kx9mz\n');
    expect(err).toBe('See how it goes: perdure show run-4kx9mz\n');
  });

  it('prints id, key and link with --json', async () => {
    const { out } = await runScripted(['run', 'x', '--json', '--no-follow'], { terminal: true });
    expect(JSON.parse(out)).toEqual({ id: 'run-4kx9mz', runKey: 'key-1', url: 'http://ui/run-4kx9mz' });
  });

  it('is refused where nobody would run it', async () => {
    const { exitCode, err, asked } = await runScripted(['run', 'x', '--no-follow'], { embedded: true });
    expect(exitCode).toBe(2);
    expect(asked).toEqual([]);
    expect(err).toContain('perdure dev');
  });
});

describe('list', () => {
  it('prints the table', async () => {
    const { exitCode, out } = await runScripted(['list'], { runs: sampleSummaries() });
    expect(exitCode).toBe(0);
    expect(out.split('\n')[3]).toBe(
      'run-4kx9mz                          completed      3  1 min ago       12.4 s  ' +
        'Refund order 1042 and tell the customer why it took so long, in two or three friendly sentences.',
    );
  });

  it('passes status and limit on', async () => {
    const { asked } = await runScripted(['list', '--status', 'failed', '--limit', '3'], { runs: [] });
    expect(asked).toEqual(['list {"limit":3,"state":"failed"}']);
  });

  it('says how to start a first run, and leaves standard output empty', async () => {
    const { out, err } = await runScripted(['list'], { runs: [] });
    expect(out).toBe('');
    expect(err).toBe('No runs yet. Start one: perdure run "what the agent is to do"\n');
  });

  it('prints an array with --json, also of none', async () => {
    expect((await runScripted(['list', '--json'], { runs: [] })).out).toBe('[]\n');
    expect(JSON.parse((await runScripted(['list', '--json'], { runs: sampleSummaries() })).out)).toHaveLength(5);
  });
});

describe('show', () => {
  it('prints the steps', async () => {
    const { exitCode, out } = await runScripted(['show', 'run'], { looks: [ended] });
    expect(exitCode).toBe(0);
    expect(out).toContain('step 1');
    expect(out).toMatch(/Nothing was charged twice\.\n$/);
  });

  it('prints the description with --json', async () => {
    expect(JSON.parse((await runScripted(['show', 'run', '--json'], { looks: [ended] })).out)).toEqual(ended);
  });

  it('prints everything about one call', async () => {
    const { out } = await runScripted(['show', 'run', '--call', 'c2.1'], { looks: [ended] });
    expect(out).toContain('what happened, for operators');
    const json = await runScripted(['show', 'run', '--call', 'c2.1', '--json'], { looks: [ended] });
    expect(JSON.parse(json.out)).toMatchObject({ callId: 'c2.1', starts: 2 });
  });

  it('names the calls of a run that has no such call', async () => {
    const { exitCode, err } = await runScripted(['show', 'run', '--call', 'c9.9'], { looks: [ended] });
    expect(exitCode).toBe(2);
    expect(err).toContain('The run run-4kx9mz has no call "c9.9"; it made c1.1, c2.1, c2.2.');
  });

  it('says that a running run has no worker, or that its server is away', async () => {
    const noWorker = await runScripted(['show', 'run'], { looks: [running()], workerIsThere: false });
    expect(noWorker.err).toContain('No worker is there for this run. Start one: perdure worker');
    const { server: _server, ...unserved } = running();
    expect((await runScripted(['show', 'run'], { looks: [unserved] })).err).toContain('perdure dev');
  });

  it('points to the list where there is no such run', async () => {
    const { exitCode, err } = await runScripted(['show', 'nope']);
    expect(exitCode).toBe(2);
    expect(err).toBe('perdure: There is no run "nope".\nperdure list\n');
  });
});

describe('retry', () => {
  it('passes on what was asked, and says what runs and what does not', async () => {
    const retryPlan = {
      rerun: [{ callId: 'c2.1', tool: 'refund_payment', former: 'tool_bug' as const }],
      unresolved: [{ callId: 'c2.0', tool: 'print_label' }],
    };
    const args = ['retry', 'run', '--max-steps', '50', '--max-cost', '2.5', '--note', 'mended', '--no-follow'];
    const { exitCode, out, err, asked } = await runScripted(args, { retryPlan, looks: [ended] });
    expect(exitCode).toBe(0);
    expect(out).toBe('run-4kx9mz\n');
    expect(err).toBe(
      'runs now: c2.1 refund_payment (formerly tool_bug)\n' +
        'not run again: c2.0 print_label, which may or may not have happened. ' +
        'Say which: perdure resolve run-4kx9mz --call c2.0 --happened (or --did-not)\n' +
        'See how it goes: perdure show run-4kx9mz\n',
    );
    expect(asked).toContain('retry run-4kx9mz {"note":"mended","limits":{"steps":50,"costUsd":2.5}}');
  });

  it('tells what is new, and of a call that runs again how it ends now and not how it ended before', async () => {
    const failed = running();
    const [first, second] = failed.steps;
    const [refund, label] = second!.calls;
    const broken = { ...refund!, state: 'failed' as const, starts: 1, endedAtMs: START_MS + 4_200 };
    const before = { ...failed, steps: [first!, { ...second!, calls: [broken, label!] }] };
    const again = {
      ...before,
      steps: [first!, { ...second!, calls: [{ ...broken, endedAtMs: START_MS + 9_000 }, label!] }],
    };
    const { err } = await runScripted(['retry', 'run', '--follow'], { looks: [before, again, ended], result });
    expect(err).toBe(
      'run-4kx9mz  http://ui/run-4kx9mz\n' +
        '  ✗ c2.1  refund_payment {"paymentId":"pay_77","amountCents":129900}  failed\n' +
        '  ✗ c2.1  refund_payment {"paymentId":"pay_77","amountCents":129900}  business_rule_violation, 2.3 s, 2 starts\n' +
        '          The payment service refused: the payment was already refunded in full. Look the payment up before you try another way.\n' +
        'run-4kx9mz completed  perdure show run-4kx9mz\n',
    );
  });

  it('refuses a limit that is none', async () => {
    const { exitCode, err } = await runScripted(['retry', 'run', '--max-time', 'soon']);
    expect(exitCode).toBe(2);
    expect(err).toContain('Expected a length of time such as 30m or 12h, or none.');
  });
});

describe('resolve', () => {
  it('says what became of the call, and how the run goes on', async () => {
    const args = ['resolve', 'run', '--call', 'c2.0', '--did-not', '--note', 'not printed'];
    const { exitCode, err, asked } = await runScripted(args, { looks: [ended] });
    expect(exitCode).toBe(0);
    expect(asked).toEqual(['resolve run-4kx9mz c2.0 {"happened":false,"note":"not printed"}']);
    expect(err).toBe(
      'c2.0 of run-4kx9mz: it did not happen.\nHave the run go on with that: perdure retry run-4kx9mz --ask-again\n',
    );
  });

  it('wants one word of two, and a result only of what happened', async () => {
    const both = await runScripted(['resolve', 'run', '--call', 'c2.0', '--happened', '--did-not']);
    expect(both).toMatchObject({ exitCode: 2, err: expect.stringContaining('either --happened or --did-not') });
    const result = await runScripted(['resolve', 'run', '--call', 'c2.0', '--did-not', '--result', 'x.json']);
    expect(result).toMatchObject({ exitCode: 2, err: expect.stringContaining('has no result') });
  });
});

describe('cancel', () => {
  it('asks for the end and says how to see it', async () => {
    const { exitCode, out, err, asked } = await runScripted(['cancel', 'run']);
    expect(exitCode).toBe(0);
    expect(out).toBe('');
    expect(err).toBe('run-4kx9mz was asked to end. See how it does: perdure show run-4kx9mz\n');
    expect(asked).toEqual(['cancel run-4kx9mz']);
  });

  it('starts the embedded server for a paused run, and waits for its end', async () => {
    const unanswered = { at: '127.0.0.1:7233', advice: 'perdure dev' };
    const cancelled: RunDescription = { ...ended, state: 'cancelled' };
    const script = { looks: [running(), running(), running(), cancelled, cancelled], unanswered, embedded: true };
    const { exitCode, err, asked } = await runScripted(['cancel', 'run'], script);
    expect(asked).toEqual(['engine {}', 'cancel run-4kx9mz', 'stop']);
    expect(err).toMatch(/run-4kx9mz cancelled {2}perdure show run-4kx9mz\n$/);
    expect(exitCode).toBe(0);
  });

  it('starts none for a run that has ended', async () => {
    const unanswered = { at: '127.0.0.1:7233', advice: 'perdure dev' };
    const { asked } = await runScripted(['cancel', 'run'], { looks: [ended], unanswered, embedded: true });
    expect(asked).toEqual(['cancel run-4kx9mz']);
  });

  it('prints JSON with --json', async () => {
    expect(JSON.parse((await runScripted(['cancel', 'run', '--json'])).out)).toEqual({
      id: 'run-4kx9mz',
      cancellation: 'requested',
    });
  });
});

describe('tools', () => {
  const sound = defineTool({
    name: 'find_order',
    description: 'Find an order by its number.',
    effect: 'read',
    input: {
      type: 'object',
      properties: { orderId: { type: 'string', description: 'The order number' } },
      required: ['orderId'],
      additionalProperties: false,
    },
    execute: () => null,
  });
  const vague = defineTool({
    name: 'print_label',
    description: 'Print a label.',
    input: { type: 'object', properties: { order: {} } },
    execute: () => null,
  });
  const manifest = (...tools: (typeof sound)[]) => buildManifest(tools).tools;

  it('lists what running each twice does', async () => {
    const { exitCode, out } = await runScripted(['tools'], { tools: manifest(sound, vague) });
    expect(exitCode).toBe(0);
    expect(out).toBe(
      [
        'NAME         EFFECT  TIMEOUT  DESCRIPTION',
        'find_order   read    30.0 s   Find an order by its number.',
        'print_label  once    30.0 s   Print a label.',
        '',
      ].join('\n'),
    );
  });

  it('check says that all is well', async () => {
    expect(await runScripted(['tools', 'check'], { tools: manifest(sound) })).toMatchObject({
      exitCode: 0,
      out: '1 tool is fine.\n',
    });
  });

  it('check names each weak spot and ends with 2', async () => {
    const { exitCode, out } = await runScripted(['tools', 'check'], { tools: manifest(sound, vague) });
    expect(exitCode).toBe(2);
    expect(out).toMatch(/^print_label\n {2}\/properties\/order: /);
    expect(out).not.toContain('find_order');
  });

  it('print JSON with --json', async () => {
    const { out } = await runScripted(['tools', 'check', '--json'], { tools: manifest(sound) });
    expect(JSON.parse(out)).toEqual([{ tool: 'find_order', warnings: [] }]);
  });
});
