import { hostname } from 'node:os';
import { Runtime } from '@temporalio/worker';
import type { NativeConnection } from '@temporalio/worker';
import { Alerts } from '../activities/alerts.js';
import { Metrics } from '../activities/metrics.js';
import type { Services } from '../activities/services.js';
import { createValidator } from '../arguments/validator.js';
import type { ResolvedConfig } from '../config/config.js';
import { Disposals } from '../disposal.js';
import { injectFaults } from '../faults/inject-faults.js';
import { Breakers } from '../guards/breakers.js';
import { Limiters } from '../guards/limiters.js';
import { resolveModel } from '../models/resolve-model.js';
import { maskedLog } from '../operator-log.js';
import { createRedactor } from '../policy/redaction.js';
import { checkSearchAttributes, registerCommand } from '../server/search-attributes.js';
import { openStore } from '../store/open-store.js';
import type { WorkerStore } from '../store/shared-state.js';
import { buildManifest } from '../tools/manifest.js';
import { readArtifactTool } from '../tools/read-artifact.js';
import type { ToolLog } from '../tools/tool.js';

/** What the workers of one process share: everything with effects, opened once. */
export interface WorkerServices extends AsyncDisposable {
  readonly config: ResolvedConfig;
  readonly store: WorkerStore;
  /** For the activities, but for what depends on a worker's namespace. */
  readonly services: Omit<Services, 'searchAttributes'>;
}

/**
 * Opens the store and puts together what activities need. Rejects with `ConfigError` where a tool or its schema cannot be
 * used, and with `StoreError`; nothing is left open then.
 */
export async function openWorkerServices(config: ResolvedConfig, operatorLog: ToolLog): Promise<WorkerServices> {
  await using opening = new Disposals();
  const store = await openStore(config.store);
  opening.defer(() => store.close());
  const redactor = createRedactor({ secrets: config.secrets });
  // Whatever a tool or an error says on its way to the log.
  const log = maskedLog(operatorLog, redactor);
  const tools = injectFaults([...config.tools, readArtifactTool((id) => store.getBody(id))], config.faults, { log });
  const manifest = buildManifest(tools);
  const validator = createValidator();
  opening.defer(() => validator.close());
  for (const tool of manifest.tools) await validator.checkSchema(tool.inputSchema, `tools.${tool.name}.input`);
  const metrics = new Metrics(Runtime.instance().metricMeter);
  const services: WorkerServices['services'] = {
    store,
    tools: new Map(tools.map((tool) => [tool.definition.name, tool])),
    manifest,
    model: config.model,
    resolveModel: (choice) =>
      resolveModel(choice, { rootDir: config.rootDir, env: process.env, prices: config.prices }),
    instructions: config.instructions,
    limits: config.limits,
    loop: config.loop,
    modelLimits: config.modelLimits,
    validator,
    redactor,
    guards: {
      shared: store,
      breakers: new Breakers(store, { observe: (name, verdict) => metrics.breakerHeard(name, verdict) }),
      limiters: new Limiters(store),
    },
    log,
    alerts: new Alerts({ log, webhook: config.alertWebhook }),
    metrics,
    workerIdentity: `${process.pid}@${hostname()}`,
    heartbeatTimeoutMs: config.heartbeatTimeoutMs,
    random: Math.random,
  };
  const resources = opening.move();
  return { config, store, services, [Symbol.asyncDispose]: () => resources[Symbol.asyncDispose]() };
}

/**
 * Whether runs of a namespace may write search attributes: one that the server does not know fails a run's workflow tasks
 * for ever. Says so, with the command to type, where some are missing.
 */
export async function canWriteSearchAttributes(
  connection: NativeConnection,
  { namespace, address = 'ADDRESS', log }: { namespace: string; address: string | undefined; log: ToolLog },
): Promise<boolean> {
  const check = await checkSearchAttributes(connection, namespace);
  switch (check.status) {
    case 'ready':
      return true;
    case 'missing':
      log.warn(
        `namespace ${namespace} does not know the search attributes ` +
          `${check.missing.map(({ name }) => name).join(', ')}; runs go on without them. To register them:\n` +
          registerCommand(check.missing, { address, namespace }),
      );
      return false;
    case 'mismatched':
      log.warn(
        `namespace ${namespace} has search attributes of perdure's names with other types ` +
          `(${check.mismatched.map(({ attribute, registeredAs }) => `${attribute.name}: ${registeredAs}`).join(', ')}); ` +
          'runs go on without them.',
      );
      return false;
    case 'unknown':
      log.warn(`the server does not say which search attributes it has; runs go on without them: ${check.reason}`);
      return false;
  }
}
