import type { RunDescription } from '../client/run-description.js';
import { LiveRegion } from './live-region.js';
import type { Platform, Screen } from './platform.js';
import { progressBetween, renderLive, renderProgress } from './render/progress.js';
import { makeStyle, type Style } from './render/style.js';

const SPINNER = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

/** What shows a run to a person, look by look. */
export interface RunView {
  /** Shows what is new in `now`, and says whether anything is. */
  show(before: RunDescription | undefined, now: RunDescription): boolean;
  /** Says something about the watching itself. */
  note(text: string): void;
  clear(): void;
}

export interface ProgressViewOptions {
  /** Default: standard error. */
  screen?: Screen;
  /** The lines that change while the run goes on; default: calls under way and what is waited for. */
  live?: (run: RunDescription, spinner: string, style: Style) => string[];
}

/** Lines that stay, and on a terminal a few live ones below them. */
export class ProgressView implements RunView {
  readonly #platform: Platform;
  readonly #screen: Screen;
  readonly #live: NonNullable<ProgressViewOptions['live']>;
  readonly #region: LiveRegion | undefined;
  #frame = 0;

  constructor(platform: Platform, options: ProgressViewOptions = {}) {
    this.#platform = platform;
    this.#screen = options.screen ?? platform.err;
    this.#live = options.live ?? renderLive;
    this.#region = this.#screen.isTerminal ? new LiveRegion(this.#screen) : undefined;
  }

  show(before: RunDescription | undefined, now: RunDescription): boolean {
    const style = this.#style();
    const lines = progressBetween(before, now).flatMap((event) => renderProgress(event, style));
    if (this.#region) {
      const spinner = SPINNER[this.#frame++ % SPINNER.length] ?? '';
      this.#region.update(lines, this.#live(now, spinner, style));
    } else {
      print(this.#screen, lines);
    }
    return lines.length > 0;
  }

  note(text: string): void {
    this.clear();
    // What is said about the watching is no part of what is watched.
    print(this.#platform.err, [this.#style().colours.yellow(text)]);
  }

  clear(): void {
    this.#region?.clear();
  }

  #style(): Style {
    const { colour, columns } = this.#screen;
    return makeStyle({ colour, columns, nowMs: this.#platform.nowMs() });
  }
}

function print(screen: Screen, lines: readonly string[]): void {
  if (lines.length > 0) screen.write(lines.map((line) => `${line}\n`).join(''));
}
