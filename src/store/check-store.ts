import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { CallModelResult } from '../contract/activities.js';
import type { Outcome } from '../contract/call.js';
import { referencesOfCall, referencesOfTurn, type Reference } from './references.js';
import type { RenderedMessage } from './records.js';
import type { UpkeepDatabase } from './upkeep-database.js';

/**
 * - `missing_node`, `missing_body`, `missing_manifest`, `missing_message`: something refers to what is not there.
 * - `changed`: stored content does not match its id, which is a hash of it.
 * - `damaged`: the database itself says that it is.
 */
export interface StoreProblem {
  kind: 'missing_node' | 'missing_body' | 'missing_manifest' | 'missing_message' | 'changed' | 'damaged';
  /** Of the node, body, manifest or call; `''` for the database as a whole. */
  id: string;
  /** Who needs it, or what the database says, for people. */
  words: string;
  /** Workflow ids of the runs that it concerns. */
  runs: string[];
}

export interface StoreCheck {
  store: string;
  storeId: string;
  runs: number;
  nodes: number;
  bodies: number;
  calls: number;
  /** Nodes and bodies whose content was held against their ids. */
  rehashed: number;
  problems: StoreProblem[];
}

export interface CheckOptions {
  /** Holds all content against its ids, not only a sample. */
  deep?: boolean;
}

/** Content that is held against its ids where not all of it is: enough to find a disk that loses bits, in a second. */
const SAMPLE = 1_000;
const PAGE = 500;

/**
 * Whether all that runs refer to is there: each chain down to its root, the answers of turns, messages of calls, results,
 * artifacts, arguments and manifests; and whether content is what its id says. Beside running workers: what refers is read
 * before what is referred to, which is written first. Changes nothing. Rejects with a `StoreError`.
 */
export async function checkStore(database: UpkeepDatabase, options: CheckOptions = {}): Promise<StoreCheck> {
  const check = new Check(database);
  await check.database(options.deep ?? false);
  await check.chains();
  await check.manifests();
  await check.references();
  await check.contents(options.deep ?? false);
  return await check.report();
}

interface Finding extends Omit<StoreProblem, 'runs'> {
  runKeys: string[];
}

class Check {
  readonly #on: UpkeepDatabase;
  readonly #found = new Map<string, Finding>();
  #rehashed = 0;

  constructor(database: UpkeepDatabase) {
    this.#on = database;
  }

