import type { AgentRunResult } from '../contract/run.js';
import type { RunDescription } from './run-description.js';

/** What a handle asks of the client that made it. */
interface Runs {
  waitForResult(run: RunHandle): Promise<AgentRunResult>;
  describe(run: RunHandle): Promise<RunDescription>;
  cancel(run: RunHandle): Promise<void>;
}

/** One run. Made by `Perdure.start` and `Perdure.get`; holds no connection of its own. */
export class RunHandle {
  /** The workflow id: the run's name for people. */
  readonly runId: string;
  /** The run's identity in every key; `undefined` where a workflow of this id was started by somebody else. */
  readonly runKey: string | undefined;
  readonly #runs: Runs;

  constructor(runs: Runs, run: { runId: string; runKey: string | undefined }) {
    this.#runs = runs;
    this.runId = run.runId;
    this.runKey = run.runKey;
  }

  /**
   * Waits for the run's end, over any number of worker and server restarts. A run that ended badly is a result like
   * any other: look at `status` and `termination`. Rejects with a `PerdureError`: `no_result` where somebody ended the
   * run from outside, `server_unreachable`.
   */
  async result(): Promise<AgentRunResult> {
    return await this.#runs.waitForResult(this);
  }

  /** Steps, calls, attempts and state, as the store and the server have them now. */
  async describe(): Promise<RunDescription> {
    return await this.#runs.describe(this);
  }

  /**
   * Asks the run to end. Resolves when the server has noted it; calls under way are told, and the run ends when they
   * have ended. Rejects with `run_not_found` where it has ended already.
   */
  async cancel(): Promise<void> {
    await this.#runs.cancel(this);
  }
}
