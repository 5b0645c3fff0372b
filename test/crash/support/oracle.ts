import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** What a tool's body sends. */
export interface OracleRequest {
  tool: string;
  key: string;
  /** Digest of the arguments. */
  digest: string;
  attempt: number;
}

/** One request that reached the backend and was worked off. `effect` is false where the backend knew the key. */
export interface Arrival extends OracleRequest {
  effect: boolean;
  atMs: number;
}

export type OracleMode =
  | { type: 'answer' }
  /** The effect happens and no answer is ever sent. */
  | { type: 'commit-then-silence'; times?: number }
  | { type: 'commit-then-500'; times?: number }
  /** A barrier: nothing happens until `release`. */
  | { type: 'hold'; times?: number }
  | { type: 'commit-then-hold'; times?: number }
  /** Nothing happens until `release`, and then nothing but a 503. */
  | { type: 'hold-then-503'; times?: number }
  | { type: 'down'; untilMs: number }
  | { type: 'refuse'; times?: number };

/** The backend of the crash tests, from outside. */
export class Oracle implements AsyncDisposable {
  readonly url: string;
  readonly #process: ReturnType<typeof fork>;

  private constructor(process: ReturnType<typeof fork>, port: number) {
    this.#process = process;
    this.url = `http://127.0.0.1:${port}`;
  }

  static async start(file: string): Promise<Oracle> {
    const child = fork(fileURLToPath(new URL('./oracle-process.ts', import.meta.url)), [file]);
    const [{ port }] = (await once(child, 'message')) as [{ port: number }];
    return new Oracle(child, port);
  }

  async mode(tool: string, mode: OracleMode): Promise<void> {
    await this.#post('/mode', { tool, mode });
  }

  /** Lets everything that is held go on, and ends every mode. */
  async release(): Promise<void> {
    await this.#post('/release', {});
  }

  async arrivals(tool: string): Promise<Arrival[]> {
    return ((await this.#post('/arrivals', {})) as Arrival[]).filter((arrival) => arrival.tool === tool);
  }

  /** How often the effect really happened. */
  async effects(tool: string): Promise<number> {
    return (await this.arrivals(tool)).filter(({ effect }) => effect).length;
  }

  async held(): Promise<number> {
    return ((await this.#post('/held', {})) as { held: number }).held;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#process.exitCode !== null) return;
    const ended = once(this.#process, 'exit');
    this.#process.disconnect();
    await ended;
  }

  async #post(path: string, body: unknown): Promise<unknown> {
    const response = await fetch(this.url + path, { method: 'POST', body: JSON.stringify(body) });
    if (!response.ok) throw new Error(`oracle ${path}: ${await response.text()}`);
    return await response.json();
  }
}
