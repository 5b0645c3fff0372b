import type { Screen } from './platform.js';

const CLEAR_BELOW = '\u001b[0J';

/** The last lines of a terminal, redrawn in place; what is written above them stays. */
export class LiveRegion {
  readonly #screen: Screen;
  #drawnLines = 0;

  constructor(screen: Screen) {
    this.#screen = screen;
  }

  /** Leaves `lines` for good, above the region, and draws `live` anew. No line may be wider than the terminal. */
  update(lines: readonly string[], live: readonly string[]): void {
    const up = this.#drawnLines > 0 ? `\u001b[${this.#drawnLines}A\r${CLEAR_BELOW}` : '';
    const text = [...lines, ...live].map((line) => `${line}\n`).join('');
    // One write: a terminal draws it at once, without flicker.
    if (up !== '' || text !== '') this.#screen.write(up + text);
    this.#drawnLines = live.length;
  }

  clear(): void {
    this.update([], []);
  }
}
