import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { Connection } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PerdureError } from '../../../src/client/perdure-error.js';
import { TemporalRuns } from '../../../src/client/temporal-runs.js';
import { resetWorkflow } from '../../support/reset-workflow.js';
import { temporalClient, temporalServer } from '../../support/temporal-server.js';
import '../../support/quiet-runtime.js';

const taskQueue = `perdure-${randomUUID().slice(0, 8)}`;
let runs: TemporalRuns;
let stopWorker: () => Promise<void>;

beforeAll(async () => {
  const { address, namespace } = temporalServer();
  runs = new TemporalRuns({
    connection: await Connection.connect({ address }),
    namespace,
    address,
    uiUrl: 'http://127.0.0.1:8000',
  });
  const connection = await NativeConnection.connect({ address });
  const workflowsPath = fileURLToPath(new URL('./scripted-agent.ts', import.meta.url));
  const worker = await Worker.create({ connection, namespace, taskQueue, workflowsPath });
  const ended = worker.run();
  stopWorker = async () => {
    worker.shutdown();
    await ended;
    await connection.close();
  };
});
afterAll(async () => {
  await stopWorker();
  await runs.close();
});

/** Starts a run that ends as its task says. */
async function start(task: string): Promise<{ id: string; runKey: string }> {
  const [id, runKey] = [`${task}-${randomUUID()}`, randomUUID()];
  await runs.start({ id, taskQueue, input: { task, runKey } });
  return { id, runKey };
}

async function refusal(promise: Promise<unknown>): Promise<PerdureError> {
  const error: unknown = await promise.then(
    () => new Error('it was not refused'),
    (reason: unknown) => reason,
  );
  if (error instanceof PerdureError) return error;
  throw error;
}

describe('a run', () => {
  it('ends with the result that the workflow returned', async () => {
    const { id } = await start('complete');
    expect(await runs.waitForEnd(id)).toMatchObject({
      status: 'reported',
      result: { status: 'completed', answer: 'yes' },
    });
  });

  it('is followed over continue-as-new, and is one run in the list', async () => {
    const { id, runKey } = await start('continue');
    expect(await runs.waitForEnd(id)).toMatchObject({ status: 'reported', result: { answer: 'yes' } });
    expect(await runs.describe(id)).toMatchObject({ id, runKey, status: 'completed', taskQueue });
    await expect
      .poll(async () => (await runs.list({ taskQueue, limit: 100 })).filter((run) => run.id === id))
      .toMatchObject([{ runKey, task: 'continue', status: 'completed' }]);
  });

  it('that failed has its result in the failure', async () => {
    const { id } = await start('fail');
    expect(await runs.waitForEnd(id)).toMatchObject({
      status: 'reported',
      result: { status: 'failed', termination: { reason: 'model_failed' } },
    });
  });

  it('that failed otherwise has the failure’s words', async () => {
    const { id } = await start('misuse');
    expect(await runs.waitForEnd(id)).toEqual({ status: 'failed', reason: 'cron is not for runs' });
  });

  it('is cancelled', async () => {
    const { id } = await start('wait');
    await runs.cancel(id);
    expect(await runs.waitForEnd(id)).toEqual({ status: 'cancelled' });
    expect((await refusal(runs.cancel(id))).code).toBe('run_not_found');
  });

  it('that was terminated says so', async () => {
    const { id } = await start('wait');
    await using temporal = await temporalClient();
    await temporal.client.workflow.getHandle(id).terminate('too slow');
    expect(await runs.waitForEnd(id)).toMatchObject({ status: 'terminated' });
    expect(await runs.describe(id)).toMatchObject({ status: 'terminated' });
  });

  it('has on record who had it cancelled, reset and terminated, when and why', async () => {
    const { id, runKey } = await start('wait');
    await runs.cancel(id);
    await runs.waitForEnd(id);
    await using temporal = await temporalClient();
    const second = await resetWorkflow(temporal.client, id, 'start');
    await runs.terminate({ id, executionId: second }, 'too slow');
    const asked = async () => (await runs.events(id, runKey)).filter(({ type }) => type !== 'closed');
    const [first] = await asked();
    await expect.poll(asked).toMatchObject([
      { type: 'cancel_requested', by: expect.stringMatching(/^.+@.+$/) },
      { type: 'reset', executionId: second, reason: expect.stringContaining('the test wants it') },
      { type: 'terminated', executionId: second, by: first?.by, reason: 'too slow' },
    ]);
    expect((await asked()).find(({ type }) => type === 'reset')).not.toHaveProperty('by');
    expect((await runs.events(id, runKey)).filter(({ type }) => type === 'closed')).toHaveLength(2);
    expect(await runs.events(id, randomUUID())).toEqual([]);
    expect(await runs.events('nobody')).toEqual([]);
  });

  it('has on record what is known where the server has forgotten the history of one execution', async () => {
    const { id, runKey } = await start('wait');
    await runs.cancel(id);
    await runs.waitForEnd(id);
    const forgotten = (await runs.describe(id))?.executionId ?? '';
    await using temporal = await temporalClient();
    const second = await resetWorkflow(temporal.client, id, 'start');
    await runs.terminate({ id, executionId: second }, 'still too slow');
    const { address, namespace } = temporalServer();
    const connection = await withoutHistoryOf(forgotten, address);
    const forgetful = new TemporalRuns({ connection, namespace, address });
    try {
      const told = async () =>
        (await forgetful.events(id, runKey)).map((event) => `${event.type} ${event.executionId}`);
      await expect
        .poll(async () => (await told()).sort())
        .toEqual([
          ...[`closed ${forgotten}`, `closed ${second}`].sort(),
          `history_gone ${forgotten}`,
          `reset ${second}`,
          `terminated ${second}`,
        ]);
      const replayed: string[] = [];
      for await (const { executionId } of forgetful.allHistories({ taskQueue })) replayed.push(executionId);
      expect(replayed).toContain(second);
      expect(replayed).not.toContain(forgotten);
    } finally {
      await forgetful.close();
    }
  });

  it('keeps its name for itself, also when it has ended', async () => {
    const { id } = await start('complete');
    await runs.waitForEnd(id);
    const error = await refusal(runs.start({ id, taskQueue, input: { task: 'complete', runKey: randomUUID() } }));
    expect(error.code).toBe('run_exists');
    expect(error.message).toBe(`A run with the id "${id}" exists already.`);
  });

  it('has a link to the Temporal UI', () => {
    expect(runs.runUrl('a/b')).toBe('http://127.0.0.1:8000/namespaces/default/workflows/a%2Fb');
  });
});

