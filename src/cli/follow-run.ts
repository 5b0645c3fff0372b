import { PerdureError } from '../client/perdure-error.js';
import type { RunDescription } from '../client/run-description.js';
import type { RunHandle } from '../client/run-handle.js';
import type { Client, Platform } from './platform.js';
import { ProgressView, type RunView } from './progress-view.js';

/** A look every 300 ms reads as live; where a look takes long, looks are rarer. */
const LOOK_EVERY_MS = 300;
/** Looking takes this part of the time at most. */
const LOOK_SHARE = 1 / 10;
/** A server that restarts is back within that time; after it a person should know. */
const SERVER_SILENCE_MS = 30_000;
/** Without a server there is only what workers elsewhere write to the store, and what another process starts. */
const UNSERVED_LOOK_EVERY_MS = 2_000;
/** How long nothing may happen before somebody looks for a worker, and again. */
const QUIET_MS = 5_000;

export interface FollowOptions {
  platform: Platform;
  client: Client;
  run: RunHandle;
  /** Rejects where what this process runs for the run breaks down. */
  broken: Promise<never>;
  /** Default: progress on standard error. */
  view?: RunView;
  /** The run as it stood before: only what is new since then is shown. Default: all of it is new. */
  since?: RunDescription;
}

/**
 * Shows a run's progress on standard error until the workflow has closed (`ended`) or a person pressed Ctrl-C
 * (`detached`). A client without a server shows what the store knows, and says so. Rejects with `server_unreachable` where
 * a server is silent for 30 s.
 */
export async function followRun(options: FollowOptions): Promise<'ended' | 'detached'> {
  const { platform } = options;
  let interrupted = false;
  let wake = (): void => undefined;
  const release = platform.onInterrupt(() => {
    interrupted = true;
    wake();
  });
  const view = options.view ?? new ProgressView(platform);
  try {
    const lookout = new Lookout(options, view);
    for (;;) {
      const lookedAtMs = platform.nowMs();
      if ((await Promise.race([lookout.look(), options.broken])) === 'ended') return 'ended';
      if (interrupted) return 'detached';
      const tookMs = platform.nowMs() - lookedAtMs;
      const interrupt = new Promise<void>((resolve) => (wake = resolve));
      const pauseMs = Math.max(lookout.everyMs, tookMs / LOOK_SHARE);
      await Promise.race([platform.sleep(pauseMs), interrupt, options.broken]);
      if (interrupted) return 'detached';
    }
  } finally {
    view.clear();
    release();
  }
}

/** Looks at the run and tells the view what is new. */
class Lookout {
  readonly #options: FollowOptions;
  readonly #view: RunView;
  readonly #run: { look(): Promise<RunDescription> };
  #last: RunDescription | undefined;
  /** The least pause between two looks. */
  everyMs = LOOK_EVERY_MS;
  #answeredAtMs: number;
  readonly #told = new Set<string>();
  #changedAtMs: number;

  constructor(options: FollowOptions, view: RunView) {
    this.#options = options;
    this.#view = view;
    this.#run = options.client.follow(options.run);
    this.#last = options.since;
    this.#answeredAtMs = options.platform.nowMs();
    this.#changedAtMs = this.#answeredAtMs;
  }

  async look(): Promise<'open' | 'ended'> {
    const { platform } = this.#options;
    let now: RunDescription;
    try {
      now = await this.#run.look();
    } catch (error) {
      return this.#bearSilence(error);
    }
    this.#answeredAtMs = platform.nowMs();
    if (this.#view.show(this.#last, now)) this.#changedAtMs = this.#answeredAtMs;
    this.#last = now;
    if (isClosed(now)) return 'ended';
    if (now.server) {
      this.everyMs = LOOK_EVERY_MS;
      await this.#lookForWorker();
    } else this.#sayUnserved();
    return 'open';
  }

  /** Waiting in silence for what cannot come would look like a slow model. */
  #sayUnserved(): void {
    const { unanswered } = this.#options.client;
    this.everyMs = UNSERVED_LOOK_EVERY_MS;
    const why = unanswered ? `No Temporal server answers at ${unanswered.at}` : 'The server does not know this run';
    const again = `showing what the store knows, looking again every ${UNSERVED_LOOK_EVERY_MS / 1_000} s.`;
    this.#tell(`${why}; ${again}${unanswered ? `\n${unanswered.advice}` : ''}`);
  }

  #bearSilence(error: unknown): 'open' {
    const isSilence = error instanceof PerdureError && error.code === 'server_unreachable';
    if (!isSilence || this.#options.platform.nowMs() - this.#answeredAtMs > SERVER_SILENCE_MS) throw error;
    this.#tell(`${error.message} Trying again for ${SERVER_SILENCE_MS / 1_000} s.`);
    return 'open';
  }

  /** Once: the same is found at each look. */
  #tell(text: string): void {
    if (this.#told.has(text)) return;
    this.#told.add(text);
    this.#view.note(text);
  }

  /** A run without a worker waits for ever, which looks like a slow model. */
  async #lookForWorker(): Promise<void> {
    const { client, platform } = this.#options;
    if (platform.nowMs() - this.#changedAtMs < QUIET_MS) return;
    this.#changedAtMs = platform.nowMs();
    const found = await client.hasWorker().catch(() => true);
    if (!found) this.#tell('No worker is there for this run. Start one in another terminal: perdure worker');
  }
}

/** The store knows the end a moment before the workflow closes; only then may a worker of this process go. */
function isClosed(run: RunDescription): boolean {
  if (run.server) return run.server.status !== 'running';
  return run.state !== 'running' && run.state !== 'waiting';
}
