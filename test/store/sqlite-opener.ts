import { openSqliteStore } from '../../src/store/sqlite-store.js';
import type { SqliteStore } from '../../src/store/sqlite-requests.js';

/** Opens the store in a child process, which knows its place by a string only. */
export function open(location: string): Promise<SqliteStore> {
  return openSqliteStore({ path: location });
}
