import { Context } from '@temporalio/activity';
import { WorkflowNotFoundError } from '@temporalio/client';
import { StoreError } from '../store/store-error.js';
import type { AskingExecution, AskingOfCall } from '../store/records.js';
import { notReady } from '../temporal/failure-mapper.js';
import type { Services } from './services.js';

/** Nobody waits for an execution that another has followed: it is closed, and the server offers its activities no more. */
const overtakenDelayMs = 60_000;
/** Another execution took the run over in the same moment, or the server did not say whether this one is open. */
const undecidedDelayMs = 1_000;

type Asking = Pick<Services, 'store' | 'log' | 'heartbeatTimeoutMs'>;

/** The execution whose activity this is; absent for an activity that no workflow started. */
export function askingExecution(): { by?: AskingExecution } {
  const { workflowExecution } = Context.current().info;
  return workflowExecution ? { by: { runId: workflowExecution.runId } } : {};
}

/**
 * Asks the store for something that only the execution may have that has the run; where the store says that the run is
 * another's, the run is taken over and the store asked once more. Rejects for an execution that another has followed.
 */
export async function asLatest<T>(
  services: Asking,
  runKey: string,
  ask: (by: AskingExecution | undefined) => Promise<T>,
): Promise<T> {
  const { by } = askingExecution();
  try {
    return await ask(by);
  } catch (error) {
    if (!(error instanceof StoreError) || error.code !== 'overtaken') throw error;
    await takeRun(services, runKey);
    return await ask(by);
  }
}

/** The same for an event of a call that needs no claim: `by` is for `Store.applyLedger`. */
export async function asLatestOfCall<T>(
  services: Asking,
  runKey: string,
  ask: (by: AskingOfCall | undefined) => Promise<T>,
): Promise<T> {
  return await asLatest(services, runKey, (by) => ask(by && { ...by, runKey }));
}

/**
 * Makes sure that the run is this activity's execution's. Neither times nor attempts tell which of two executions is the later
 * one (an activity that a reset carries over keeps the time at which it was scheduled first), and the order of arrival does
 * not either: one that is left over may have asked for nothing so far. The server knows: only the newest execution of a
 * workflow id is ever open. So an open one is never refused for good, and a closed one, which can get no answer any more, ends.
 *
 * The store is read before the server is asked: a process that stalls after the server's answer finds that somebody else has
 * the run meanwhile, and takes nothing.
 */
export async function takeRun(services: Asking, runKey: string): Promise<void> {
  const { by } = askingExecution();
  if (!by) return;
  const { runId } = by;
  const after = (await services.store.getRun(runKey))?.execution;
  if (after === runId) return;
  await requireOpen(services);
  if (!(await services.store.takeOver(runKey, { runId, after }))) {
    throw notReady('another execution was taking the run over in the same moment', undecidedDelayMs);
  }
}

/** Rejects where the server says that this activity's execution is over. */
export async function requireOpen({ log, heartbeatTimeoutMs }: Omit<Asking, 'store'>): Promise<void> {
  const { client, info } = Context.current();
  if (!info.workflowExecution) return;
  const { workflowId, runId } = info.workflowExecution;
  let isOpen: boolean;
  try {
    const asked = () => client.workflow.getHandle(workflowId, runId).describe();
    isOpen = (await client.withDeadline(Date.now() + heartbeatTimeoutMs, asked)).closeTime === undefined;
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) {
      const why = error instanceof Error ? error.message : String(error);
      throw notReady(`the server did not say whether this execution goes on: ${why}`, undecidedDelayMs);
    }
    isOpen = false;
  }
  if (isOpen) return;
  log.warn('an execution that is over asked for a change; nothing was changed', {
    workflow_id: workflowId,
    execution: runId,
    activity: info.activityType,
  });
  throw notReady(
    'this execution is over, and the run may have gone on in a later one; nothing was changed',
    overtakenDelayMs,
  );
}
