import { turnAttemptPrefix } from '../policy/turn-attempt-key.js';
import type { Query, UpkeepDatabase } from './upkeep-database.js';

export interface CollectRunsOptions {
  /** Runs that ended longer ago than this leave a tombstone and nothing else; `null` keeps all. Milliseconds. */
  closedRunsMs: number | null;
  /** Counts what would go, and changes nothing. */
  dryRun?: boolean;
  /**
   * How the server has the run: the store knows neither that one was terminated nor that one was reset. Without it, runs
   * count as ended where the store says so, and those that it takes for running stay.
   */
  standing?: (run: { runKey: string; workflowId: string }) => Promise<RunStanding>;
  /** Runs that the store takes for running, and that the server knows no more, go too, by when they were last written. */
  forgotten?: boolean;
}

/** A run by the server's account. `unknown`: it has none of that name, or another one. */
export type RunStanding = { type: 'open' } | { type: 'closed'; as: ClosedAs; atMs: number } | { type: 'unknown' };

export type ClosedAs = 'completed' | 'failed' | 'cancelled' | 'terminated' | 'timed_out';

export interface CollectedRun {
  runKey: string;
  workflowId: string;
  endedAtMs: number;
  /** How a run that the store took for running had ended; `forgotten` where only its silence says so. */
  closedAs?: ClosedAs | 'forgotten';
}

/** A run that the store takes for running, and of which nothing was written for longer than ended runs are kept. */
export interface DoubtfulRun {
  runKey: string;
  workflowId: string;
  /** When something of it was last written. */
  writtenAtMs: number;
  /** `forgotten`: the server knows no such run. `unasked`: there was no server to ask. */
  why: 'forgotten' | 'unasked';
}

/** What went, or would go. */
export interface CollectedRuns {
  runs: CollectedRun[];
  /** Kept, although they may have ended. */
  doubtful: DoubtfulRun[];
  turns: number;
  calls: number;
}

/** Removes runs that ended longer ago than they are kept, with their turns, calls and attempts. Each leaves a tombstone. */
export async function collectRuns(
  database: UpkeepDatabase,
  options: CollectRunsOptions,
  nowMs: number,
): Promise<CollectedRuns> {
  const { closedRunsMs } = options;
  if (closedRunsMs === null) return { runs: [], doubtful: [], turns: 0, calls: 0 };
  return await new RunCollector(database, options, { nowMs, endedBeforeMs: nowMs - closedRunsMs }).collect();
}

interface QuietRun {
  run_key: string;
  workflow_id: string;
  status: string;
  updated_at_ms: number;
  /** When it ended, where it has its tombstone already. */
  marked_at_ms: number | null;
}

class RunCollector {
  readonly #on: UpkeepDatabase;
  readonly #options: CollectRunsOptions;
  readonly #nowMs: number;
  readonly #endedBeforeMs: number;
  readonly #collected: CollectedRuns = { runs: [], doubtful: [], turns: 0, calls: 0 };

  constructor(
    database: UpkeepDatabase,
    options: CollectRunsOptions,
    { nowMs, endedBeforeMs }: { nowMs: number; endedBeforeMs: number },
  ) {
    this.#on = database;
    this.#options = options;
    this.#nowMs = nowMs;
    this.#endedBeforeMs = endedBeforeMs;
  }

  async collect(): Promise<CollectedRuns> {
    const quiet = await this.#quietRuns();
    // A sub-agent's run goes with the run that asked for it, which may be reset and ask again.
    const kept = await this.#parentsBut(quiet);
    for (const run of quiet) {
      const isOfKept = parentsOf(run.workflow_id).some((parent) => kept.has(parent));
      if (isOfKept || !(await this.#collectRun(run))) kept.add(run.workflow_id);
    }
    return this.#collected;
  }

  async #collectRun(run: QuietRun): Promise<boolean> {
    const end = run.marked_at_ms === null ? await this.#endOf(run) : { endedAtMs: run.marked_at_ms };
    if (end === undefined || (run.marked_at_ms === null && end.endedAtMs > this.#endedBeforeMs)) return false;
    const taken = this.#options.dryRun ? await sizeOfRun(this.#on.query, run) : await this.#take(run, end.endedAtMs);
    if (!taken) return false;
    this.#collected.runs.push({ runKey: run.run_key, workflowId: run.workflow_id, ...end });
    this.#collected.turns += taken.turns;
    this.#collected.calls += taken.calls;
    return true;
  }

  /** When it ended; `undefined` where it has not, or nobody can say so. */
  async #endOf(run: QuietRun): Promise<Pick<CollectedRun, 'endedAtMs' | 'closedAs'> | undefined> {
    const { standing, forgotten } = this.#options;
    const { run_key: runKey, workflow_id: workflowId, updated_at_ms: writtenAtMs } = run;
    const isRunning = run.status === 'running';
    const found = await standing?.({ runKey, workflowId });
    switch (found?.type) {
      case 'open':
        return undefined;
      case 'closed': {
        // One that ended by its own account may have been reset since, and terminated before it wrote anything.
        const endedAtMs = isRunning ? found.atMs : Math.max(found.atMs, writtenAtMs);
        return { endedAtMs, ...(isRunning && { closedAs: found.as }) };
      }
      case 'unknown':
      case undefined:
        if (!isRunning) return { endedAtMs: writtenAtMs };
        if (found && forgotten) return { endedAtMs: writtenAtMs, closedAs: 'forgotten' };
        this.#collected.doubtful.push({ runKey, workflowId, writtenAtMs, why: found ? 'forgotten' : 'unasked' });
        return undefined;
    }
  }

  /** Parents before their agents, then the oldest first. */
  async #quietRuns(): Promise<QuietRun[]> {
    const quiet = await this.#on.query<QuietRun>(
      `SELECT run_key, workflow_id, status, updated_at_ms,
         (SELECT ended_at_ms FROM tombstones WHERE tombstones.run_key = runs.run_key) AS marked_at_ms
       FROM runs WHERE ${MAY_GO} ORDER BY updated_at_ms`,
      this.#endedBeforeMs,
      this.#nowMs,
    );
    const depth = ({ workflow_id }: QuietRun): number => parentsOf(workflow_id).length;
    return quiet.sort((a, b) => depth(a) - depth(b));
  }

