import { existsSync } from 'node:fs';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';

/** Counts what a run, or all runs, have done, from the store's own file: the server and the worker are not disturbed. */
export class StepCounter {
  readonly #db: DatabaseSync;
  readonly #turns: StatementSync;
  readonly #runKey: string;

  private constructor(db: DatabaseSync, runKey: string) {
    this.#db = db;
    this.#runKey = runKey;
    this.#turns = db.prepare('SELECT max(committed_order) AS turns FROM turns WHERE run_key = ?');
  }

  /** Waits for the worker to have made the file. */
  static async open(storePath: string, runKey: string): Promise<StepCounter> {
    while (!existsSync(storePath)) await sleep(50);
    return new StepCounter(new DatabaseSync(storePath, { readOnly: true, timeout: 10_000 }), runKey);
  }

  /** Model turns that were answered. */
  turns(): number {
    return Number(this.#turns.get(this.#runKey)?.['turns'] ?? 0);
  }

  async reach(turns: number, pollMs: number): Promise<void> {
    while (this.turns() < turns) await sleep(pollMs);
  }

  /** Calls of all runs whose body has begun at least once. */
  startedCalls(): number {
    return Number(this.#db.prepare('SELECT count(*) AS calls FROM calls WHERE starts > 0').get()?.['calls']);
  }

  close(): void {
    this.#db.close();
  }
}
