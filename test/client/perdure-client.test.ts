import { describe, expect, it } from 'vitest';
import { Perdure, type StartOptions } from '../../src/client/perdure-client.js';
import { PerdureError } from '../../src/client/perdure-error.js';
import type { ListOptions } from '../../src/client/run-reader.js';
import type { ServerRun } from '../../src/client/run-server.js';
import type { Outcome } from '../../src/contract/call.js';
import type { Failure, FailureClass } from '../../src/contract/failure.js';
import type { AgentRunResult } from '../../src/contract/run.js';
import type { CallRecord, RunRecord } from '../../src/store/records.js';
import type { StoredTurn } from '../../src/client/run-description.js';
import { ScriptedServer } from './scripted-server.js';
import { scriptedStore, type StoredRuns } from './scripted-store.js';

const TASK_QUEUE = 'perdure-0a1b2c3d';

function record(change: Partial<RunRecord> = {}): RunRecord {
  return {
    runKey: 'key-1',
    workflowId: 'run-one',
    task: 'do it',
    manifestHash: 'm',
    head: 'n1',
    status: 'running',
    startedAtMs: 1_000,
    updatedAtMs: 2_000,
    ...change,
  };
}

function onServer(change: Partial<ServerRun> = {}): ServerRun {
  return {
    id: 'run-one',
    runKey: 'key-1',
    status: 'running',
    executionId: 'e1',
    taskQueue: TASK_QUEUE,
    startedAtMs: 900,
    historyEvents: 5,
    ...change,
  };
}

const result: AgentRunResult = {
  status: 'failed',
  answer: '',
  termination: { reason: 'model_failed', summary: 'The model could not answer.' },
  counters: { steps: 1, calls: 0, inputTokens: 0, outputTokens: 0, costUsd: 0, failures: 0 },
};

function turn(step: number, from: string, to: string, text = ''): StoredTurn {
  return {
    turn: { runKey: 'key-1', step, head: from, settings: 's', take: 0 },
    result: { head: to, calls: [], usage: { inputTokens: 10, outputTokens: 5, costUsd: 0 }, text, empty: false },
    atMs: step,
  };
}

function failureOf(name: FailureClass): Failure {
  const words = { message: 'it failed', suggestedAction: 'try another way' };
  return { class: name, code: 'X', effectState: 'none', retryable: false, ...words };
}

function client(contents: StoredRuns, server: ScriptedServer | undefined = new ScriptedServer()): Perdure {
  return new Perdure({ store: scriptedStore(contents), server });
}

async function refusal(promise: Promise<unknown>): Promise<PerdureError> {
  const error: unknown = await promise.then(
    () => new Error('it was not refused'),
    (reason: unknown) => reason,
  );
  if (error instanceof PerdureError) return error;
  throw error;
}

describe('start', () => {
  it("starts the workflow on the store's task queue with a new runKey", async () => {
    const server = new ScriptedServer();
    const run = await client({}, server).start('do it', { id: 'mine', limits: { steps: 3 }, model: 'a:b' });
    expect(run.runId).toBe('mine');
    expect(run.runKey).toMatch(/^[0-9a-f-]{36}$/);
    expect(server.started).toEqual([
      {
        id: 'mine',
        taskQueue: TASK_QUEUE,
        input: { task: 'do it', runKey: run.runKey, limits: { steps: 3 }, model: 'a:b' },
      },
    ]);
  });

  it('makes up a readable id, and another runKey each time', async () => {
    const perdure = client({});
    const [one, two] = [await perdure.start('a'), await perdure.start('a')];
    expect(one.runId).toMatch(/^run-[a-z2-9]{6}$/);
    expect(one.runKey).not.toBe(two.runKey);
  });

  it('refuses an id that the store knows, although the server has forgotten it', async () => {
    const error = await refusal(client({ runs: [record({ status: 'completed' })] }).start('a', { id: 'run-one' }));
    expect(error.code).toBe('run_exists');
    expect(error.message).toBe('A run with the id "run-one" exists already (completed).');
  });

  it('takes an id that only begins like one that is used', async () => {
    expect((await client({ runs: [record()] }).start('a', { id: 'run-on' })).runId).toBe('run-on');
  });

  it.each(['cron', 'cronSchedule'])('refuses %s and points to Schedules', async (name) => {
    const options = { [name]: '* * * * *' } as StartOptions;
    const error = await refusal(client({}).start('a', options));
    expect(error.message).toBe(`${name}: a run has no cron schedule.`);
    expect(error.next).toContain('Schedule');
  });

  it('refuses a limit in dollars that could never act, unless another model is asked', async () => {
    const store = scriptedStore({});
    const perdure = new Perdure({ store, server: new ScriptedServer(), modelWithoutPrices: 'scripted:a.json' });
    const error = await refusal(perdure.start('do it', { limits: { costUsd: 1 } }));
    expect(error.message).toBe('A limit of $1 could never act: scripted:a.json has no prices.');
    await perdure.start('do it', { id: 'other', limits: { costUsd: 1 }, model: 'openai:x' });
    await perdure.start('do it', { id: 'uncapped', limits: { costUsd: null } });
  });

  it('refuses an empty task', async () => {
    expect((await refusal(client({}).start(' \n'))).message).toBe('The task is empty.');
  });

  it.each([
    ['gpt-5', 'openai:gpt-5'],
    [':gpt-5', 'openai:gpt-5'],
    ['', 'openai:gpt-5'],
    ['llama3', 'openai:llama3'],
  ])('refuses the model %j, which names no provider', async (model, example) => {
    const error = await refusal(client({}).start('a', { model }));
    expect(error.message).toBe(`The model "${model}" names no provider.`);
    expect(error.next).toContain(example);
  });

  it('says how to start a server where there is none', async () => {
    const perdure = new Perdure({ store: scriptedStore(), server: undefined });
    const error = await refusal(perdure.start('a'));
    expect(error.code).toBe('server_unreachable');
    expect(error.next).toContain('perdure dev');
  });
});

