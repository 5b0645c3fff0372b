import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

/** What a tool's body sends. */
export interface OracleRequest {
  tool: string;
  key: string;
  /** Digest of the arguments. */
  digest: string;
  attempt: number;
  /** The call, in words of the test: what an effect is counted by where keys are not to be trusted. */
  of: string;
  /** How the call's requests are met, one after another; the rest are answered. Modes come first. */
  backend?: BackendStep[];
}

/** How one request of a call is met. */
export interface BackendStep {
  /**
   * `refuse` and `down` have no effect (409 and 503); `500` and `silence` have it and tell nobody. `silence` keeps the
   * connection.
   */
  answer: 'ok' | 'refuse' | 'down' | '500' | 'silence';
  /** Before the effect, milliseconds. */
  beforeMs?: number;
  /** From the effect to the answer, milliseconds. */
  afterMs?: number;
}

/** One request that reached the backend and was worked off. `effect` is false where the backend knew the key. */
export interface Arrival extends OracleRequest {
  effect: boolean;
  atMs: number;
}

/** A line of the oracle's log: `worked` is false where the request was refused and nothing was done. */
export interface OracleLine extends Arrival {
  worked: boolean;
}

/** `times`: for so many requests, default all. `after`: so many requests are answered first. */
interface Counted {
  times?: number;
  after?: number;
}

export type OracleMode =
  | { type: 'answer' }
  /** The effect happens and no answer is ever sent. */
  | ({ type: 'commit-then-silence' } & Counted)
  | ({ type: 'commit-then-500' } & Counted)
  /** A barrier: nothing happens until `release`. */
  | ({ type: 'hold' } & Counted)
  | ({ type: 'commit-then-hold' } & Counted)
  /** Nothing happens until `release`, and then nothing but a 503. */
  | ({ type: 'hold-then-503' } & Counted)
  | { type: 'down'; untilMs: number }
  | ({ type: 'refuse' } & Counted);

/** The backend of the crash tests, from outside. */
export class Oracle implements AsyncDisposable {
  readonly url: string;
  readonly port: number;
  /** JSON lines, each synced before its request was answered. */
  readonly logPath: string;
  readonly #process: ReturnType<typeof fork>;

  private constructor(process: ReturnType<typeof fork>, port: number, logPath: string) {
    this.#process = process;
    this.port = port;
    this.url = `http://127.0.0.1:${port}`;
    this.logPath = logPath;
  }

  static async start(file: string): Promise<Oracle> {
    const child = fork(fileURLToPath(new URL('./oracle-process.ts', import.meta.url)), [file]);
    const [{ port }] = (await once(child, 'message')) as [{ port: number }];
    return new Oracle(child, port, file);
  }

  async mode(tool: string, mode: OracleMode): Promise<void> {
    await this.#post('/mode', { tool, mode });
  }

  /** Lets everything that is held go on, and ends every mode. */
  async release(): Promise<void> {
    await this.#post('/release', {});
  }

  /** Keys seen until now are forgotten: the same key is worked off again. */
  async forgetKeys(): Promise<void> {
    await this.#post('/forget', {});
  }

  async arrivals(tool: string): Promise<Arrival[]> {
    return ((await this.#post('/arrivals', {})) as Arrival[]).filter((arrival) => arrival.tool === tool);
  }

  /** Every request, those that were refused as well. */
  async requests(): Promise<OracleLine[]> {
    const lines = (await readFile(this.logPath, 'utf8')).split('\n').filter((line) => line !== '');
    return lines.map((line) => JSON.parse(line) as OracleLine);
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