describe('an unknown run', () => {
  it('is undefined, and cannot be waited for or cancelled', async () => {
    expect(await runs.describe('nobody')).toBeUndefined();
    expect((await refusal(runs.waitForEnd('nobody'))).code).toBe('run_not_found');
    expect((await refusal(runs.cancel('nobody'))).code).toBe('run_not_found');
  });
});

describe('a worker', () => {
  it('is seen on its own task queue only', async () => {
    await expect.poll(() => runs.hasWorker(taskQueue)).toBe(true);
    expect(await runs.hasWorker('perdure-nobody')).toBe(false);
  });
});

describe('a server that goes away', () => {
  it('is unreachable, and the error says what to type', async () => {
    const { address, namespace } = temporalServer();
    const proxy = await openProxy(address);
    const connection = await Connection.connect({ address: proxy.address });
    const advice = 'It has just ended. Start it again: perdure dev';
    const gone = new TemporalRuns({ connection, namespace, address: proxy.address, advice });
    expect(await gone.describe('any')).toBeUndefined();
    await proxy.close();
    const error = await refusal(gone.describe('any'));
    expect(error.code).toBe('server_unreachable');
    expect(error.message).toBe(`No Temporal server answers at ${proxy.address}.`);
    expect(error.next).toBe('It has just ended. Start it again: perdure dev');
    await gone.close();
  });
});

/** A connection to a server that lists the execution, and answers as it does where it has no history of it. */
async function withoutHistoryOf(executionId: string, address: string): Promise<Connection> {
  const connection = await Connection.connect({ address });
  const service = connection.workflowService;
  const getWorkflowExecutionHistory = (request: { execution?: { runId?: string | null } | null }) => {
    const isAsked = request.execution?.runId === executionId;
    const execution = { ...request.execution, ...(isAsked && { runId: randomUUID() }) };
    return service.getWorkflowExecutionHistory({ ...request, execution });
  };
  const workflowService = Object.create(service, {
    getWorkflowExecutionHistory: { value: getWorkflowExecutionHistory },
  });
  return Object.create(connection, { workflowService: { value: workflowService } }) as Connection;
}

/** A way to the server that can be cut. */
async function openProxy(address: string): Promise<{ address: string; close(): Promise<void> }> {
  const [host, port] = address.split(':');
  const sockets = new Set<Socket>();
  const proxy = createServer((near) => {
    const far = connect({ host, port: Number(port) });
    for (const socket of [near, far]) sockets.add(socket.on('error', () => undefined));
    near.pipe(far).pipe(near);
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  return {
    address: `127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    async close() {
      for (const socket of sockets) socket.destroy();
      proxy.close();
      await once(proxy, 'close');
    },
  };
}
