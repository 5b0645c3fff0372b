import { Context } from '@temporalio/activity';

/**
 * Runs an attempt with a sign of life every third of the time after which its worker is taken for dead: from its first
 * line, since a store that is slow before or after the body must not look like a lost worker.
 */
export async function heartbeating<T>(heartbeatTimeoutMs: number, run: () => Promise<T>): Promise<T> {
  const context = Context.current();
  const timer = setInterval(() => context.heartbeat(), heartbeatTimeoutMs / 3);
  try {
    return await run();
  } finally {
    clearInterval(timer);
  }
}
