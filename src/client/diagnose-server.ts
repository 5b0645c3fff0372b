import type { Connection } from '@temporalio/client';
import proto from '@temporalio/proto';
import type { ResolvedConfig } from '../config/config.js';
import { taskQueueFor } from '../contract/task-queue.js';
import {
  connectClient,
  resolveServer,
  ServerUnreachableError,
  type FoundServer,
  unreachableAdvice,
} from '../server/connection.js';
import { checkSearchAttributes, registerCommand } from '../server/search-attributes.js';
import type { Finding } from './diagnosis.js';

const { TaskQueueType } = proto.temporal.api.enums.v1;

/** A worker asks the server for work once a minute at least. */
const silentAfterMs = 5 * 60_000;
const mostSkewMs = 1_000;
/** Who asks what is wrong wants to read it now. */
const connectTimeoutMs = 3_000;

/** Whether the server answers and knows namespace and search attributes, and who polls the store's task queue. */
export async function diagnoseServer(
  config: ResolvedConfig,
  env: Readonly<Record<string, string | undefined>>,
  storeId: string | undefined,
): Promise<Finding[]> {
  let connection: Connection;
  let server: FoundServer;
  try {
    const found = await resolveServer({ rootDir: config.rootDir, env });
    if (found.kind === 'none') {
      const words = `there is none: neither TEMPORAL_ADDRESS nor a profile is set, none of this folder runs, and nothing answers at ${found.sought}`;
      return [{ subject: 'server', status: 'problem', words, next: 'perdure dev' }];
    }
    server = found;
    connection = await connectClient(server, connectTimeoutMs);
  } catch (error) {
    const next = error instanceof ServerUnreachableError ? error.next : 'correct it and run perdure doctor again';
    return [{ subject: 'server', status: 'problem', words: wordsOf(error), next }];
  }
  try {
    const findings = [await version(connection, server)];
    const namespace = await knowsNamespace(connection, server);
    findings.push(namespace);
    if (namespace.status !== 'ok') return findings;
    findings.push(await searchAttributes(connection, server));
    if (storeId !== undefined) findings.push(...(await workers(connection, server, taskQueueFor(storeId))));
    return findings;
  } catch (error) {
    const words = `${server.address} (chosen by ${server.source}) answers, but not as a Temporal server: ${wordsOf(error)}`;
    return [{ subject: 'server', status: 'problem', words, next: unreachableAdvice(server) }];
  } finally {
    await connection.close();
  }
}

async function version(connection: Connection, { address, source }: FoundServer): Promise<Finding> {
  const info = await connection.workflowService.getSystemInfo({});
  const words = `${address} (${source}) answers, version ${info.serverVersion || 'unknown'}`;
  return { subject: 'server', status: 'ok', words };
}

async function knowsNamespace(connection: Connection, { address, namespace }: FoundServer): Promise<Finding> {
  try {
    const described = await connection.workflowService.describeNamespace({ namespace });
    const seconds = Number(described.config?.workflowExecutionRetentionTtl?.seconds ?? 0);
    const kept = seconds > 0 ? `, closed workflows are kept ${Math.round(seconds / 86_400)} d` : '';
    return { subject: 'namespace', status: 'ok', words: `${namespace}${kept}` };
  } catch (error) {
    const next = `temporal operator namespace create --address ${address} --namespace ${namespace}`;
    return { subject: 'namespace', status: 'problem', words: `${namespace}: ${wordsOf(error)}`, next };
  }
}

async function searchAttributes(connection: Connection, { address, namespace }: FoundServer): Promise<Finding> {
  const subject = 'search';
  const check = await checkSearchAttributes(connection, namespace);
  switch (check.status) {
    case 'ready':
      return { subject, status: 'ok', words: 'the search attributes are registered' };
    case 'missing': {
      const words = `not registered: ${check.missing.map(({ name }) => name).join(', ')}; runs go on without them`;
      return { subject, status: 'warning', words, next: registerCommand(check.missing, { address, namespace }) };
    }
    case 'mismatched': {
      const named = check.mismatched.map(({ attribute, registeredAs }) => `${attribute.name} is ${registeredAs}`);
      return { subject, status: 'warning', words: `of other types: ${named.join(', ')}; runs go on without them` };
    }
    case 'unknown':
      return { subject, status: 'warning', words: `the server does not say which there are: ${check.reason}` };
  }
}

async function workers(connection: Connection, { namespace }: FoundServer, taskQueue: string): Promise<Finding[]> {
  const { pollers } = await connection.workflowService.describeTaskQueue({
    namespace,
    taskQueue: { name: taskQueue },
    taskQueueType: TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY,
  });
  const nowMs = Date.now();
  const polled = (pollers ?? []).map(({ identity, lastAccessTime }) => ({
    identity: identity ?? '',
    atMs: Number(lastAccessTime?.seconds ?? 0) * 1_000 + (lastAccessTime?.nanos ?? 0) / 1e6,
  }));
  const alive = polled.filter(({ atMs }) => nowMs - atMs < silentAfterMs);
  if (alive.length === 0) {
    const words = `nobody polls the task queue ${taskQueue}: runs wait`;
    return [{ subject: 'workers', status: 'warning', words, next: 'perdure worker' }];
  }
  const words = `${alive.length} on the task queue ${taskQueue}: ${alive.map(({ identity }) => identity).join(', ')}`;
  // The server notes polls by its own clock, and none lies ahead of its time.
  const aheadMs = Math.max(...alive.map(({ atMs }) => atMs)) - nowMs;
  const skew: Finding[] =
    aheadMs <= mostSkewMs
      ? []
      : [
          {
            ...{ subject: 'clock', status: 'warning' as const, next: 'synchronise both machines (NTP)' },
            words: `the server's is at least ${Math.round(aheadMs)} ms ahead of this machine's`,
          },
        ];
  return [{ subject: 'workers', status: 'ok', words }, ...skew];
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
