import type { WriteStream } from 'node:tty';
import type { Screen } from './platform.js';

/** One of this process's streams. Colours as https://no-color.org and the usual FORCE_COLOR say. */
export class StreamScreen implements Screen {
  readonly isTerminal: boolean;
  readonly colour: boolean;
  readonly #stream: WriteStream;

  constructor(stream: WriteStream, env: Readonly<Record<string, string | undefined>>) {
    this.#stream = stream;
    this.isTerminal = Boolean(stream.isTTY) && env['TERM'] !== 'dumb';
    const isForced = Boolean(env['FORCE_COLOR']) && env['FORCE_COLOR'] !== '0';
    this.colour = !env['NO_COLOR'] && (isForced || this.isTerminal);
  }

  /** Asked anew each time: a terminal changes its size. */
  get columns(): number | undefined {
    return this.isTerminal ? this.#stream.columns : undefined;
  }

  write(text: string): void {
    this.#stream.write(text);
  }
}