  #add(kind: StoreProblem['kind'], id: string, words: string, ...runKeys: string[]): void {
    const place = `${kind}/${id}`;
    const known = this.#found.get(place);
    if (known) known.runKeys.push(...runKeys);
    else this.#found.set(place, { kind, id, words, runKeys });
  }

  /** What the database knows of its own damage. PostgreSQL checks pages as it reads them (`data_checksums`). */
  async database(deep: boolean): Promise<void> {
    if (this.#on.kind !== 'sqlite') return;
    const pragma = deep ? 'integrity_check' : 'quick_check';
    const rows = await this.#on.query<Record<string, string>>(`PRAGMA ${pragma}(20)`);
    for (const row of rows) {
      const [words = ''] = Object.values(row);
      if (words !== 'ok') this.#add('damaged', '', words);
    }
  }

  async chains(): Promise<void> {
    const { query } = this.#on;
    const heads = await query<{ run_key: string; head: string }>(
      'SELECT run_key, head FROM runs WHERE head IS NOT NULL AND head NOT IN (SELECT id FROM nodes)',
    );
    for (const { run_key, head } of heads) this.#add('missing_node', head, 'the run has come to it', run_key);
    const turns = await query<{ run_key: string; step: number; id: string; asked: number }>(
      `SELECT run_key, step, head AS id, 1 AS asked FROM turns WHERE head <> '' AND head NOT IN (SELECT id FROM nodes)
       UNION ALL SELECT run_key, step, FIELD(result, head), 0 FROM turns
         WHERE result IS NOT NULL AND FIELD(result, head) NOT IN (SELECT id FROM nodes)`,
    );
    for (const { run_key, step, id, asked } of turns) {
      this.#add(
        'missing_node',
        id,
        `step ${String(step)} ${asked === 1 ? 'was asked after it' : 'was answered by it'}`,
        run_key,
      );
    }
    const parents = await query<{ id: string; parent: string }>(
      `SELECT child.id, child.parent FROM nodes AS child LEFT JOIN nodes AS parent ON parent.id = child.parent
       WHERE child.parent IS NOT NULL AND parent.id IS NULL`,
    );
    const bodies = await query<{ id: string; body: string }>(
      'SELECT nodes.id, body FROM nodes LEFT JOIN bodies ON bodies.id = body WHERE bodies.id IS NULL',
    );
    const through = await this.#runsThrough([...parents, ...bodies].map(({ id }) => id));
    for (const { id, parent } of parents) {
      this.#add('missing_node', parent, `node ${id} follows it`, ...(through.get(id) ?? []));
    }
    for (const { id, body } of bodies) {
      this.#add('missing_body', body, `it is the message of node ${id}`, ...(through.get(id) ?? []));
    }
  }

  /** Keys of the runs whose conversations, or answered turns, lead through nodes. */
  async #runsThrough(nodes: string[]): Promise<Map<string, string[]>> {
    if (nodes.length === 0) return new Map();
    const found = await this.#on.query<{ run_key: string; id: string }>(
      `WITH RECURSIVE chain (run_key, id) AS (
         SELECT run_key, head FROM runs WHERE head IS NOT NULL
         UNION SELECT run_key, FIELD(result, head) FROM turns WHERE result IS NOT NULL
         UNION SELECT chain.run_key, nodes.parent FROM chain JOIN nodes ON nodes.id = chain.id WHERE nodes.parent IS NOT NULL
       ) SELECT run_key, id FROM chain WHERE id IN LIST(?1)`,
      JSON.stringify(nodes),
    );
    const through = new Map<string, string[]>();
    for (const { run_key, id } of found) through.set(id, [...(through.get(id) ?? []), run_key]);
    return through;
  }

  async manifests(): Promise<void> {
    const missing = await this.#on.query<{ run_key: string; hash: string }>(
      `SELECT run_key, manifest_hash AS hash FROM runs WHERE manifest_hash NOT IN (SELECT hash FROM manifests)`,
    );
    for (const { run_key, hash } of missing)
      this.#add('missing_manifest', hash, 'it has the tools of the run', run_key);
  }

  async references(): Promise<void> {
    for await (const page of pagesOfCalls(this.#on)) {
      for (const { key, call_id, run_key, outcome, rendered } of page) {
        if (outcome !== null && rendered === null) {
          this.#add('missing_message', key, `call ${call_id} has an outcome and no message for the model`, run_key);
        }
      }
      const referring = page.flatMap(({ run_key, call_id, outcome, rendered }) =>
        referencesOfCall(
          outcome === null ? undefined : (JSON.parse(outcome) as Outcome),
          rendered === null ? undefined : (JSON.parse(rendered) as RenderedMessage),
        ).map((reference) => ({ ...reference, runKey: run_key, by: `call ${call_id}` })),
      );
      await this.#requireBodies(referring);
    }
    for await (const page of pagesOfTurns(this.#on)) {
      const referring = page.flatMap(({ run_key, step, result }) =>
        referencesOfTurn(JSON.parse(result) as CallModelResult).map((reference) => ({
          ...reference,
          ...{ runKey: run_key, by: `a call of step ${String(step)}` },
        })),
      );
      await this.#requireBodies(referring);
    }
  }

  async #requireBodies(referring: (Reference & { runKey: string; by: string })[]): Promise<void> {
    if (referring.length === 0) return;
    const ids = [...new Set(referring.map(({ id }) => id))];
    const rows = await this.#on.query<{ id: string }>(
      'SELECT id FROM bodies WHERE id IN LIST(?1)',
      JSON.stringify(ids),
    );
    const there = new Set(rows.map(({ id }) => id));
    for (const { id, as, by, runKey } of referring) {
      if (there.has(id) || (await this.#on.blobs?.has(id))) there.add(id);
      else this.#add('missing_body', id, `it is the ${as} of ${by}`, runKey);
    }
  }

  /** Erased content has another text under its old id, on purpose. */
  async contents(deep: boolean): Promise<void> {
    const { ids, blobs } = this.#on;
    for await (const { id, bytes } of this.#sampled<{ id: string; bytes: Uint8Array }>(
      'SELECT id, bytes FROM bodies WHERE erased_at_ms IS NULL AND id > ?1 ORDER BY id LIMIT ?2',
      deep,
    )) {
      if (ids.bodyId(bytes) !== id) this.#add('changed', id, 'the body is not what its id says');
    }
    const changed: string[] = [];
    for await (const { id, parent, bytes } of this.#sampled<{ id: string; parent: string | null; bytes: Uint8Array }>(
      `SELECT nodes.id, parent, bytes FROM nodes JOIN bodies ON bodies.id = body
       WHERE erased_at_ms IS NULL AND nodes.id > ?1 ORDER BY nodes.id LIMIT ?2`,
      deep,
    )) {
      if (ids.nodeId(parent ?? '', bytes) !== id) changed.push(id);
    }
    const through = await this.#runsThrough(changed);
    for (const id of changed) {
      this.#add('changed', id, "the node's message or parent is not what its id says", ...(through.get(id) ?? []));
    }
    if (!blobs) return;
    let left = deep ? Infinity : SAMPLE / 10;
    for await (const { id, path } of blobs.list()) {
      if (id === undefined || (left -= 1) < 0) continue;
      this.#rehashed += 1;
      if (ids.bodyId(await readFile(path)) !== id) this.#add('changed', id, `the file ${path} is not what its id says`);
    }
  }

  /** All rows in the order of their ids, or some from a place that is drawn: ids are hashes, so they are a fair sample. */
  async *#sampled<R extends { id: string }>(sql: string, deep: boolean): AsyncGenerator<R> {
    let after = deep ? '' : randomBytes(32).toString('hex');
    let left = deep ? Infinity : SAMPLE;
    let wrapped = deep;
    while (left > 0) {
      const rows = await this.#on.query<R>(sql, after, Math.min(PAGE, left));
      this.#rehashed += rows.length;
      left -= rows.length;
      yield* rows;
      const last = rows.at(-1);
      if (last && rows.length > 0) after = last.id;
      if (rows.length === PAGE || left <= 0) continue;
      if (wrapped) return;
      wrapped = true;
      after = '';
    }
  }

  async report(): Promise<StoreCheck> {
    const [counts] = await this.#on.query<Record<'runs' | 'nodes' | 'bodies' | 'calls', number>>(
      `SELECT (SELECT count(*) FROM runs) AS runs, (SELECT count(*) FROM nodes) AS nodes,
         (SELECT count(*) FROM bodies) AS bodies, (SELECT count(*) FROM calls) AS calls`,
    );
    const keys = [...new Set([...this.#found.values()].flatMap(({ runKeys }) => runKeys))];
    const named = await this.#on.query<{ run_key: string; workflow_id: string }>(
      'SELECT run_key, workflow_id FROM runs WHERE run_key IN LIST(?1)',
      JSON.stringify(keys),
    );
    const names = new Map(named.map(({ run_key, workflow_id }) => [run_key, workflow_id]));
    const problems = [...this.#found.values()].map(({ runKeys, ...problem }) => ({
      ...problem,
      runs: [...new Set(runKeys.map((key) => names.get(key) ?? key))].sort(),
    }));
    return {
      store: this.#on.name,
      storeId: this.#on.storeId,
      ...{ runs: counts?.runs ?? 0, nodes: counts?.nodes ?? 0, bodies: counts?.bodies ?? 0, calls: counts?.calls ?? 0 },
      rehashed: this.#rehashed,
      problems,
    };
  }
}

