import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { CallModelResult } from '../contract/activities.js';
import type { Outcome } from '../contract/call.js';
import { referencesOfCall, referencesOfTurn } from './references.js';
import type { RenderedMessage } from './records.js';
import { runsThrough } from './runs-through.js';
import type { UpkeepDatabase } from './upkeep-database.js';
import { PAGE, pagesOfCalls, pagesOfTurns, type Page, type StoredCall, type StoredTurn } from './upkeep-pages.js';

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
    const asked = await query<{ run_key: string; step: number; head: string }>(
      "SELECT run_key, step, head FROM turns WHERE head <> '' AND head NOT IN (SELECT id FROM nodes)",
    );
    for (const { run_key, step, head } of asked) {
      this.#add('missing_node', head, `step ${String(step)} was asked after it`, run_key);
    }
    const parents = await query<{ id: string; parent: string }>(
      `SELECT child.id, child.parent FROM nodes AS child LEFT JOIN nodes AS parent ON parent.id = child.parent
       WHERE child.parent IS NOT NULL AND parent.id IS NULL`,
    );
    const bodies = await query<{ id: string; body: string }>(
      'SELECT nodes.id, body FROM nodes LEFT JOIN bodies ON bodies.id = body WHERE bodies.id IS NULL',
    );
    const through = await runsThrough(
      this.#on,
      [...parents, ...bodies].map(({ id }) => id),
    );
    for (const { id, parent } of parents) {
      this.#add('missing_node', parent, `node ${id} follows it`, ...(through.get(id) ?? []));
    }
    for (const { id, body } of bodies) {
      this.#add('missing_body', body, `it is the message of node ${id}`, ...(through.get(id) ?? []));
    }
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
      for (const { key, call_id, run_key, outcome, rendered } of page.rows) {
        if (outcome !== null && rendered === null) {
          this.#add('missing_message', key, `call ${call_id} has an outcome and no message for the model`, run_key);
        }
      }
      await this.#require(page, needsOfCall);
    }
    for await (const page of pagesOfTurns(this.#on)) await this.#require(page, needsOfTurn);
  }

  /** What is missing counts only where it is needed still: garbage collection may have taken a run since its page was read. */
  async #require<R>({ rows, again }: Page<R>, needsOf: (row: R) => Need[]): Promise<void> {
    const missing = await this.#missing(rows.flatMap(needsOf));
    if (missing.length === 0) return;
    const placeOf = ({ kind, id, runKey }: Need): string => `${kind}/${id}/${runKey}`;
    const needed = new Set((await again()).flatMap(needsOf).map(placeOf));
    for (const need of missing) {
      if (needed.has(placeOf(need))) this.#add(need.kind, need.id, need.words, need.runKey);
    }
  }

  async #missing(needs: Need[]): Promise<Need[]> {
    const { blobs } = this.#on;
    const idsOf = (kind: Need['kind']) => needs.filter((need) => need.kind === kind).map(({ id }) => id);
    const nodes = await this.#there('nodes', idsOf('missing_node'));
    const bodies = await this.#there('bodies', idsOf('missing_body'));
    const missing: Need[] = [];
    for (const need of needs) {
      const there = need.kind === 'missing_node' ? nodes : bodies;
      if (there.has(need.id)) continue;
      if (need.kind === 'missing_body' && (await blobs?.has(need.id))) there.add(need.id);
      else missing.push(need);
    }
    return missing;
  }

  async #there(table: 'nodes' | 'bodies', ids: string[]): Promise<Set<string>> {
    if (ids.length === 0) return new Set();
    const asked = JSON.stringify([...new Set(ids)]);
    const rows = await this.#on.query<{ id: string }>(`SELECT id FROM ${table} WHERE id IN LIST(?1)`, asked);
    return new Set(rows.map(({ id }) => id));
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
    const through = await runsThrough(this.#on, changed);
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

/** What a call or turn refers to. */
interface Need {
  kind: 'missing_node' | 'missing_body';
  id: string;
  words: string;
  runKey: string;
}

function needsOfCall({ run_key, call_id, outcome, rendered }: StoredCall): Need[] {
  return referencesOfCall(
    outcome === null ? undefined : (JSON.parse(outcome) as Outcome),
    rendered === null ? undefined : (JSON.parse(rendered) as RenderedMessage),
  ).map(({ id, as }) => ({ kind: 'missing_body', id, words: `it is the ${as} of call ${call_id}`, runKey: run_key }));
}

function needsOfTurn({ run_key, step, result }: StoredTurn): Need[] {
  const answer = JSON.parse(result) as CallModelResult;
  const words = `step ${String(step)} was answered by it`;
  return [
    ...(answer.head === '' ? [] : [{ kind: 'missing_node', id: answer.head, words, runKey: run_key } as const]),
    ...referencesOfTurn(answer).map(({ id, as }): Need => {
      return { kind: 'missing_body', id, words: `it is the ${as} of a call of step ${String(step)}`, runKey: run_key };
    }),
  ];
}
