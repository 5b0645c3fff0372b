/** What a store holds, by plain SQL on the database itself. */
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import pg from 'pg';
import type { StoreChoice } from '../../../src/store/store-choice.js';

export interface StoreRows extends AsyncDisposable {
  /** Parameters are `?1`, `?2` … */
  query(sql: string, ...values: SQLInputValue[]): Promise<Record<string, unknown>[]>;
}

/** Opens it for reading; workers may be alive. */
export async function openStoreRows(choice: StoreChoice): Promise<StoreRows> {
  if ('path' in choice) {
    const db = new DatabaseSync(choice.path, { readOnly: true });
    return {
      query: (sql, ...values) => Promise.resolve(db.prepare(sql).all(...values)),
      [Symbol.asyncDispose]: () => Promise.resolve(db.close()),
    };
  }
  const options = `-c search_path=${choice.schema ?? 'perdure'}`;
  const client = new pg.Client({ connectionString: choice.url, options, application_name: 'witness' });
  await client.connect();
  return {
    query: async (sql, ...values) =>
      (await client.query<Record<string, unknown>>(sql.replace(/\?(\d)/g, '$$$1'), values)).rows,
    [Symbol.asyncDispose]: () => client.end(),
  };
}
