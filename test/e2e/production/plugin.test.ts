import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { defineTool, type PerdureConfig } from '../../../src/index.js';
import { PerdurePlugin } from '../../../src/worker.js';
import { operatorLog } from '../../../src/operator-log.js';
import { openStore } from '../../../src/store/open-store.js';
import '../../support/quiet-runtime.js';
import { script } from '../../support/recording-model.js';
import { temporalServer } from '../../support/temporal-server.js';

/** A worker of a user's own: its activities, its workflow file, its queue; perdure comes as a plugin. */
const workflowsPath = fileURLToPath(new URL('../../support/orders-workflows.ts', import.meta.url));

const sent: string[] = [];
const refund = defineTool({
  name: 'refund',
  description: 'Refund a payment.',
  input: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'], additionalProperties: false },
  effect: { idempotent: 'key' },
  execute: (input, ctx) => {
    sent.push(ctx.idempotencyKey);
    return { refunded: (input as { id: string }).id };
  },
});

describe("PerdurePlugin in a user's own worker", () => {
  let rootDir: string;
  let native: NativeConnection;
  let connection: Connection;
  let config: PerdureConfig;
  const taskQueue = `orders-${randomUUID()}`;

  beforeAll(async () => {
    const { address } = temporalServer();
    rootDir = await mkdtemp(join(tmpdir(), 'perdure-plugin-'));
    native = await NativeConnection.connect({ address });
    connection = await Connection.connect({ address });
    config = { tools: [refund], store: { path: join(rootDir, 'store.db') }, model: script({ text: 'Hello.' }) };
  });
  afterAll(async () => {
    await native.close();
    await connection.close();
    await rm(rootDir, { recursive: true, force: true });
  });

  const plugin = (given: PerdureConfig = config) =>
    new PerdurePlugin({ config: given, cwd: rootDir, env: {}, log: operatorLog({ level: 'silent' }) });

  it('runs tools from a workflow beside activities of the user, and closes the store at the end', async () => {
    const { namespace } = temporalServer();
    const perdure = plugin();
    const worker = await Worker.create({
      connection: native,
      namespace,
      taskQueue,
      workflowsPath,
      activities: { greet: (name: string) => Promise.resolve(`Dear ${name}`) },
      plugins: [perdure],
    });
    const client = new Client({ connection, namespace, plugins: [perdure] });
    const answers = await worker.runUntil(async () => {
      const workflowId = `order-${randomUUID()}`;
      const order = await client.workflow.execute('refundOrder', { taskQueue, workflowId, args: [{ id: 'pay_1' }] });
      const agent = await client.workflow.start('agentRun', {
        taskQueue,
        workflowId: `agent-${randomUUID()}`,
        args: [{ task: 'Say hello.' }],
      });
      const { answer } = (await agent.result()) as { answer: string };
      const started = (await agent.fetchHistory()).events?.[0]?.workflowExecutionStartedEventAttributes;
      const input = JSON.parse(Buffer.from(started?.input?.payloads?.[0]?.data ?? []).toString()) as { runKey: string };
      return { order, answer, runKey: input.runKey };
    });
    expect(answers.order).toEqual({ letter: 'Dear customer', result: { refunded: 'pay_1' } });
    expect(answers.answer).toBe('Hello.');
    expect(answers.runKey).toMatch(/^[0-9a-f-]{36}$/);
    expect(sent).toHaveLength(1);
    // What it opened was closed: another store of the same file finds what was done, and a second worker opens it anew.
    await using store = disposable(await openStore({ path: join(rootDir, 'store.db') }));
    expect((await store.getRun(answers.runKey))?.result?.answer).toBe('Hello.');
    expect(await perdure.taskQueue()).toBe(`perdure-${store.storeId.slice(0, 8)}`);
    await perdure.close();
  });

  it('refuses cron, which would start runs that share their identity', async () => {
    const client = new Client({ connection, plugins: [plugin()] });
    const starting = client.workflow.start('agentRun', {
      taskQueue,
      workflowId: 'cron',
      cronSchedule: '* * * * *',
      args: [{ task: 'again' }],
    });
    await expect(starting).rejects.toThrow('use a Temporal Schedule');
  });

  it("says where a user's activity has one of its names, and leaves nothing open", async () => {
    const perdure = plugin();
    const creating = Worker.create({
      connection: native,
      taskQueue,
      workflowsPath,
      activities: { callTool: () => Promise.resolve() },
      plugins: [perdure],
    });
    await expect(creating).rejects.toThrow('activities: the name callTool is taken by perdure');
  });

  it('says at the start of a worker what is wrong with its configuration', async () => {
    const creating = Worker.create({
      connection: native,
      taskQueue,
      plugins: [plugin({ ...config, limits: { steps: -1 } })],
    });
    await expect(creating).rejects.toThrow('limits.steps: expected 0 or more, got -1');
  });

  it('may be given to the connection as well as to the worker', async () => {
    const { address, namespace } = temporalServer();
    const perdure = plugin();
    const ofPlugin = await NativeConnection.connect({ address, plugins: [perdure] });
    const worker = await Worker.create({
      connection: ofPlugin,
      namespace,
      taskQueue: `twice-${randomUUID()}`,
      plugins: [perdure],
    });
    await worker.runUntil(Promise.resolve());
    await ofPlugin.close();
  });
});

function disposable<T extends { close(): Promise<void> }>(store: T): T & AsyncDisposable {
  return Object.assign(store, { [Symbol.asyncDispose]: () => store.close() });
}
