import type { Transaction } from './postgres-transaction.js';

/** A message to the server counts its parameters in 16 bits. */
const MAX_PARAMETERS = 30_000;

export interface RowsToInsert {
  /** Table and columns: `nodes (id, parent, body)`. */
  into: string;
  /** Types of the columns, where the server cannot tell them from the table (with `alongside`). */
  casts?: string[];
  rows: unknown[][];
  onConflict?: 'DO NOTHING';
  /** Another statement on the same rows, named `given`. */
  alongside?: string;
}

/**
 * Inserts rows with as few statements as possible, sent at once. The first column is the key: each statement writes in its
 * order, so that two processes that write the same do not wait for each other. Rows that refer to others come after them.
 */
export function insertRows(tx: Pick<Transaction, 'query'>, insert: RowsToInsert): Promise<unknown>[] {
  const { into, rows, casts, onConflict, alongside } = insert;
  const columns = /\((.*)\)/.exec(into)?.[1] ?? '';
  const width = columns.split(',').length;
  const perStatement = Math.floor(MAX_PARAMETERS / width);
  const statements: Promise<unknown>[] = [];
  for (let start = 0; start < rows.length; start += perStatement) {
    const some = rows.slice(start, start + perStatement).sort(([a], [b]) => (String(a) < String(b) ? -1 : 1));
    const values = some.map((row, index) => tuple(row.length, index * width, casts)).join(', ');
    const conflict = onConflict ? ` ON CONFLICT ${onConflict}` : '';
    const text = alongside
      ? `WITH given (${columns}) AS (VALUES ${values}), alongside AS (${alongside})
         INSERT INTO ${into} SELECT ${columns} FROM given${conflict}`
      : `INSERT INTO ${into} VALUES ${values}${conflict}`;
    statements.push(tx.query(text, some.flat().map(storable)));
  }
  return statements;
}

function tuple(width: number, before: number, casts: string[] | undefined): string {
  const parameters = Array.from({ length: width }, (_, column) => {
    const cast = casts?.[column];
    return `$${String(before + column + 1)}${cast === undefined ? '' : `::${cast}`}`;
  });
  return `(${parameters.join(', ')})`;
}

/** PostgreSQL's text holds no NUL. What matters to the byte is JSON, which has none; the rest is names for people. */
export function storable(value: unknown): unknown {
  return typeof value === 'string' ? value.replaceAll('\0', '\ufffd') : value;
}
