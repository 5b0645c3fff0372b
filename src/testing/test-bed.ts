import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
import { openParts } from '../client/open-parts.js';
import { Perdure, type StartOptions } from '../client/perdure-client.js';
import type { CallDescription, RunDescription } from '../client/run-description.js';
import type { PerdureConfig } from '../config/config.js';
import { resolveConfig } from '../config/resolve-config.js';
import type { JsonObject } from '../contract/json.js';
import type { AgentRunResult } from '../contract/run.js';
import { Disposals } from '../disposal.js';
import type { FoundServer } from '../server/connection.js';
import type { ToolLog } from '../tools/tool.js';
import { createWorker } from '../worker.js';
import { startTestServer, type TestServer } from './test-server.js';

/** Where a test bed runs. */
export interface TestBedOptions {
  /** Default: an embedded server for this bed alone, which costs 1 to 2 s. */
  server?: TestServer;
}

/** A line of the operator's log. */
export interface LogLine {
  level: 'debug' | 'info' | 'warn' | 'error';
  message: string;
  fields: Record<string, unknown>;
}

/** A call of a run that has ended. */
export interface TestCall extends CallDescription {
  /** What the model was shown, parsed. */
  sees: JsonObject;
}

/** A run that has ended. */
export interface TestRun {
  result: AgentRunResult;
  /** In the model's order. */
  calls: TestCall[];
  description: RunDescription;
}

/**
 * A real worker with a store of its own on a real server. To be opened with `await using`: disposing of it stops all of
 * it, and rejects where the test left a run going, a call without an outcome, or a worker that does not end.
 */
export interface TestBed extends AsyncDisposable {
  readonly client: Perdure;
  /** The operator's log so far. */
  readonly log: readonly LogLine[];
  /** Starts a run and waits for its end. Rejects as `Perdure.start` does; a run that ends badly is a result. */
  run(task?: string, options?: StartOptions): Promise<TestRun>;
}

/**
 * Opens a worker with a configuration as `perdure.config.ts` exports it. The environment is left out of it, so that tests
 * see neither its model nor its `PERDURE_FAULTS`. Rejects with `ConfigError`, and as `startTestServer` does; nothing is left
 * open then.
 */
export async function openTestBed(config: PerdureConfig, options: TestBedOptions = {}): Promise<TestBed> {
  quietRuntime();
  await using opening = new Disposals();
  const rootDir = await mkdtemp(join(tmpdir(), 'perdure-test-bed-'));
  opening.defer(() => rm(rootDir, { recursive: true, force: true }));
  const resolved = await resolveConfig(config, { rootDir, env: { PERDURE_FAULTS_SEED: '1' } });
  const server = options.server ?? opening.use(await startTestServer());
  const connection = await NativeConnection.connect({ address: server.address });
  opening.defer(() => connection.close());
  const log: LogLine[] = [];
  const worker = await createWorker({
    config: resolved,
    connection,
    namespace: server.namespace,
    address: server.address,
    withToolQueues: true,
    log: collecting(log),
  });
  const ended = worker.run();
  // Reported when the bed is disposed of; until then it must not end the process.
  ended.catch(() => undefined);
  opening.defer(async () => {
    worker.shutdown();
    await ended;
  });
  const client = new Perdure(await openParts(resolved, foundServer(server)));
  opening.defer(() => client.close());
  opening.defer(() => refuseLeaks(client));
  const resources = opening.move();
  return {
    client,
    log,
    async run(task = 'Do it.', startOptions) {
      const handle = await client.start(task, startOptions);
      const result = await handle.result();
      const description = await handle.describe();
      return { result, description, calls: callsOf(description) };
    },
    [Symbol.asyncDispose]: () => resources[Symbol.asyncDispose](),
  };
}

let runtimeIsSet = false;

/** Tests start and stop workers all the time: only what is wrong with them should be seen. */
function quietRuntime(): void {
  if (runtimeIsSet) return;
  runtimeIsSet = true;
  try {
    Runtime.install({ logger: new DefaultLogger('ERROR') });
  } catch (error) {
    // The test has set up the SDK's one runtime itself, and knows better.
    if (!(error instanceof Error && error.name === 'IllegalStateError')) throw error;
  }
}

function callsOf(description: RunDescription): TestCall[] {
  return description.steps.flatMap(({ calls }) =>
    calls.map((call) => ({ ...call, sees: JSON.parse(call.modelSees ?? '{}') as JsonObject })),
  );
}

/** Ends what a test left running, and says so. */
async function refuseLeaks(client: Perdure): Promise<void> {
  const leaks: string[] = [];
  for (const { id, state } of await client.list()) {
    const run = await client.get(id);
    if (state === 'running' || state === 'waiting') {
      leaks.push(`the run ${id} had not ended`);
      await run.cancel();
      await run.result();
    }
    const { steps } = await run.describe();
    const open = steps.flatMap(({ calls }) => calls).filter(({ modelSees }) => modelSees === undefined);
    leaks.push(...open.map(({ callId, tool }) => `the call ${callId} (${tool}) of the run ${id} has no outcome`));
  }
  if (leaks.length > 0) throw new Error(`the test left something behind: ${leaks.join('; ')}`);
}

function foundServer({ address, namespace }: TestServer): FoundServer {
  const connection = { address, tls: false };
  return { kind: 'configured', source: 'the test', address, namespace, client: connection, worker: connection };
}

function collecting(lines: LogLine[]): ToolLog {
  const at =
    (level: LogLine['level']): ToolLog['info'] =>
    (message, fields = {}) =>
      void lines.push({ level, message, fields });
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}
