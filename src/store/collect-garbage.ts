import { pagesOfCalls, pagesOfTurns } from './check-store.js';
import type { BlobFile } from './blob-folder.js';
import { turnAttemptPrefix } from '../policy/turn-attempt-key.js';
import type { Query, UpkeepDatabase } from './upkeep-database.js';

export interface CollectOptions {
  /** Runs that ended longer ago than this leave a tombstone and nothing else; `null` keeps all. Milliseconds. */
  closedRunsMs: number | null;
  /**
   * What nothing refers to is kept until it is this old: whatever wrote it may be about to refer to it. Milliseconds, at
   * least `LEAST_GRACE_MS` beside running workers.
   */
  graceMs: number;
  /** Counts what would go, and changes nothing. */
  dryRun?: boolean;
  /** Whether a run that has ended by its own account is open all the same (it was reset, say): then it stays. */
  isOpen?: (run: CollectedRun) => Promise<boolean>;
}

export interface CollectedRun {
  runKey: string;
  workflowId: string;
  endedAtMs: number;
}

/** What went, or would go. */
export interface Collection {
  store: string;
  dryRun: boolean;
  runs: CollectedRun[];
  turns: number;
  calls: number;
  nodes: number;
  bodies: number;
  /** Files of the blob folder: bodies, and what interrupted writes left behind. */
  files: number;
  /** Of bodies and files. */
  bytes: number;
}

/** A write is followed by what refers to it within minutes: an activity's overhead (30 s), and an outage that is waited out. */
export const LEAST_GRACE_MS = 3_600_000;

const BATCH = 500;

/**
 * Removes what no run needs, beside running workers: runs that ended longer ago than they are kept, then nodes and bodies
 * that nothing refers to and that are past the grace age. Whatever a live run, any of its turns (also of a branch that a
 * reset left behind) or a call refers to stays. Rejects with a `StoreError`; what was removed before then stays removed, and
 * asked again it goes on.
 */
export async function collectGarbage(database: UpkeepDatabase, options: CollectOptions): Promise<Collection> {
  const collector = new Collector(database, options, await database.now());
  await collector.runs();
  await collector.nodes();
  await collector.bodies();
  return collector.collection;
}

interface EndedRun {
  run_key: string;
  workflow_id: string;
  ended_at_ms: number;
}

class Collector {
  readonly collection: Collection;
  readonly #on: UpkeepDatabase;
  readonly #options: CollectOptions;
  readonly #nowMs: number;
  /** Only what was last written before this goes. */
  readonly #beforeMs: number;

  constructor(database: UpkeepDatabase, options: CollectOptions, nowMs: number) {
    this.#on = database;
    this.#options = options;
    this.#nowMs = nowMs;
    this.#beforeMs = nowMs - options.graceMs;
    const nothing = { runs: [], turns: 0, calls: 0, nodes: 0, bodies: 0, files: 0, bytes: 0 };
    this.collection = { store: database.name, dryRun: options.dryRun ?? false, ...nothing };
  }

  async runs(): Promise<void> {
    const { closedRunsMs, isOpen } = this.#options;
    if (closedRunsMs === null) return;
    const endedBeforeMs = this.#nowMs - closedRunsMs;
    for (const run of await this.#endedFamilies(endedBeforeMs)) {
      const collected = { runKey: run.run_key, workflowId: run.workflow_id, endedAtMs: run.ended_at_ms };
      if (await isOpen?.(collected)) continue;
      const taken = this.#options.dryRun ? await sizeOfRun(this.#on.query, run) : await this.#take(run, endedBeforeMs);
      if (!taken) continue;
      this.collection.runs.push(collected);
      this.collection.turns += taken.turns;
      this.collection.calls += taken.calls;
    }
  }

