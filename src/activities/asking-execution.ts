import { Context } from '@temporalio/activity';
import { WorkflowNotFoundError } from '@temporalio/client';
import { StoreError } from '../store/store.js';
import type { AskingExecution, AskingOfCall } from '../store/store.js';
import { notReady } from '../temporal/failure-mapper.js';
import type { Services } from './services.js';

/** Nobody waits for an execution that another has followed: it is closed, and the server offers its activities no more. */
const overtakenDelayMs = 60_000;
/** Another execution took the run over in the same moment, or this one's own other attempt did. */
const contestedDelayMs = 1_000;

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
export async function takeRun({ store, log, heartbeatTimeoutMs }: Asking, runKey: string): Promise<void> {
  const context = Context.current();
  const { workflowExecution } = context.info;
  if (!workflowExecution) return;
  const { workflowId, runId } = workflowExecution;
  const after = (await store.getRun(runKey))?.execution;
  if (after === runId) return;
  const isOpen = await context.client.withDeadline(Date.now() + heartbeatTimeoutMs, async () => {
    try {
      return (await context.client.workflow.getHandle(workflowId, runId).describe()).closeTime === undefined;
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return false;
      throw error;
    }
  });
  if (!isOpen) {
    log.warn('an execution that another has followed asked for a change of its run; nothing was changed', {
      run_key: runKey,
      workflow_id: workflowId,
      run_id: runId,
    });
    throw notReady('the run has gone on in a later execution; this one is over and changes nothing', overtakenDelayMs);
  }
  if (!(await store.takeOver(runKey, { runId, after }))) {
    throw notReady('another execution was taking the run over in the same moment', contestedDelayMs);
  }
}
