import type { CallModelResult } from '../contract/activities.js';
import type { BlobFile } from './blob-folder.js';
import { collectRuns, type CollectedRuns, type CollectRunsOptions } from './collect-runs.js';
import type { UpkeepDatabase } from './upkeep-database.js';
import { pagesOfCalls, pagesOfTurns } from './upkeep-pages.js';

export interface CollectOptions extends CollectRunsOptions {
  /**
   * What nothing refers to is kept until it is this old: whatever wrote it may be about to refer to it. Milliseconds, at
   * least `LEAST_GRACE_MS` beside running workers.
   */
  graceMs: number;
}

/** What went, or would go. */
export interface Collection extends CollectedRuns {
  store: string;
  dryRun: boolean;
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
  const nowMs = await database.now();
  const collector = new Collector(database, options, { nowMs, ended: await collectRuns(database, options, nowMs) });
  await collector.nodes();
  await collector.bodies();
  return collector.collection;
}

class Collector {
  readonly collection: Collection;
  readonly #on: UpkeepDatabase;
  readonly #options: CollectOptions;
  /** Only what was last written before this goes. */
  readonly #beforeMs: number;

  constructor(
    database: UpkeepDatabase,
    options: CollectOptions,
    { nowMs, ended }: { nowMs: number; ended: CollectedRuns },
  ) {
    this.#on = database;
    this.#options = options;
    this.#beforeMs = nowMs - options.graceMs;
    const nothing = { nodes: 0, bodies: 0, files: 0, bytes: 0 };
    this.collection = { store: database.name, dryRun: options.dryRun ?? false, ...ended, ...nothing };
  }

  async nodes(): Promise<void> {
    const unreferred = await this.#on.query<GarbageNode>(
      `WITH RECURSIVE needed (id) AS (
         SELECT head FROM runs WHERE head IS NOT NULL AND ${this.#notCollected()}
         UNION SELECT head FROM turns WHERE head <> '' AND ${this.#notCollected()}
         UNION SELECT id FROM nodes WHERE touched_at_ms > ?1
         UNION SELECT nodes.parent FROM needed JOIN nodes ON nodes.id = needed.id WHERE nodes.parent IS NOT NULL
       ) SELECT id, parent FROM nodes WHERE id NOT IN (SELECT id FROM needed WHERE id IS NOT NULL)`,
      this.#beforeMs,
      this.#dryRunKeys(),
    );
    const garbage = await this.#withoutAnswers(unreferred);
    if (this.#options.dryRun) {
      this.collection.nodes = garbage.length;
      return;
    }
    for (const ids of batches(childrenFirst(garbage))) this.collection.nodes += await this.#removeNodes(ids);
  }

  /** Without what an answered turn has come to, and all that this follows. */
  async #withoutAnswers(nodes: GarbageNode[]): Promise<GarbageNode[]> {
    if (nodes.length === 0) return [];
    const parentOf = new Map(nodes.map(({ id, parent }) => [id, parent]));
    const collected = this.#dryRunCollected();
    for await (const { rows } of pagesOfTurns(this.#on)) {
      for (const { run_key, result } of rows) {
        if (collected.has(run_key)) continue;
        let id: string | null | undefined = (JSON.parse(result) as CallModelResult).head;
        while (id != null && parentOf.has(id)) {
          const parent = parentOf.get(id);
          parentOf.delete(id);
          id = parent;
        }
      }
    }
    return nodes.filter(({ id }) => parentOf.has(id));
  }

  /** Where nothing is removed, what would be must not count as a reason to keep. */
  #notCollected(): string {
    return 'run_key NOT IN LIST(?2)';
  }

  #dryRunKeys(): string {
    return JSON.stringify([...this.#dryRunCollected()]);
  }

  #dryRunCollected(): Set<string> {
    return new Set(this.#options.dryRun ? this.collection.runs.map(({ runKey }) => runKey) : []);
  }

  /**
   * What has come to be needed since it was looked up stays, with all that it follows: it was written again, or a run or node
   * refers to it. Its age stands in the deletion itself too: PostgreSQL looks at that again where the row was held by
   * somebody who wrote it meanwhile, but at `kept` only once.
   */
  async #removeNodes(ids: string[]): Promise<number> {
    const gone = await this.#on.write((query) =>
      query<{ id: string }>(
        `WITH RECURSIVE kept (id) AS (
           SELECT id FROM nodes WHERE id IN LIST(?1) AND (touched_at_ms > ?2
             OR EXISTS (SELECT 1 FROM runs WHERE runs.head = nodes.id)
             OR EXISTS (SELECT 1 FROM nodes AS child WHERE child.parent = nodes.id AND child.id NOT IN LIST(?1)))
           UNION SELECT nodes.parent FROM kept JOIN nodes ON nodes.id = kept.id WHERE nodes.parent IS NOT NULL
         ) DELETE FROM nodes WHERE id IN LIST(?1) AND touched_at_ms <= ?2 AND id NOT IN (SELECT id FROM kept) RETURNING id`,
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
    const collected = this.#dryRunCollected();
    const scan = (text: string | null): void => {
      for (const [id] of text?.matchAll(/[0-9a-f]{64}/g) ?? []) if (ids.has(id)) found.add(id);
    };
    for await (const { rows } of pagesOfCalls(this.#on)) {
      for (const { run_key, outcome, rendered } of rows) {
        if (collected.has(run_key)) continue;
        scan(outcome);
        scan(rendered);
      }
    }
    for await (const { rows } of pagesOfTurns(this.#on)) {
      for (const { run_key, result } of rows) if (!collected.has(run_key)) scan(result);
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

interface GarbageNode {
  id: string;
  parent: string | null;
}

/** So that each batch leaves no node whose parent is gone. */
function childrenFirst(nodes: GarbageNode[]): string[] {
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