describe('get', () => {
  it('finds a run of the store by a prefix', async () => {
    const run = await client({ runs: [record()] }).get('run-o');
    expect([run.runId, run.runKey]).toEqual(['run-one', 'key-1']);
  });

  it('finds a run by its exact name, however many younger ones begin so, and starts no other of that name', async () => {
    const younger = Array.from({ length: 1_001 }, (_, n) => record({ runKey: `k${n}`, workflowId: `run-one-${n}` }));
    const perdure = client({ runs: [...younger, record()] });
    expect((await perdure.get('run-one')).runKey).toBe('key-1');
    expect((await refusal(perdure.start('a', { id: 'run-one' }))).code).toBe('run_exists');
  });

  it('finds a run that only the server has, because no worker took it up', async () => {
    const server = new ScriptedServer({ runs: [onServer({ id: 'run-new', runKey: 'key-2' })] });
    expect((await client({}, server).get('run-n')).runKey).toBe('key-2');
  });

  it('counts a run that both know once', async () => {
    const server = new ScriptedServer({ runs: [onServer()] });
    expect((await client({ runs: [record()] }, server).get('run')).runId).toBe('run-one');
  });

  it('names the candidates of store and server together', async () => {
    const server = new ScriptedServer({ runs: [onServer({ id: 'run-new', runKey: 'key-2', startedAtMs: 9_000 })] });
    const error = await refusal(client({ runs: [record()] }, server).get('run-'));
    expect(error.message).toBe('2 runs begin with "run-": run-new, run-one.');
  });

  it('says which run a mistyped id could have meant', async () => {
    const error = await refusal(client({ runs: [record()] }).get('run-onf'));
    expect(error.message).toBe('There is no run "run-onf". Did you mean run-one?');
  });
});

