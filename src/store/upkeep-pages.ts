import type { UpkeepDatabase } from './upkeep-database.js';

/** Rows that are read at once: what bounds the memory that a whole store takes. */
export const PAGE = 500;

/** `again` reads what is still there of the page; rows that came since may be among it. */
export interface Page<R> {
  rows: R[];
  again: () => Promise<R[]>;
}

/** What a call came to, as JSON text. */
export interface StoredCall {
  ordinal: number;
  key: string;
  run_key: string;
  call_id: string;
  outcome: string | null;
  rendered: string | null;
}

export async function* pagesOfCalls({ query }: UpkeepDatabase): AsyncGenerator<Page<StoredCall>> {
  const columns = 'ordinal, key, run_key, call_id, outcome, rendered';
  for (let after = 0; ;) {
    const first = after;
    const rows = await query<StoredCall>(
      `SELECT ${columns} FROM calls WHERE ordinal > ?1 ORDER BY ordinal LIMIT ${String(PAGE)}`,
      first,
    );
    const last = rows.at(-1);
    if (!last) return;
    const again = () =>
      query<StoredCall>(`SELECT ${columns} FROM calls WHERE ordinal > ?1 AND ordinal <= ?2`, first, last.ordinal);
    yield { rows, again };
    after = last.ordinal;
  }
}

/**
 * `result` is the answer's JSON (`CallModelResult`) as text. It is parsed here and never by a database: PostgreSQL refuses a
 * NUL or half a surrogate pair anywhere in it, and a model may have said either.
 */
export interface StoredTurn {
  run_key: string;
  step: number;
  result: string;
  committed_order: number;
}

/** Answered turns, run by run: turns have no order of their own over all runs. */
export async function* pagesOfTurns({ query }: UpkeepDatabase): AsyncGenerator<Page<StoredTurn>> {
  const answered = `SELECT run_key, step, result, committed_order FROM turns
    WHERE committed_order IS NOT NULL AND (run_key > ?1 OR (run_key = ?1 AND committed_order > ?2))`;
  for (let runKey = '', order = 0; ;) {
    const [firstKey, firstOrder] = [runKey, order];
    const rows = await query<StoredTurn>(
      `${answered} ORDER BY run_key, committed_order LIMIT ${String(PAGE)}`,
      firstKey,
      firstOrder,
    );
    const last = rows.at(-1);
    if (!last) return;
    const again = () =>
      query<StoredTurn>(
        `${answered} AND (run_key < ?3 OR (run_key = ?3 AND committed_order <= ?4))`,
        ...[firstKey, firstOrder, last.run_key, last.committed_order],
      );
    yield { rows, again };
    runKey = last.run_key;
    order = last.committed_order;
  }
}