  /** Names of the runs' parents that are there, and not among them. */
  async #parentsBut(runs: QuietRun[]): Promise<Set<string>> {
    const names = new Set(runs.map(({ workflow_id }) => workflow_id));
    const parents = [...new Set(runs.flatMap(({ workflow_id }) => parentsOf(workflow_id)))];
    const there = await this.#on.query<{ workflow_id: string }>(
      'SELECT workflow_id FROM runs WHERE workflow_id IN LIST(?1)',
      JSON.stringify(parents),
    );
    return new Set(there.map(({ workflow_id }) => workflow_id).filter((name) => !names.has(name)));
  }

  /**
   * The tombstone and the deletion in one transaction, which first asks once more whether the run may go: whoever finds no
   * tombstone has the whole run. Each statement of PostgreSQL sees what was committed before it, so writers there look for the
   * run or its call first and for the tombstone after that: where the one has gone, they find the other.
   */
  async #take(run: QuietRun, endedAtMs: number): Promise<{ turns: number; calls: number } | undefined> {
    return await this.#on.write(async (query) => {
      await this.#lock(query, run);
      const marked = await query<{ run_key: string }>(
        `INSERT INTO tombstones (run_key, workflow_id, status, started_at_ms, ended_at_ms, collected_at_ms)
         SELECT run_key, workflow_id, status, started_at_ms, CAST(?5 AS bigint), CAST(?2 AS bigint) FROM runs
         WHERE run_key = ?3 AND status = ?4 AND ${MAY_GO}
         ON CONFLICT (run_key) DO UPDATE SET collected_at_ms = excluded.collected_at_ms RETURNING run_key`,
        ...[this.#endedBeforeMs, this.#nowMs, run.run_key, run.status, endedAtMs],
      );
      if (marked.length === 0) return undefined;
      const size = await sizeOfRun(query, run);
      await query('DELETE FROM attempts WHERE key IN (SELECT key FROM calls WHERE run_key = ?1)', run.run_key);
      await query(`DELETE FROM attempts WHERE ${this.#beginsWith('key')}`, turnAttemptPrefix(run.run_key));
      for (const table of ['interventions', 'calls', 'turns', 'runs'])
        await query(`DELETE FROM ${table} WHERE run_key = ?1`, run.run_key);
      return size;
    });
  }

  /**
   * What others are writing of the run is waited for, so that the next statement sees it; what they begin to write waits. The
   * run before its calls, as all do. A SQLite file has one writer at a time.
   */
  async #lock(query: Query, { run_key }: QuietRun): Promise<void> {
    if (this.#on.kind === 'sqlite') return;
    await query('SELECT 1 FROM runs WHERE run_key = ?1 FOR UPDATE', run_key);
    await query('SELECT 1 FROM calls WHERE run_key = ?1 ORDER BY key FOR UPDATE', run_key);
  }

  /** By an index of either database: the primary key, and that of the starts of turns. */
  #beginsWith(column: string): string {
    return this.#on.kind === 'sqlite'
      ? `${column} >= ?1 AND ${column} < ?1 || char(0xffff)`
      : `${column} LIKE 'turn/%' AND starts_with(${column}, ?1)`;
  }
}

/**
 * Nobody holds a call of it (`?2` is now), and nobody has written of it after `?1`, or it has a tombstone already: older
 * versions wrote that before they deleted, and may have been stopped in between.
 */
const MAY_GO = `NOT EXISTS (SELECT 1 FROM calls WHERE calls.run_key = runs.run_key AND calls.lease_until_ms > ?2) AND (
  EXISTS (SELECT 1 FROM tombstones WHERE tombstones.run_key = runs.run_key)
  OR (updated_at_ms <= ?1
    AND NOT EXISTS (SELECT 1 FROM calls WHERE calls.run_key = runs.run_key AND calls.updated_at_ms > ?1)))`;

async function sizeOfRun(query: Query, { run_key }: QuietRun): Promise<{ turns: number; calls: number }> {
  const [size] = await query<{ turns: number; calls: number }>(
    `SELECT (SELECT count(*) FROM turns WHERE run_key = ?1) AS turns, (SELECT count(*) FROM calls WHERE run_key = ?1) AS calls`,
    run_key,
  );
  return size ?? { turns: 0, calls: 0 };
}

/** `a/c1.0/c2.1` is a sub-agent of `a/c1.0`, which is one of `a`. */
function parentsOf(workflowId: string): string[] {
  const parent = /^(.+)\/c\d+\.\d+$/s.exec(workflowId)?.[1];
  return parent === undefined ? [] : [parent, ...parentsOf(parent)];
}
