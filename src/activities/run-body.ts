import { Context } from '@temporalio/activity';

/** Why a body was told to stop before it had ended. */
export type Interruption =
  | 'deadline'
  /** The run was cancelled. */
  | 'cancelled'
  /** The worker is stopping. */
  | 'stopping'
  /** Another attempt has taken over, or the server gave this one up. */
  | 'superseded';

export type BodyEnd =
  | { kind: 'returned'; value: unknown; interruption?: Interruption }
  | { kind: 'threw'; thrown: unknown; interruption?: Interruption }
  /** Told to stop and still running: its late end is passed to `onLate`. */
  | { kind: 'running'; interruption: Interruption };

/** How long a body that was told to stop may take to do so. */
const stopGraceMs = 1_000;

/**
 * Runs a tool's body until it ends or is told to stop: at the deadline, on cancellation, or when `superseded` aborts.
 * The signal given to the body is aborted with a `TimeoutError` at the deadline and an `AbortError` otherwise.
 * Never throws.
 */
export async function runBody(options: {
  body: (signal: AbortSignal) => Promise<unknown>;
  deadlineMs: number;
  superseded: AbortSignal;
  onLate: (end: { kind: 'returned' | 'threw'; value: unknown }) => void;
}): Promise<BodyEnd> {
  const controller = new AbortController();
  const interrupted = Promise.withResolvers<Interruption>();
  let interruption: Interruption | undefined;
  const interrupt = (reason: Interruption): void => {
    if (interruption !== undefined) return;
    interruption = reason;
    controller.abort(
      reason === 'deadline'
        ? new DOMException('the deadline passed', 'TimeoutError')
        : new DOMException(`the call was stopped (${reason})`, 'AbortError'),
    );
    interrupted.resolve(reason);
  };

  const context = Context.current();
  const onCancelled = (): void => {
    const why = whyCancelled(context);
    if (why) interrupt(why);
  };
  const onSuperseded = (): void => interrupt('superseded');
  context.cancellationSignal.addEventListener('abort', onCancelled, { once: true });
  options.superseded.addEventListener('abort', onSuperseded, { once: true });
  const timer = setTimeout(() => interrupt('deadline'), options.deadlineMs);
  try {
    if (context.cancellationSignal.aborted) onCancelled();
    if (options.superseded.aborted) onSuperseded();
    let late = false;
    const body = startBody(options.body, controller.signal).then((end) => {
      if (late) options.onLate(end);
      return end;
    });
    const first = await Promise.race([body, interrupted.promise]);
    const end = typeof first === 'string' ? await Promise.race([body, stillRunningAfter(stopGraceMs)]) : first;
    if (end === undefined) {
      late = true;
      return { kind: 'running', interruption: interruption ?? 'deadline' };
    }
    const told = interruption === undefined ? {} : { interruption };
    return end.kind === 'returned'
      ? { kind: 'returned', value: end.value, ...told }
      : { kind: 'threw', thrown: end.value, ...told };
  } finally {
    clearTimeout(timer);
    context.cancellationSignal.removeEventListener('abort', onCancelled);
    options.superseded.removeEventListener('abort', onSuperseded);
  }
}

async function startBody(
  body: (signal: AbortSignal) => Promise<unknown>,
  signal: AbortSignal,
): Promise<{ kind: 'returned' | 'threw'; value: unknown }> {
  try {
    return { kind: 'returned', value: await body(signal) };
  } catch (error) {
    return { kind: 'threw', value: error };
  }
}

function stillRunningAfter(ms: number): Promise<undefined> {
  return new Promise((resolve) => setTimeout(resolve, ms, undefined).unref());
}

/**
 * Temporal cancels an attempt for several reasons; only one of them is the run's cancellation. `undefined` where only the
 * next attempt is meant (the activity was paused, or reset): to stop this one in its middle would make a known end of an
 * unknown one, and the server takes its result.
 */
export function whyCancelled(context: Context): Interruption | undefined {
  const details = context.cancellationDetails;
  if (details?.workerShutdown) return 'stopping';
  if (details?.notFound || details?.timedOut) return 'superseded';
  if (details?.paused || details?.reset) return undefined;
  return 'cancelled';
}
