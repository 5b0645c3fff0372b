import { PerdureError } from '../client/perdure-error.js';
import type { RunDescription } from '../client/run-description.js';
import type { RunHandle } from '../client/run-handle.js';
import { LiveRegion } from './live-region.js';
import type { Client, Platform } from './platform.js';
import { progressBetween, renderLive, renderProgress } from './render/progress.js';
import { makeStyle, type Style } from './render/style.js';

/** A look every 300 ms reads as live; a long run's look costs more, and then looks are rarer. */
const LOOK_EVERY_MS = 300;
/** Looking takes this part of the time at most. */
const LOOK_SHARE = 1 / 10;
/** A server that restarts is back within that time; after it a person should know. */
const SERVER_SILENCE_MS = 30_000;
/** How long nothing may happen before somebody looks for a worker, and again. */
const QUIET_MS = 5_000;

const SPINNER = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

export interface FollowOptions {
  platform: Platform;
  client: Client;
  run: RunHandle;
  /** Rejects where what this process runs for the run breaks down. */
  broken: Promise<never>;
}

/**
 * Shows a run's progress on standard error until the workflow has closed (`ended`) or a person pressed Ctrl-C
 * (`detached`): a few live lines on a terminal, plain lines in a pipe. Rejects with `server_unreachable` where the
 * server is silent for 30 s.
 */
export async function followRun(options: FollowOptions): Promise<'ended' | 'detached'> {
  const { platform } = options;
  let interrupted = false;
  let wake = (): void => undefined;
  const release = platform.onInterrupt(() => {
    interrupted = true;
    wake();
  });
  const view = new ProgressView(platform);
  try {
    const lookout = new Lookout(options, view);
    for (;;) {
      const lookedAtMs = platform.nowMs();
      if ((await Promise.race([lookout.look(), options.broken])) === 'ended') return 'ended';
      if (interrupted) return 'detached';
      const tookMs = platform.nowMs() - lookedAtMs;
      const interrupt = new Promise<void>((resolve) => (wake = resolve));
      const pauseMs = Math.max(LOOK_EVERY_MS, tookMs / LOOK_SHARE);
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
  readonly #view: ProgressView;
  #last: RunDescription | undefined;
  #answeredAtMs: number;
  #changedAtMs: number;

  constructor(options: FollowOptions, view: ProgressView) {
    this.#options = options;
    this.#view = view;
    this.#answeredAtMs = options.platform.nowMs();
    this.#changedAtMs = this.#answeredAtMs;
  }

  async look(): Promise<'open' | 'ended'> {
    const { client, run, platform } = this.#options;
    let now: RunDescription;
    try {
      now = await client.describe(run);
    } catch (error) {
      return this.#bearSilence(error);
    }
    this.#answeredAtMs = platform.nowMs();
    if (this.#view.show(this.#last, now)) this.#changedAtMs = this.#answeredAtMs;
    this.#last = now;
    if (isClosed(now)) return 'ended';
    await this.#lookForWorker();
    return 'open';
  }

  #bearSilence(error: unknown): 'open' {
    const isSilence = error instanceof PerdureError && error.code === 'server_unreachable';
    if (!isSilence || this.#options.platform.nowMs() - this.#answeredAtMs > SERVER_SILENCE_MS) throw error;
    this.#view.note(`${error.message} Trying again for ${SERVER_SILENCE_MS / 1_000} s.`);
    return 'open';
  }

  /** A run without a worker waits for ever, which looks like a slow model. */
  async #lookForWorker(): Promise<void> {
    const { client, platform } = this.#options;
    if (platform.nowMs() - this.#changedAtMs < QUIET_MS) return;
    this.#changedAtMs = platform.nowMs();
    const found = await client.hasWorker().catch(() => true);
    if (!found) this.#view.note('No worker is there for this run. Start one in another terminal: perdure worker');
  }
}

/** The store knows the end a moment before the workflow closes; only then may a worker of this process go. */
function isClosed(run: RunDescription): boolean {
  if (run.server) return run.server.status !== 'running';
  return run.state !== 'running' && run.state !== 'waiting';
}

class ProgressView {
  readonly #platform: Platform;
  readonly #region: LiveRegion | undefined;
  readonly #notes = new Set<string>();
  #frame = 0;

  constructor(platform: Platform) {
    this.#platform = platform;
    this.#region = platform.err.isTerminal ? new LiveRegion(platform.err) : undefined;
  }

  /** Shows what is new in `now`, and says whether anything is. */
  show(before: RunDescription | undefined, now: RunDescription): boolean {
    const style = this.#style();
    const lines = progressBetween(before, now).flatMap((event) => renderProgress(event, style));
    if (this.#region) {
      const spinner = SPINNER[this.#frame++ % SPINNER.length] ?? '';
      this.#region.update(lines, renderLive(now, spinner, style));
    } else {
      this.#print(lines);
    }
    return lines.length > 0;
  }

  /** Says something about the watching itself, once. */
  note(text: string): void {
    if (this.#notes.has(text)) return;
    this.#notes.add(text);
    this.clear();
    this.#print([this.#style().colours.yellow(text)]);
  }

  clear(): void {
    this.#region?.clear();
  }

  #print(lines: readonly string[]): void {
    if (lines.length > 0) this.#platform.err.write(lines.map((line) => `${line}\n`).join(''));
  }

  #style(): Style {
    const { colour, columns } = this.#platform.err;
    return makeStyle({ colour, columns, nowMs: this.#platform.nowMs() });
  }
}
