import { DeterminismViolationError } from '@temporalio/workflow';
import { type ReplayWorkerOptions, Worker } from '@temporalio/worker';
import type { History, RecordedExecution } from './recorded-execution.js';

/** Why a history does not replay. */
export interface ReplayProblem {
  /** `diverged`: the code decides otherwise than it did. `broken`: the code fails by itself. */
  kind: 'diverged' | 'broken';
  /** One sentence of Temporal's or the code's own, without stack. */
  reason: string;
}

type Replays = ReturnType<typeof Worker.runReplayHistories>;

/**
 * Replays one history after another with the same workflow code, a millisecond or so each; to open the worker costs the
 * most. Nothing is executed: no activity, no timer, no server.
 */
export class ReplayWorker implements AsyncDisposable {
  readonly #options: ReplayWorkerOptions;
  #replays: Replays | undefined;
  #next: { history: History; workflowId: string } | undefined;

  constructor(code: Pick<ReplayWorkerOptions, 'workflowBundle' | 'workflowsPath'>) {
    this.#options = code;
  }

  /** `undefined` where the history replays. Rejects where the code cannot be loaded. One at a time. */
  async replay({ id }: RecordedExecution, history: History): Promise<ReplayProblem | undefined> {
    this.#next = { history, workflowId: id };
    this.#replays ??= Worker.runReplayHistories(this.#options, this.#asked());
    const { value, done } = (await this.#replays.next()) as IteratorResult<{ error?: Error }, undefined>;
    if (done) throw new Error('the replay worker ended by itself');
    return value.error && problemOf(value.error);
  }

  /** Taken from by the SDK's generator, one for each result that is asked of it. */
  async *#asked(): AsyncGenerator<{ history: History; workflowId: string }> {
    for (;;) {
      const next = this.#next;
      if (!next) return;
      this.#next = undefined;
      yield next;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#replays?.return?.();
  }
}

function problemOf(error: Error): ReplayProblem {
  const kind = error instanceof DeterminismViolationError ? 'diverged' : 'broken';
  return { kind, reason: reasonIn(error.message) };
}

/** The SDK's native part prints a whole structure; the sentence is its first `message`, as a Rust string. */
export function reasonIn(message: string): string {
  const quoted = /\bmessage: "((?:[^"\\]|\\.)*)"/s.exec(message)?.[1];
  if (quoted === undefined) return message.split('\n')[0] ?? '';
  const plain = quoted.replace(/\\u\{([0-9a-f]+)\}|\\(.)/g, (_, code: string | undefined, char: string) =>
    code === undefined ? (ESCAPED[char] ?? char) : String.fromCodePoint(parseInt(code, 16)),
  );
  return (plain.split('\n')[0] ?? '').replace(/^\[TMPRL\d+\] /, '').replace(/^Nondeterminism error: /, '');
}

const ESCAPED: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', 0: '\0' };
