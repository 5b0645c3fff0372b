import { DefaultLogger, Runtime } from '@temporalio/worker';
import { ConfigError } from '../config/config-error.js';
import type { RecordedExecution } from '../replay/recorded-execution.js';
import { type ReplayedExecution, replayExecutions } from '../replay/replay-executions.js';
import { workflowCode } from '../workflow-code.js';

/** Replays in this process. Rejects with a `ConfigError` where the user's workflow file cannot be bundled. */
export async function* replayLocally(options: {
  workflowsPath: string | undefined;
  executions: AsyncIterable<RecordedExecution>;
}): AsyncGenerator<ReplayedExecution> {
  const { workflowsPath, executions } = options;
  const bundling: string[] = [];
  // What the SDK says of a replay that fails is explained; what the bundler says is kept in case it does.
  Runtime.install({
    logger: new DefaultLogger('ERROR', ({ message }) => void bundling.push(message)),
    telemetryOptions: { logging: { filter: { core: 'ERROR', other: 'ERROR' }, forward: {} } },
  });
  const code = await workflowCode(workflowsPath);
  try {
    yield* replayExecutions(code, executions);
  } catch (error) {
    const isBundling = error instanceof Error && /webpack|bundl/i.test(error.message);
    if (workflowsPath === undefined || !isBundling) throw error;
    throw new ConfigError('workflows', `${workflowsPath} cannot be bundled: ${firstProblem(bundling, error)}`, {
      cause: error,
    });
  }
}

function firstProblem(logged: readonly string[], error: Error): string {
  const problem = logged.flatMap((text) => text.split('\n')).find((line) => /error/i.test(line));
  return (problem ?? error.message).trim();
}
