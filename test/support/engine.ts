import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { WorkflowHandleWithFirstExecutionRunId as WorkflowHandle } from '@temporalio/client';
import { Client, Connection } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import type { ResolvedConfig } from '../../src/config/config.js';
import { AGENT_WORKFLOW_TYPE } from '../../src/contract/task-queue.js';
import type { TranscriptMessage } from '../../src/contract/transcript.js';
import type { AgentRunInput, AgentRunResult } from '../../src/contract/run.js';
import { resolveConfig } from '../../src/config/resolve-config.js';
import { openStore } from '../../src/store/open-store.js';
import type { StoreChoice } from '../../src/store/store-choice.js';
import type { CallRecord } from '../../src/store/records.js';
import type { Store } from '../../src/store/store.js';
import type { ToolLog } from '../../src/tools/tool.js';
import { createWorker, type CreateWorkerOptions, type PerdureWorker } from '../../src/worker.js';
import { startEffectsBackend, type EffectsBackend } from './effects-backend.js';
import './quiet-runtime.js';

/** A worker in this process. Disposing of it waits for its end and fails where it did not end well. */
export interface RunningWorker extends AsyncDisposable {
  readonly taskQueue: string;
  readonly storeId: string;
}

/** A line of the operator's log. */
export interface LogLine {
  level: 'debug' | 'info' | 'warn' | 'error';
  message: string;
  fields: Record<string, unknown>;
}

/** Where an engine runs, and the workflow code of its workers. */
export interface EngineServer {
  address: string;
  namespace: string;
  /** File that holds the bundle of test/support/own-workflows.ts. */
  workflowBundle: string;
}

/** Everything that an end-to-end test of the engine needs; disposing of it fails on whatever the test left running. */
export interface Engine extends AsyncDisposable {
  readonly client: Client;
  readonly server: EngineServer;
  readonly backend: EffectsBackend;
  readonly storeChoice: StoreChoice;
  /** For files of the test; removed with the engine. */
  readonly rootDir: string;
  readonly log: readonly LogLine[];
  /** The store as another process would open it. */
  readonly store: Store;
  worker(config: Partial<ResolvedConfig>, options?: Partial<CreateWorkerOptions>): Promise<RunningWorker>;
  /** Starts `agentRun`; the run key is the workflow id. */
  start(taskQueue: string, input: Partial<AgentRunInput>): Promise<RunHandle>;
  /** Starts any workflow, which must have ended when the engine is disposed of. */
  startWorkflow(
    type: string,
    options: { taskQueue: string; args: unknown[]; cronSchedule?: string },
  ): Promise<WorkflowHandle>;
}

export interface RunHandle {
  readonly runKey: string;
  readonly workflow: WorkflowHandle;
  /** Rejects as `handle.result()` does. */
  result(): Promise<AgentRunResult>;
  /** The conversation that the run has reached. */
  transcript(): Promise<TranscriptMessage[]>;
  /** What the model was told, by call id, parsed. */
  told(): Promise<Record<string, Record<string, unknown>>>;
  /** The ledger's calls, in order. */
  calls(): Promise<CallRecord[]>;
}

/** Opens an engine on a server (`temporalServer()` in tests), with a store of its own in a folder of its own. */
export async function openEngine(where: EngineServer, chosen?: StoreChoice): Promise<Engine> {
  const rootDir = await mkdtemp(join(tmpdir(), 'perdure-engine-'));
  const storeChoice = chosen ?? { path: join(rootDir, 'store.db') };
  const resources = new AsyncDisposableStack();
  resources.defer(() => rm(rootDir, { recursive: true, force: true }));
  const connection = await Connection.connect({ address: where.address });
  resources.defer(() => connection.close());
  const native = await NativeConnection.connect({ address: where.address });
  resources.defer(() => native.close());
  const backend = resources.use(await startEffectsBackend());
  const store = await openStore(storeChoice);
  resources.defer(() => store.close());
  const client = new Client({ connection, namespace: where.namespace });
  const log: LogLine[] = [];
  const started: WorkflowHandle[] = [];
  const workers: RunningWorker[] = [];

  return {
    client,
    server: where,
    backend,
    storeChoice,
    rootDir,
    log,
    store,
    async worker(config, options = {}) {
      const perdure = await createWorker({
        config: { ...(await resolveConfig({ tools: [] }, { rootDir, env: {} })), store: storeChoice, ...config },
        connection: native,
        namespace: where.namespace,
        address: where.address,
        log: collecting(log),
        ...options,
        temporal: { workflowBundle: { codePath: where.workflowBundle }, ...options.temporal },
      });
      const worker = running(perdure);
      workers.push(worker);
      return worker;
    },
    async start(taskQueue, input) {
      const workflowId = `run-${randomUUID()}`;
      const workflow = await client.workflow.start(AGENT_WORKFLOW_TYPE, {
        taskQueue,
        workflowId,
        args: [{ task: 'do it', runKey: workflowId, ...input }],
      });
      started.push(workflow);
      return runHandle(workflow, input.runKey ?? workflowId, store);
    },
    async startWorkflow(type, options) {
      const workflow = await client.workflow.start(type, { workflowId: `own-${randomUUID()}`, ...options });
      started.push(workflow);
      return workflow;
    },
    async [Symbol.asyncDispose]() {
      const left: string[] = [];
      for (const handle of started) {
        const { status } = await client.workflow.getHandle(handle.workflowId).describe();
        if (status.name !== 'RUNNING') continue;
        left.push(handle.workflowId);
        await client.workflow.getHandle(handle.workflowId).terminate('left running by its test');
      }
      for (const worker of workers) await worker[Symbol.asyncDispose]();
      await resources.disposeAsync();
      if (left.length > 0) throw new Error(`the test left workflows running: ${left.join(', ')}`);
    },
  };
}

function running(worker: PerdureWorker): RunningWorker {
  const run = worker.run();
  // Reported when the worker is disposed of; until then it must not end the process.
  run.catch(() => undefined);
  let stopped: Promise<void> | undefined;
  return {
    taskQueue: worker.taskQueue,
    storeId: worker.storeId,
    [Symbol.asyncDispose]() {
      stopped ??= (async () => {
        worker.shutdown();
        await run;
      })();
      return stopped;
    },
  };
}

function runHandle(workflow: WorkflowHandle, runKey: string, store: Store): RunHandle {
  const transcript = async (): Promise<TranscriptMessage[]> => {
    const run = await store.getRun(runKey);
    if (!run) throw new Error(`the store has no run ${runKey}`);
    return (await store.getChain(run.head)).map(({ message }) => message);
  };
  return {
    runKey,
    workflow,
    result: () => workflow.result() as Promise<AgentRunResult>,
    transcript,
    async told() {
      const messages = (await transcript()).filter((message) => message.role === 'tool');
      return Object.fromEntries(
        messages.map(({ callId, content }) => [callId, JSON.parse(content) as Record<string, unknown>]),
      );
    },
    calls: () => store.listCalls(runKey),
  };
}

function collecting(lines: LogLine[]): ToolLog {
  const at =
    (level: LogLine['level']): ToolLog['info'] =>
    (message, fields = {}) =>
      void lines.push({ level, message, fields });
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}
