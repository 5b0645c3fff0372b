import { at, checkInteger, checkObject, checkOneOf, checkText, refuseUnknownKeys } from './check-options.js';
import { ConfigError } from './config-error.js';
import type { ResolvedConfig, WorkerVersioning } from './config.js';
import { parseDuration } from './duration.js';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * What holds for a worker where the configuration says nothing. `heartbeatTimeoutMs` is what a lost worker costs before its
 * calls go on elsewhere; each third of it is a heartbeat, which the server's operator may have to pay for.
 */
export const workerDefaults = {
  costs: 'full',
  heartbeatTimeoutMs: { full: 10_000, lean: 60_000 },
  maxConcurrentCalls: 50,
} as const satisfies Pick<ResolvedConfig, 'costs' | 'maxConcurrentCalls'> & {
  heartbeatTimeoutMs: Record<ResolvedConfig['costs'], number>;
};

/** What says in the environment which build this is; Temporal's worker controller for Kubernetes sets both. */
const deploymentVariable = 'TEMPORAL_DEPLOYMENT_NAME';
const buildVariable = 'TEMPORAL_WORKER_BUILD_ID';

/** Checks `worker` and resolves its defaults. Throws `ConfigError` with path and value. */
export function resolveWorker(
  worker: unknown,
  env: Environment,
): Pick<ResolvedConfig, 'heartbeatTimeoutMs' | 'maxConcurrentCalls' | 'costs' | 'versioning'> {
  const given = worker === undefined ? {} : checkObject('worker', worker);
  refuseUnknownKeys('worker', given, ['heartbeatTimeoutMs', 'maxConcurrentCalls', 'costs', 'versioning']);
  const costs = checkOneOf('worker.costs', given['costs'] ?? workerDefaults.costs, ['full', 'lean']);
  const versioning = resolveVersioning(given['versioning'], env);
  return {
    costs,
    heartbeatTimeoutMs: parseDuration(
      'worker.heartbeatTimeoutMs',
      given['heartbeatTimeoutMs'] ?? workerDefaults.heartbeatTimeoutMs[costs],
    ),
    maxConcurrentCalls: checkInteger(
      'worker.maxConcurrentCalls',
      given['maxConcurrentCalls'] ?? workerDefaults.maxConcurrentCalls,
      1,
    ),
    ...(versioning && { versioning }),
  };
}

function resolveVersioning(versioning: unknown, env: Environment): WorkerVersioning | undefined {
  const path = 'worker.versioning';
  const given = versioning === undefined ? {} : checkObject(path, versioning);
  refuseUnknownKeys(path, given, ['deployment', 'buildId', 'behaviour']);
  const deployment = env[deploymentVariable] || given['deployment'];
  const buildId = env[buildVariable] || given['buildId'];
  if (versioning === undefined && deployment === undefined && buildId === undefined) return undefined;
  if (versioning === undefined && (deployment === undefined || buildId === undefined)) {
    const [set, unset] =
      buildId === undefined ? [deploymentVariable, buildVariable] : [buildVariable, deploymentVariable];
    throw new ConfigError(unset, `not set, though ${set} is; a versioned worker needs both`);
  }
  return {
    // A version is written deployment.build, so that the first may have no point.
    deployment: checkDeployment(at(path, 'deployment'), deployment),
    buildId: checkText(at(path, 'buildId'), buildId),
    behaviour: checkOneOf(at(path, 'behaviour'), given['behaviour'] ?? 'auto-upgrade', ['pinned', 'auto-upgrade']),
  };
}

function checkDeployment(path: string, deployment: unknown): string {
  const name = checkText(path, deployment);
  if (name.includes('.')) throw new ConfigError(path, `expected a name without a point, got '${name}'`);
  return name;
}
