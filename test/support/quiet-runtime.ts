/**
 * Imported for its effect, before the first worker of a process: the SDK's own lines are not for a test's output. Workers
 * are stopped, killed and replaced on purpose there, and histories fail on purpose; only what is an error should be seen.
 */
import { DefaultLogger, Runtime } from '@temporalio/worker';

Runtime.install({
  logger: new DefaultLogger('ERROR'),
  telemetryOptions: { logging: { filter: { core: 'ERROR', other: 'ERROR' }, forward: {} } },
});
