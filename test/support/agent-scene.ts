import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import type { History } from '@temporalio/common/lib/proto-utils.js';
import { bundleWorkflowCode, NativeConnection } from '@temporalio/worker';
import type { PerdureConfig } from '../../src/config/config.js';
import { resolveConfig } from '../../src/config/resolve-config.js';
import type { AgentRunInput, AgentRunResult } from '../../src/contract/run.js';
import { AGENT_WORKFLOW_TYPE } from '../../src/contract/task-queue.js';
import type { TranscriptMessage } from '../../src/contract/transcript.js';
import type { Model, ModelRequest } from '../../src/models/model.js';
import { scriptedModel, type ScriptedTurn } from '../../src/models/scripted-model.js';
import { operatorLog } from '../../src/operator-log.js';
import { openStore } from '../../src/store/open-store.js';
import type { AttemptRecord, CallRecord } from '../../src/store/records.js';
import { createWorker } from '../../src/worker.js';
import { temporalServer } from './temporal-server.js';
import './quiet-runtime.js';

type Fields = Record<string, unknown>;

/** Everything that one agent run left behind, for both of its readers. */
export interface Scene {
  result: AgentRunResult | undefined;
  /** What the workflow itself returned; `undefined` where it failed. */
  returned: unknown;
  /** What the model was given, parsed, by call id. */
  told: Record<string, Fields>;
  transcript: TranscriptMessage[];
  /** The operator's lines, parsed as they were written. */
  log: Fields[];
  calls: CallRecord[];
  /** Starts of model turns that were recorded: those whose client retried by itself. */
  turnAttempts: AttemptRecord[];
  /** The whole Temporal history. */
  history: History;
  /** The history as text, with every payload decoded. */
  historyText: string;
  /** What the model was asked, turn by turn. */
  requests: Omit<ModelRequest, 'signal' | 'loadBody'>[];
  body(bodyId: string): Promise<Uint8Array | undefined>;
}

export interface SceneOptions {
  config: Omit<PerdureConfig, 'model'>;
  /** Turns of a scripted model, or a model. */
  model: ScriptedTurn[] | Model;
  input?: Partial<AgentRunInput>;
  env?: Record<string, string>;
  takesImages?: boolean;
  /** A workflow of test/support/scene-workflows.ts instead of `agentRun`, and its input. */
  workflow?: { type: string; input: unknown };
}

let bundle: Promise<string> | undefined;
const quiet = (): void => undefined;

/** The workflow code of the sources as they are now; made once in a test file (about 3 s). */
async function workflowCode(): Promise<string> {
  bundle ??= bundleWorkflowCode({
    workflowsPath: fileURLToPath(new URL('./scene-workflows.ts', import.meta.url)),
    logger: { log: quiet, trace: quiet, debug: quiet, info: quiet, warn: quiet, error: console.error },
  }).then(({ code }) => code);
  return await bundle;
}

/** Runs an agent on a worker of its own, on the run's Temporal server, and stops the worker. */
export async function playScene(options: SceneOptions): Promise<Scene> {
  const rootDir = await mkdtemp(join(tmpdir(), 'perdure-scene-'));
  await using resources = new AsyncDisposableStack();
  resources.defer(() => rm(rootDir, { recursive: true, force: true }));
  const { address, namespace } = temporalServer();
  const connection = await NativeConnection.connect({ address });
  resources.defer(() => connection.close());
  // A page of a history may be larger than gRPC's usual 4 MiB where a workflow's own payloads are.
  const channelArgs = { 'grpc.max_receive_message_length': -1 };
  const clientConnection = await Connection.connect({ address, channelArgs });
  resources.defer(() => clientConnection.close());
  const client = new Client({ connection: clientConnection, namespace });
  const requests: Scene['requests'] = [];
  const model = recording(
    Array.isArray(options.model)
      ? scriptedModel({ turns: options.model, takesImages: options.takesImages ?? false })
      : options.model,
    requests,
  );
  const config = await resolveConfig({ ...options.config, model }, { rootDir, env: options.env ?? {} });
  const lines: string[] = [];
  const worker = await createWorker({
    config,
    connection,
    namespace,
    log: operatorLog({ level: 'debug', destination: { write: (line) => void lines.push(line) } }),
    temporal: { workflowBundle: { code: await workflowCode() } },
  });
  const running = worker.run();
  const runKey = `scene-${randomUUID()}`;
  let returned: unknown;
  try {
    const handle = await client.workflow.start(options.workflow?.type ?? AGENT_WORKFLOW_TYPE, {
      taskQueue: worker.taskQueue,
      workflowId: runKey,
      args: [options.workflow?.input ?? { task: 'do it', runKey, ...options.input }],
    });
    returned = await handle.result().catch(() => undefined);
  } finally {
    worker.shutdown();
    await running;
  }
  const store = resources.use(disposable(await openStore(config.store)));
  const run = await store.getRun(runKey);
  const transcript = run ? (await store.getChain(run.head)).map(({ message }) => message) : [];
  const calls = await store.listCalls(runKey);
  const history = await client.workflow.getHandle(runKey).fetchHistory();
  const bodies = new Map<string, Uint8Array | undefined>();
  for (const id of bodyIdsIn(calls)) bodies.set(id, await store.getBody(id));
  return {
    result: options.workflow ? undefined : (returned as AgentRunResult | undefined),
    returned,
    told: toldBy(calls),
    transcript,
    log: lines.map((line) => JSON.parse(line) as Fields),
    calls,
    turnAttempts: await store.listTurnAttempts({ runKey }),
    history,
    historyText: decoded(history),
    requests,
    body: (id) => Promise.resolve(bodies.get(id)),
  };
}

function recording(model: Model, requests: Scene['requests']): Model {
  return {
    ...model,
    complete({ signal, loadBody, ...question }) {
      requests.push(structuredClone(question));
      return model.complete({ ...question, signal, loadBody });
    },
  };
}

function disposable<T extends { close(): Promise<void> }>(resource: T): T & AsyncDisposable {
  return Object.assign(resource, { [Symbol.asyncDispose]: () => resource.close() });
}

function toldBy(calls: CallRecord[]): Scene['told'] {
  return Object.fromEntries(
    calls.map(({ row, rendered }) => [row.callId, JSON.parse(rendered?.content ?? 'null') as Fields]),
  );
}

function bodyIdsIn(calls: CallRecord[]): Set<string> {
  const texts = calls.flatMap(({ rendered, row }) => [
    ...(rendered?.attachments ?? []).map(({ bodyId }) => bodyId),
    ...[...JSON.stringify([rendered?.content, row.outcome]).matchAll(/(?:artifact_id|bodyId)\\*":\\*"([\w:-]+)/g)].map(
      (match) => match[1] ?? '',
    ),
  ]);
  return new Set(texts.filter((id) => id !== ''));
}

/** Payloads are bytes, which protobuf's own JSON would show as base64: read as text they can be searched. */
function decoded(history: History): string {
  return JSON.stringify(readable(history));
}

function readable(value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('utf8');
  if (Array.isArray(value)) return value.map(readable);
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, readable(each)]));
}