describe('list', () => {
  it('shows how the server says that a run ended where the store could not be told', async () => {
    const server = new ScriptedServer({ runs: [onServer({ status: 'terminated', closedAtMs: 5_000 })] });
    const runs = await client({ runs: [record()] }, server).list();
    expect(runs).toEqual([
      { id: 'run-one', runKey: 'key-1', task: 'do it', state: 'terminated', startedAtMs: 1_000, endedAtMs: 5_000 },
    ]);
  });

  it('believes nothing that the server says of a namesake', async () => {
    const server = new ScriptedServer({ runs: [onServer({ runKey: 'another', status: 'terminated' })] });
    expect((await client({ runs: [record()] }, server).list()).map((run) => run.state)).toEqual(['running']);
  });

  it('asks for runs of people’s own workflows one by one', async () => {
    const server = new ScriptedServer({
      runs: [onServer({ taskQueue: 'theirs', status: 'completed', closedAtMs: 7 })],
    });
    expect((await client({ runs: [record()] }, server).list()).map((run) => run.state)).toEqual(['completed']);
  });

  it('narrows by state after store and server were joined', async () => {
    const server = new ScriptedServer({ runs: [onServer({ status: 'timed_out', closedAtMs: 5 })] });
    const contents = { runs: [record(), record({ runKey: 'key-2', workflowId: 'run-two' })] };
    expect((await client(contents, server).list({ state: 'running' })).map((run) => run.id)).toEqual(['run-two']);
  });

  it('finds a run by a failure that a retry took back', async () => {
    const outcome: Outcome = {
      ...{ callId: 'c1.0', tool: 'refund', key: 'k', attempts: 1, elapsedMs: 1, status: 'failed' },
      failure: { ...failureOf('auth_failed') },
    };
    const takenBack = [{ runKey: 'key-1', key: 'k', atMs: 1_500, outcome }];
    const perdure = client({ runs: [record(), record({ runKey: 'key-2', workflowId: 'run-two' })], takenBack });
    const ids = async (options: ListOptions) => (await perdure.list(options)).map(({ id }) => id);
    expect(await ids({ failureClass: 'auth_failed' })).toEqual(['run-one']);
    expect(await ids({ failureClass: 'auth_failed', tool: 'refund' })).toEqual(['run-one']);
    expect(await ids({ failureClass: 'auth_failed', tool: 'other' })).toEqual([]);
    expect(await ids({ failureClass: 'timeout' })).toEqual([]);
  });

  it('works from the store alone where there is no server', async () => {
    const perdure = new Perdure({ store: scriptedStore({ runs: [record()] }), server: undefined });
    expect((await perdure.list()).map((run) => [run.id, run.state])).toEqual([['run-one', 'running']]);
  });
});

describe('describe', () => {
  it('follows the conversation back from its head, and leaves out what a reset abandoned', async () => {
    const turns = { 'key-1': [turn(1, 'root', 'a', 'first'), turn(2, 'a', 'b', 'old'), turn(2, 'a', 'c', 'new')] };
    const perdure = client({ runs: [record({ head: 'c' })], turns });
    const description = await perdure.describe(await perdure.get('run-one'));
    expect(description.steps.map((step) => step.text)).toEqual(['first', 'new']);
  });

  it('shows what the model wrote where it could not be read as arguments', async () => {
    const failed = turn(1, 'root', 'a');
    const outcome = {
      callId: 'c1.1',
      tool: 'find',
      key: 'k',
      attempts: 0,
      elapsedMs: 0,
      status: 'failed' as const,
      failure: {
        class: 'validation_error' as const,
        code: 'PARAM_INVALID_001',
        effectState: 'none' as const,
        message: 'No JSON.',
        suggestedAction: '',
        retryable: false,
      },
    };
    failed.result.calls = [{ status: 'answered', callId: 'c1.1', digest: 'd', outcome }];
    const calls = [{ callId: 'c1.1', providerCallId: 'p', tool: 'find', modelName: 'find', rawArguments: '{oops' }];
    const message = { role: 'assistant' as const, text: '', calls, finishReason: 'stop', usage: failed.result.usage };
    const perdure = client({
      runs: [record({ head: 'a' })],
      turns: { 'key-1': [failed] },
      nodes: [{ id: 'a', parent: 'root', message }],
    });
    const run = await perdure.get('run-one');
    const call = (await perdure.describe(run)).steps[0]?.calls[0];
    expect(call).toMatchObject({ state: 'failed', starts: 0, rawArguments: '{oops', effectState: 'none' });
    expect(await perdure.describeCall(run, 'c1.1')).toEqual(call);
    expect(await perdure.describeCall(run, 'c9.9')).toBeUndefined();
  });

  it("groups the calls of a person's own workflow by step", async () => {
    const call = (callId: string): CallRecord => ({
      row: {
        key: callId,
        runKey: 'key-1',
        callId,
        tool: 'find',
        digest: 'd',
        effect: { kind: 'once' },
        state: 'started',
        leaseUntilMs: 0,
        begun: true,
        starts: 1,
        spentMs: 0,
        mayHaveHappened: true,
        updatedAtMs: 5,
      },
      attempts: [],
    });
    const perdure = client({ runs: [record({ head: '' })], calls: { 'key-1': [call('c1.1'), call('c2.1')] } });
    const { steps } = await perdure.describe(await perdure.get('run-one'));
    expect(steps.map((step) => step.calls.map((one) => [one.callId, one.state, one.effectState]))).toEqual([
      [['c1.1', 'running', 'unknown']],
      [['c2.1', 'running', 'unknown']],
    ]);
  });

  it('is waiting where only the server knows the run', async () => {
    const server = new ScriptedServer({ runs: [onServer({ task: 'do it' })] });
    const perdure = client({}, server);
    const description = await perdure.describe(await perdure.get('run-one'));
    expect(description).toMatchObject({ state: 'waiting', task: 'do it', steps: [] });
    expect(description.server?.url).toBe('http://ui/run-one');
  });
});

