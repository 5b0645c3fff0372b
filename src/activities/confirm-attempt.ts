import { Context } from '@temporalio/activity';
import type { Effect } from '../contract/effect.js';
import { cancelled, notReady } from '../temporal/failure-mapper.js';
import { whyCancelled } from './run-body.js';

/** How soon an attempt that was not confirmed is offered again. */
const unconfirmedDelayMs = 1_000;

/** What the server said by handing an attempt out counts for this long. From the poll to the body it takes 5 to 20 ms. */
const handedOutForMs = 500;

/**
 * Just before the body: one heartbeat of our own, answered by the server. The SDK's heartbeats are throttled and
 * unanswered; this one tells an attempt that was given up, or a cancelled run, before anything is sent. Throws where the
 * attempt must not run; then the claim is to be given back. Waits for the answer no longer than the lease lasts
 * (`deadlineMs`): after that the claim is void, and a connection that hangs must not hold the worker's slot.
 *
 * A keyed call whose attempt was only just handed out is not asked about: the ledger refuses a second attempt at once, and
 * the same key twice is one effect. What is given up is the news of that half second: a cancellation that came in it
 * reaches the body with its heartbeats. Asking costs a tenth of the step. `enteredAtMs` is when the attempt came in, on
 * this process's monotonic clock.
 */
export async function confirmAttempt(
  effect: Effect,
  { enteredAtMs, deadlineMs }: { enteredAtMs: number; deadlineMs: number },
): Promise<void> {
  const context = Context.current();
  if (context.cancellationSignal.aborted) {
    if (whyCancelled(context) === 'cancelled') throw cancelled('the run was cancelled before the tool was started');
    throw notReady('this attempt was told to stop before the tool was started', unconfirmedDelayMs);
  }
  if (effect.kind === 'idempotent' && effect.by === 'key' && wasJustHandedOut(context, enteredAtMs)) return;
  let answer: { cancelRequested?: boolean | null; activityPaused?: boolean | null };
  try {
    answer = await context.client.withDeadline(Date.now() + deadlineMs, () =>
      context.client.workflowService.recordActivityTaskHeartbeat({
        namespace: context.info.namespace,
        taskToken: context.info.taskToken,
      }),
    );
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw notReady(`the server did not confirm this attempt, so nothing was run: ${why}`, unconfirmedDelayMs);
  }
  if (!answer.cancelRequested && !answer.activityPaused) return;
  if (answer.cancelRequested) throw cancelled('the run was cancelled before the tool was started');
  throw notReady('this activity is paused', unconfirmedDelayMs);
}

/**
 * Since it came in, and since the server scheduled it, by two clocks. The second sees a process that was stopped before its
 * first line; it does not where the clocks differ by just as much.
 */
function wasJustHandedOut({ info }: Context, enteredAtMs: number): boolean {
  const isNewHere = performance.now() - enteredAtMs <= handedOutForMs;
  return isNewHere && Math.abs(Date.now() - info.currentAttemptScheduledTimestampMs) <= handedOutForMs;
}