  /** A sub-agent's run goes with the run that asked for it, which may be reset and ask again. */
  async #endedFamilies(endedBeforeMs: number): Promise<EndedRun[]> {
    const ended = await this.#on.query<EndedRun>(
      `SELECT run_key, workflow_id, updated_at_ms AS ended_at_ms FROM runs
      WHERE ${HAS_ENDED} ORDER BY updated_at_ms`,
      endedBeforeMs,
      this.#nowMs,
    );
    const names = new Set(ended.map(({ workflow_id }) => workflow_id));
    const parents = [...new Set(ended.flatMap(({ workflow_id }) => parentsOf(workflow_id)))];
    const there = await this.#on.query<{ workflow_id: string }>(
      'SELECT workflow_id FROM runs WHERE workflow_id IN LIST(?1)',
      JSON.stringify(parents),
    );
    const kept = new Set(there.map(({ workflow_id }) => workflow_id).filter((name) => !names.has(name)));
    return ended.filter(({ workflow_id }) => !parentsOf(workflow_id).some((parent) => kept.has(parent)));
  }

  /**
   * First the tombstone, then the rows, in two transactions: whoever has not seen the tombstone still finds the whole ledger,
   * and runs nothing twice.
   */
  async #take(run: EndedRun, endedBeforeMs: number): Promise<{ turns: number; calls: number } | undefined> {
    const marked = await this.#on.write(async (query) => {
      const rows = await query<{ run_key: string }>(
        `INSERT INTO tombstones (run_key, workflow_id, status, started_at_ms, ended_at_ms, collected_at_ms)
         SELECT run_key, workflow_id, status, started_at_ms, updated_at_ms, CAST(?2 AS bigint) FROM runs
         WHERE run_key = ?3 AND ${HAS_ENDED}
         ON CONFLICT (run_key) DO UPDATE SET collected_at_ms = excluded.collected_at_ms RETURNING run_key`,
        ...[endedBeforeMs, this.#nowMs, run.run_key],
      );
      return rows.length > 0;
    });
    if (!marked) return undefined;
    return await this.#on.write(async (query) => {
      const size = await sizeOfRun(query, run);
      await query('DELETE FROM attempts WHERE key IN (SELECT key FROM calls WHERE run_key = ?1)', run.run_key);
      await query(`DELETE FROM attempts WHERE ${this.#beginsWith('key')}`, turnAttemptPrefix(run.run_key));
      for (const table of ['interventions', 'calls', 'turns', 'runs'])
        await query(`DELETE FROM ${table} WHERE run_key = ?1`, run.run_key);
      return size;
    });
  }

  /** By an index of either database: the primary key, and that of the starts of turns. */
  #beginsWith(column: string): string {
    return this.#on.kind === 'sqlite'
      ? `${column} >= ?1 AND ${column} < ?1 || char(0xffff)`
      : `${column} LIKE 'turn/%' AND starts_with(${column}, ?1)`;
  }

  async nodes(): Promise<void> {
    const garbage = await this.#on.query<{ id: string; parent: string | null }>(
      `WITH RECURSIVE needed (id) AS (
         SELECT head FROM runs WHERE head IS NOT NULL AND ${this.#notCollected()}
         UNION SELECT head FROM turns WHERE head <> '' AND ${this.#notCollected()}
         UNION SELECT FIELD(result, head) FROM turns WHERE result IS NOT NULL AND ${this.#notCollected()}
         UNION SELECT id FROM nodes WHERE touched_at_ms > ?1
         UNION SELECT nodes.parent FROM needed JOIN nodes ON nodes.id = needed.id WHERE nodes.parent IS NOT NULL
       ) SELECT id, parent FROM nodes WHERE id NOT IN (SELECT id FROM needed WHERE id IS NOT NULL)`,
      this.#beforeMs,
      this.#dryRunKeys(),
    );
    if (this.#options.dryRun) {
      this.collection.nodes = garbage.length;
      return;
    }
    for (const ids of batches(childrenFirst(garbage))) this.collection.nodes += await this.#removeNodes(ids);
  }

  /** Where nothing is removed, what would be must not count as a reason to keep. */
  #notCollected(): string {
    return 'run_key NOT IN LIST(?2)';
  }

  #dryRunKeys(): string {
    return JSON.stringify(this.#options.dryRun ? this.collection.runs.map(({ runKey }) => runKey) : []);
  }

  /**
   * What has come to be needed since it was looked up stays, with all that it follows: it was written again, or a run or node
   * refers to it.
   */
  async #removeNodes(ids: string[]): Promise<number> {
    const gone = await this.#on.write((query) =>
      query<{ id: string }>(
        `WITH RECURSIVE kept (id) AS (
           SELECT id FROM nodes WHERE id IN LIST(?1) AND (touched_at_ms > ?2
             OR EXISTS (SELECT 1 FROM runs WHERE runs.head = nodes.id)
             OR EXISTS (SELECT 1 FROM nodes AS child WHERE child.parent = nodes.id AND child.id NOT IN LIST(?1)))
           UNION SELECT nodes.parent FROM kept JOIN nodes ON nodes.id = kept.id WHERE nodes.parent IS NOT NULL
         ) DELETE FROM nodes WHERE id IN LIST(?1) AND id NOT IN (SELECT id FROM kept) RETURNING id`,
        JSON.stringify(ids),
        this.#beforeMs,
      ),
    );
    return gone.length;
  }

  async bodies(): Promise<void> {
    const { query, blobs } = this.#on;
    const unused = new Map<string, number>();
    // Those of nodes that would go in a dry run are not counted: the nodes are still there.
    const rows = await query<{ id: string; bytes: number }>(
      'SELECT id, octet_length(bytes) AS bytes FROM bodies WHERE touched_at_ms <= ?1 AND id NOT IN (SELECT body FROM nodes)',
      this.#beforeMs,
    );
    for (const { id, bytes } of rows) unused.set(id, bytes);
    const files: BlobFile[] = [];
    for await (const file of blobs?.list() ?? []) if (file.touchedAtMs < this.#beforeMs) files.push(file);
    const asked = new Set([...unused.keys(), ...files.flatMap(({ id }) => (id === undefined ? [] : [id]))]);
    const needed = await this.#mentioned(asked);
    await this.#removeBodies([...unused].filter(([id]) => !needed.has(id)));
    for (const file of files) {
      if (file.id !== undefined && needed.has(file.id)) continue;
      if (!this.#options.dryRun && !(await blobs?.remove(file, this.#beforeMs))) continue;
      this.collection.files += 1;
      this.collection.bytes += file.bytes;
    }
  }

  /**
   * Which ids stand anywhere in a call, a turn or a conversation. An id that a model made up counts too: keeping too much
   * harms nobody.
   */
  async #mentioned(ids: ReadonlySet<string>): Promise<Set<string>> {
    const found = new Set<string>();
    if (ids.size === 0) return found;
    const collected = new Set(this.#options.dryRun ? this.collection.runs.map(({ runKey }) => runKey) : []);
    const scan = (text: string | null): void => {
      for (const [id] of text?.matchAll(/[0-9a-f]{64}/g) ?? []) if (ids.has(id)) found.add(id);
    };
    for await (const page of pagesOfCalls(this.#on)) {
      for (const { run_key, outcome, rendered } of page) {
        if (collected.has(run_key)) continue;
        scan(outcome);
        scan(rendered);
      }
    }
    for await (const page of pagesOfTurns(this.#on)) {
      for (const { run_key, result } of page) if (!collected.has(run_key)) scan(result);
    }
    for await (const text of this.#messages()) scan(text);
    return found;
  }

  async *#messages(): AsyncGenerator<string> {
    for (let after = ''; ;) {
      const page = await this.#on.query<{ id: string; bytes: Uint8Array }>(
        `SELECT nodes.id, bytes FROM nodes JOIN bodies ON bodies.id = body WHERE nodes.id > ?1 ORDER BY nodes.id LIMIT ${String(BATCH)}`,
        after,
      );
      const last = page.at(-1);
      if (!last) return;
      for (const { bytes } of page)
        yield Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
      after = last.id;
    }
  }

  async #removeBodies(unused: [id: string, bytes: number][]): Promise<void> {
    const sizes = new Map(unused);
    for (const ids of batches(unused.map(([id]) => id))) {
      const gone = this.#options.dryRun
        ? ids
        : await this.#on.write(async (query) => {
            const rows = await query<{ id: string }>(
              'DELETE FROM bodies WHERE id IN LIST(?1) AND touched_at_ms <= ?2 RETURNING id',
              JSON.stringify(ids),
              this.#beforeMs,
            );
            return rows.map(({ id }) => id);
          });
      this.collection.bodies += gone.length;
      for (const id of gone) this.collection.bytes += sizes.get(id) ?? 0;
    }
  }
}