interface StoredCall {
  ordinal: number;
  key: string;
  run_key: string;
  call_id: string;
  outcome: string | null;
  rendered: string | null;
}

export async function* pagesOfCalls({ query }: UpkeepDatabase): AsyncGenerator<StoredCall[]> {
  for (let after = 0; ;) {
    const page = await query<StoredCall>(
      `SELECT ordinal, key, run_key, call_id, outcome, rendered FROM calls WHERE ordinal > ?1 ORDER BY ordinal LIMIT ${String(PAGE)}`,
      after,
    );
    const last = page.at(-1);
    if (!last) return;
    yield page;
    after = last.ordinal;
  }
}

interface StoredTurn {
  run_key: string;
  step: number;
  result: string;
  committed_order: number;
}

/** Run by run: turns have no order of their own over all runs. */
export async function* pagesOfTurns({ query }: UpkeepDatabase): AsyncGenerator<StoredTurn[]> {
  for (let runKey = '', order = 0; ;) {
    const page = await query<StoredTurn>(
      `SELECT run_key, step, result, committed_order FROM turns
       WHERE committed_order IS NOT NULL AND (run_key > ?1 OR (run_key = ?1 AND committed_order > ?2))
       ORDER BY run_key, committed_order LIMIT ${String(PAGE)}`,
      runKey,
      order,
    );
    const last = page.at(-1);
    if (!last) return;
    yield page;
    runKey = last.run_key;
    order = last.committed_order;
  }
}
