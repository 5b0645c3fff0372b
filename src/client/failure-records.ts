import { FailureStats, type FailureFigures } from '../stats/failure-stats.js';
import type { CallRecord, Store } from '../store/store.js';

export interface StatsOptions {
  /** Only calls that ended in this much time before now, milliseconds. Default: all. */
  withinMs?: number;
  /** Only calls of this tool. */
  tool?: string;
}

/** Calls that are read at once: a few megabytes where each has a failure. */
const PAGE_CALLS = 500;

/** What the store's calls tell of failures, over all runs. Reads page by page, and changes nothing. */
export class FailureRecords {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  async stats({ withinMs, tool }: StatsOptions = {}): Promise<FailureFigures> {
    const stats = new FailureStats(tool === undefined ? {} : { tool });
    for await (const { row } of this.#calls(withinMs)) stats.add(row);
    return stats.figures();
  }

  /** In the order of their first writing. */
  async *#calls(withinMs: number | undefined): AsyncGenerator<CallRecord> {
    const sinceMs = withinMs === undefined ? 0 : (await this.#store.now()) - withinMs;
    for (let after: number | undefined = 0; after !== undefined;) {
      const page: Awaited<ReturnType<Store['listCallsSince']>> = await this.#store.listCallsSince({
        sinceMs,
        after,
        limit: PAGE_CALLS,
      });
      yield* page.calls;
      after = page.next;
    }
  }
}