/** Ended at `?1` or before, and nobody has touched it or holds a call of it since (`?2` is now). */
const HAS_ENDED = `status <> 'running' AND updated_at_ms <= ?1 AND NOT EXISTS (
  SELECT 1 FROM calls WHERE calls.run_key = runs.run_key AND (calls.updated_at_ms > ?1 OR calls.lease_until_ms > ?2))`;

async function sizeOfRun(query: Query, { run_key }: EndedRun): Promise<{ turns: number; calls: number }> {
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

/** So that each batch leaves no node whose parent is gone. */
function childrenFirst(nodes: { id: string; parent: string | null }[]): string[] {
  const children = new Map(nodes.map(({ id }) => [id, 0]));
  const parentOf = new Map(nodes.map(({ id, parent }) => [id, parent]));
  for (const { parent } of nodes) {
    if (parent !== null && children.has(parent)) children.set(parent, (children.get(parent) ?? 0) + 1);
  }
  const order = [...children].filter(([, count]) => count === 0).map(([id]) => id);
  for (const id of order) {
    const parent = parentOf.get(id);
    const left = parent == null ? undefined : children.get(parent);
    if (parent == null || left === undefined) continue;
    children.set(parent, left - 1);
    if (left === 1) order.push(parent);
  }
  return order;
}

function* batches<T>(items: T[]): Generator<T[]> {
  for (let start = 0; start < items.length; start += BATCH) yield items.slice(start, start + BATCH);
}