describe('result', () => {
  it('comes from the store where the run has ended, without a server', async () => {
    const runs = [record({ status: 'failed', result })];
    const perdure = new Perdure({ store: scriptedStore({ runs }), server: undefined });
    expect(await (await perdure.get('run-one')).result()).toEqual(result);
  });

  it('is a failed run’s result like any other', async () => {
    const server = new ScriptedServer({ ends: { 'run-one': { status: 'reported', result } } });
    const perdure = client({ runs: [record()] }, server);
    expect(await (await perdure.get('run-one')).result()).toEqual(result);
  });

  it('is the whole answer where the result has only its beginning', async () => {
    const answered: AgentRunResult = {
      ...result,
      status: 'completed',
      answer: 'long',
      termination: { reason: 'answered', summary: '' },
    };
    const usage = { inputTokens: 1, outputTokens: 1, costUsd: 0 };
    const message = { role: 'assistant' as const, text: 'long and whole', calls: [], finishReason: 'stop', usage };
    const runs = [record({ status: 'completed', result: answered })];
    const perdure = client({ runs, nodes: [{ id: 'n1', parent: '', message }] });
    expect((await (await perdure.get('run-one')).result()).answer).toBe('long and whole');
  });

  it('says so of a run that was cancelled before a worker could write its end', async () => {
    const server = new ScriptedServer({ ends: { 'run-one': { status: 'cancelled' } } });
    const contents = { runs: [record({ head: 'a' })], turns: { 'key-1': [turn(1, 'root', 'a')] } };
    const perdure = client(contents, server);
    expect(await (await perdure.get('run-one')).result()).toEqual({
      status: 'cancelled',
      answer: '',
      termination: { reason: 'cancelled', summary: 'The run was cancelled.' },
      counters: { steps: 1, calls: 0, inputTokens: 10, outputTokens: 5, costUsd: 0, failures: 0 },
    });
  });

  it('rejects where somebody terminated the run', async () => {
    const end = { status: 'terminated' as const, reason: 'too slow' };
    const perdure = client({ runs: [record()] }, new ScriptedServer({ ends: { 'run-one': end } }));
    const error = await refusal((await perdure.get('run-one')).result());
    expect(error.code).toBe('no_result');
    expect(error.message).toBe('The run run-one ended without a result: it was terminated (too slow).');
  });
});

describe('cancel', () => {
  it('asks the server', async () => {
    const server = new ScriptedServer();
    await (await client({ runs: [record()] }, server).get('run-one')).cancel();
    expect(server.cancelled).toEqual(['run-one']);
  });

  it('says that a run has ended already', async () => {
    const run = await client({ runs: [record({ status: 'completed' })] }).get('run-one');
    expect((await refusal(run.cancel())).message).toBe('The run run-one has ended already (completed).');
  });
});

describe('a run that was collected', () => {
  const tombstone = {
    ...{ runKey: 'key-1', workflowId: 'run-one', status: 'failed' as const },
    ...{ startedAtMs: 1, endedAtMs: 2, collectedAtMs: Date.UTC(2026, 10, 30) },
  };
  const collected = 'The run run-one (key-1) had ended and was collected on 2026-11-30, with the record of its calls.';

  it.each([
    ['that the server still knows', []],
    ['of which an older version has left rows', [record({ status: 'failed', result })]],
  ])('%s neither goes on nor has its calls settled', async (_which, runs) => {
    const server = new ScriptedServer({ runs: [onServer({ status: 'failed' })] });
    const perdure = client({ runs, tombstones: [tombstone] }, server);
    const run = await perdure.get('run-one');
    for (const asked of [
      () => perdure.retry(run),
      () => perdure.checkRetry(run),
      () => perdure.resolve(run, 'c1.0', { happened: true }),
    ]) {
      const { code, message, next } = await refusal(asked());
      expect({ code, message }).toEqual({ code: 'run_not_found', message: collected });
      expect(next).toContain('perdure run');
    }
    expect(server.started).toEqual([]);
  });
});

describe('close', () => {
  it('closes the server’s connection too', async () => {
    const server = new ScriptedServer();
    await client({}, server).close();
    expect(server.closed).toBe(true);
  });
});
