import { bundleWorkflowCode, DefaultLogger, Runtime } from '@temporalio/worker';
import { ConfigError } from '../config/config-error.js';
import type { RecordedExecution } from '../replay/recorded-execution.js';
import { type ReplayedExecution, replayExecutions } from '../replay/replay-executions.js';
import { workflowCode } from '../worker/workflow-code.js';

/** Replays in this process. Rejects with a `ConfigError` where the user's workflow file cannot be bundled. */
export async function* replayLocally(options: {
  workflowsPath: string | undefined;
  executions: AsyncIterable<RecordedExecution>;
}): AsyncGenerator<ReplayedExecution> {
  const { workflowsPath, executions } = options;
  const code = workflowsPath === undefined ? await workflowCode(undefined) : await bundled(workflowsPath);
  yield* replayExecutions(code, quietly(executions));
}

/** Bundled here and not by the worker, whose error does not say what is wrong. */
async function bundled(workflowsPath: string): Promise<{ workflowBundle: { code: string } }> {
  const said: string[] = [];
  const hear = (message: string): void => void said.push(message);
  const ignore = (): void => undefined;
  const logger = { log: ignore, trace: ignore, debug: ignore, info: ignore, warn: hear, error: hear };
  try {
    return { workflowBundle: await bundleWorkflowCode({ workflowsPath, logger }) };
  } catch (error) {
    const lines = said.flatMap((text) => text.split('\n')).filter((line) => /error|can't resolve/i.test(line));
    // The bundler says first where it was, then what it did not find.
    const problem = lines.find((line) => /can't resolve|unexpected|failed/i.test(line)) ?? lines[0];
    throw new ConfigError('workflows', `${workflowsPath} cannot be bundled: ${problem?.trim() ?? String(error)}`, {
      cause: error,
    });
  }
}

/**
 * What the SDK says of a replay that fails is explained here. Its runtime is started for the first history only: it ends
 * with its last worker, and without one keeps the process from ending.
 */
async function* quietly(executions: AsyncIterable<RecordedExecution>): AsyncGenerator<RecordedExecution> {
  let isQuiet = false;
  for await (const execution of executions) {
    if (!isQuiet) {
      Runtime.install({
        logger: new DefaultLogger('ERROR', () => undefined),
        telemetryOptions: { logging: { filter: { core: 'ERROR', other: 'ERROR' }, forward: {} } },
      });
      isQuiet = true;
    }
    yield execution;
  }
}
